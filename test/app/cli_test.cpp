// The built program, started as a user starts it: exit statuses, messages, what it leaves behind.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "env/machine.hpp"
#include "env/runtime_dir.hpp"
#include "support/file_tree.hpp"
#include "support/process.hpp"

namespace millrace {
namespace {

using test::run_millrace;
using words = std::vector<std::string>;

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool has_role(const std::string& name) { return contains(run_millrace({"--help"}).out, "\n  " + name + " "); }

class cli : public testing::Test {
 protected:
  void SetUp() override { MILLRACE_NEEDS_PROGRAM(); }

  // Unusable arguments: status 2, nothing on stdout, and the message says `names`.
  static void expect_refused(const words& args, std::string_view names, const test::run_options& options = {}) {
    const auto result = run_millrace(args, options);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, names)) << result.err;
    EXPECT_TRUE(result.err.starts_with("millrace: ")) << result.err;
  }
};

TEST_F(cli, prints_its_version_and_dpdks) {
  for (const words& args : {words{"--version"}, words{"-v"}, words{"--", "--version"}}) {
    const auto result = run_millrace(args);
    EXPECT_EQ(result.status, 0);
    EXPECT_TRUE(result.out.starts_with("millrace ")) << result.out;
    EXPECT_TRUE(contains(result.out, "(DPDK ")) << result.out;
    EXPECT_EQ(result.err, "");
  }
}

TEST_F(cli, prints_help_with_every_role) {
  const auto result = run_millrace({"--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(contains(result.out, "usage: millrace [EAL args] -- ROLE [options]"));
  EXPECT_TRUE(contains(result.out, "\n  doctor "));
  EXPECT_EQ(result.err, "");
}

TEST_F(cli, prints_each_roles_help_without_eal) {
  for (const char* role : {"fwd", "inspect", "doctor"}) {
    if (!has_role(role)) continue;
    const auto result = run_millrace({"--", role, "--help"});
    EXPECT_EQ(result.status, 0) << role;
    EXPECT_TRUE(contains(result.out, "--json")) << role;
    EXPECT_EQ(result.err, "") << role;
  }
}

TEST_F(cli, refuses_arguments_that_it_cannot_use) {
  expect_refused({}, "no role given");
  expect_refused({"--", "forwad"}, "'forwad'");
  expect_refused({"--foo", "--", "doctor"}, "--foo");
  expect_refused({"veth0", "--", "doctor"}, "'veth0'");
  expect_refused({"-l"}, "-l");
  expect_refused({"--", "doctor", "--nope"}, "--nope");
  expect_refused({"--", "doctor", "stray"}, "stray");
  expect_refused({"--no-huge", "--in-memory", "--", "doctor"}, "--no-huge and --in-memory");
  expect_refused({"--", "doctor", "--json", "/nowhere/out.json"}, "--json /nowhere/out.json");
}

TEST_F(cli, names_profiles_that_it_cannot_read) {
  expect_refused({"@nowhere", "--", "doctor"}, "@nowhere");
  expect_refused({"@./nowhere.args", "--", "doctor"}, "./nowhere.args");
  test::run_options no_interface;
  no_interface.unset = {"MILLRACE_IFACE"};
  expect_refused({"@af_packet", "--", "doctor"}, "af_packet.args:", no_interface);
  expect_refused({"@af_packet", "--", "doctor"}, "${MILLRACE_IFACE} is not defined", no_interface);

  const test::file_tree tree;
  tree.put("/mine.args", "-l 0\n  \"open\n");
  test::run_options mine;
  mine.set = {{"MILLRACE_CONFIG_DIR", tree.root()}};
  expect_refused({"@mine", "--", "doctor"}, tree.path("/mine.args") + ":2:3: ", mine);
  mine.set.clear();
  mine.directory = tree.root();
  expect_refused({"@mine", "--", "doctor"}, "mine.args:2:3: ", mine);
}

TEST_F(cli, doctor_tells_the_state_of_this_machine) {
  for (const words& args : {words{"--", "doctor"}, words{"doctor"}}) {
    const auto result = run_millrace(args);
    EXPECT_EQ(result.status, 0) << result.err;
    for (const char* area : {"hugepages", "dpdk", "ipsec-mb", "permissions", "isolation", "leftovers", "governor"})
      EXPECT_TRUE(contains(result.out, std::string(" ") + area)) << area;
    EXPECT_TRUE(contains(result.out, "the loopback profile can run here"));
    EXPECT_EQ(result.err, "");
  }
}

TEST_F(cli, doctor_looks_at_arguments_that_stand_before_it) {
  const auto result = run_millrace({"-l", "0,4000", "--vdev=net_af_packet0,iface=nonesuch0", "--", "doctor"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "-l 0,4000: this machine has CPUs ")) << result.out;
  EXPECT_TRUE(contains(result.out, "iface=nonesuch0: there is no such interface")) << result.out;
}

TEST_F(cli, doctor_writes_json) {
  const auto to_stdout = run_millrace({"--", "doctor", "--json", "-"});
  EXPECT_EQ(to_stdout.status, 0);
  EXPECT_TRUE(to_stdout.out.starts_with("{\"version\":")) << to_stdout.out;
  EXPECT_EQ(std::count(to_stdout.out.begin(), to_stdout.out.end(), '\n'), 1);
  const test::file_tree tree;
  const auto to_file = run_millrace({"--", "doctor", "--json", tree.path("/out.json")});
  EXPECT_EQ(to_file.status, 0);
  EXPECT_TRUE(contains(to_file.out, "hugepages"));
  const char* source = std::getenv("MILLRACE_SOURCE");
  if (source == nullptr || test::run({"/usr/bin/python3", "-c", "import jsonschema"}).status != 0)
    GTEST_SKIP() << "MILLRACE_SOURCE is not set, or python3-jsonschema is not installed";
  const auto judged = test::run(
      {"/usr/bin/python3", "-B", std::string(source) + "/scripts/validate_json", "doctor", tree.path("/out.json")});
  EXPECT_EQ(judged.status, 0) << judged.out << judged.err;
}

TEST_F(cli, fails_when_what_it_says_cannot_be_written) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  const auto full = test::run({"/bin/sh", "-c", "exec \"$0\" \"$@\" >/dev/full", test::millrace_program(), "--help"});
  EXPECT_EQ(full.status, 1);
  EXPECT_EQ(full.last_error_line(), "millrace: stdout cannot be written");
  const auto json = run_millrace({"--", "doctor", "--json", "/dev/full"});
  EXPECT_EQ(json.status, 1);
  EXPECT_TRUE(contains(json.last_error_line(), "--json /dev/full")) << json.err;
}

// setpriv's words for a user without any right; empty where this process may not become one.
words as_nobody() {
  if (::geteuid() != 0) return {};
  words setpriv = {"setpriv",        "--reuid=65534",   "--regid=65534",
                   "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"};
  words probe = setpriv;
  probe.insert(probe.end(), {test::millrace_program(), "--version"});
  return test::run(probe).status == 0 ? setpriv : words{};
}

TEST_F(cli, doctor_needs_no_rights) {
  words args = as_nobody();
  if (args.empty()) GTEST_SKIP() << "not root, or no setpriv, or another user cannot reach the build folder";
  args.insert(args.end(), {test::millrace_program(), "--", "doctor"});
  const auto result = test::run(args);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "user 65534 lacks CAP_NET_RAW")) << result.out;
}

// With EAL running: each test uses the shortest run there is.
class cli_run : public cli {
 protected:
  test::file_tree runtime_;  // EAL's folders of these runs, and of no others
  test::run_options options_;

  void SetUp() override {
    MILLRACE_NEEDS_PROGRAM();
    if (!has_role("fwd")) GTEST_SKIP() << "this program has no fwd";
    options_.set = {{"RUNTIME_DIRECTORY", runtime_.root()}};
  }

  static words forward(const std::string& seconds, words more = {}) {
    words args = {"@loopback", "-l",         first_cpu(), "--",         "fwd",  "--mode",
                  "io",        "--tx-first", "1",         "--duration", seconds};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
  static words program_and(words args) {
    args.insert(args.begin(), test::millrace_program());
    return args;
  }
  static std::string first_cpu() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    ::sched_getaffinity(0, sizeof(cpus), &cpus);
    int cpu = 0;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &cpus)) ++cpu;
    return std::to_string(cpu);
  }
  // EAL's folder of a run, once it is there.
  [[nodiscard]] std::string dir_of(const test::child& program) const {
    return runtime_.path("/dpdk/millrace-" + std::to_string(program.pid()));
  }
  [[nodiscard]] std::size_t dirs_left() const { return env::find_leftovers(runtime_.path("/dpdk")).size(); }
};

TEST_F(cli_run, leaves_nothing_behind) {
  const auto result = run_millrace(forward("0.1"), options_);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(std::filesystem::is_directory(runtime_.path("/dpdk")));
  EXPECT_TRUE(std::filesystem::is_empty(runtime_.path("/dpdk")));
}

TEST_F(cli_run, shows_the_effective_vector_as_one_line_for_a_shell) {
  const auto result = run_millrace(forward("0.1", {"--verbose"}), options_);
  EXPECT_EQ(result.status, 0) << result.err;
  const auto at = result.err.find("EAL: ");
  ASSERT_NE(at, std::string::npos) << result.err;
  const std::string line = result.err.substr(at, result.err.find('\n', at) - at);
  for (const char* word : {" --vdev=net_ring0", " --vdev=net_ring1", " --no-pci", " --file-prefix=millrace-", " -l "})
    EXPECT_TRUE(contains(line, word)) << line;
  EXPECT_NE(contains(line, " --no-huge"), contains(line, " --in-memory")) << line;
}

TEST_F(cli_run, refuses_what_eal_would_fail_on) {
  expect_refused({"@loopback", "-l", "4000", "--", "fwd"}, "-l 4000", options_);
  expect_refused({"@loopback", "-l", "4000", "--", "fwd"}, "this machine has CPUs", options_);
  expect_refused({"@loopback", "--no-huge", "--in-memory", "--", "fwd"}, "--in-memory", options_);
  expect_refused({"--vdev=net_af_packet0,iface=nonesuch0", "--", "fwd"}, "there are: ", options_);
  expect_refused({"--vdev=net_pcap0,rx_pcap=/nowhere.pcap", "--", "fwd"}, "/nowhere.pcap", options_);
  expect_refused({"-a", "0000:ff:1f.7", "--", "fwd"}, "0000:ff:1f.7", options_);
  expect_refused({"--no-huge", "-m", "1", "--vdev=net_ring0", "--", "fwd"}, "-m 1 ", options_);
  EXPECT_EQ(dirs_left(), 0u);
}

TEST_F(cli_run, passes_on_what_eal_says_of_a_device_it_does_not_know) {
  const auto result = run_millrace({"--vdev=net_nonesuch0", "-l", first_cpu(), "--", "fwd"}, options_);
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_TRUE(contains(result.err, "net_nonesuch0")) << result.err;
  EXPECT_EQ(dirs_left(), 0u);
}

TEST_F(cli_run, says_how_to_get_the_hugepages_that_were_asked_for) {
  // More than any machine has, so that it fails with hugepages set aside and without.
  const auto result =
      run_millrace({"--in-memory", "-m", "16000000", "--vdev=net_ring0", "-l", first_cpu(), "--", "fwd"}, options_);
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_TRUE(contains(result.last_error_line(), "--in-memory needs ")) << result.err;
  EXPECT_TRUE(contains(result.last_error_line(), "echo ")) << result.err;
  EXPECT_TRUE(contains(result.last_error_line(), "nr_hugepages")) << result.err;
}

TEST_F(cli_run, removes_no_folder_that_is_not_its_own) {
  const test::file_tree tree;
  tree.put("/run/dpdk/mine/precious", "x");
  tree.put("/victim/keep", "x");
  const test::run_options there{.set = {{"RUNTIME_DIRECTORY", tree.path("/run")}}, .unset = {}, .directory = {}};
  for (const char* prefix : {"..", ".", "../../victim"})
    expect_refused({"@loopback", std::string("--file-prefix=") + prefix, "--", "fwd", "--duration", "0.1"},
                   "is no name of a folder", there);
  const auto chosen = run_millrace({"@loopback", "--file-prefix=mine", "--", "fwd", "--duration", "0.1"}, there);
  EXPECT_EQ(chosen.status, 0) << chosen.err;
  EXPECT_TRUE(std::filesystem::exists(tree.path("/victim/keep")));
  EXPECT_TRUE(std::filesystem::exists(tree.path("/run/dpdk/mine/precious")));
  EXPECT_FALSE(std::filesystem::exists(tree.path("/run/dpdk/mine/config")));
}

TEST_F(cli_run, says_when_it_may_open_too_few_files) {
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const std::string line = "ulimit -n 20; exec \"$0\" @loopback -- fwd --duration 0.1";
  test::child shell({"/bin/sh", "-c", line, test::millrace_program()});
  const auto result = shell.wait();
  EXPECT_EQ(result.status, 1) << result.err;
  EXPECT_TRUE(contains(result.last_error_line(), "this process may open 20 files, EAL needs 64; try: ulimit -n 1024"))
      << result.err;
}

TEST_F(cli_run, takes_verbose_before_the_role_as_well) {
  const auto result = run_millrace({"@loopback", "--verbose", "--", "fwd", "--duration", "0.1"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(contains(result.err, "EAL: -l ") || contains(result.err, "EAL: --")) << result.err;
}

TEST_F(cli_run, starts_again_after_it_was_killed) {
  std::string dir;
  {
    test::child program(program_and(forward("60")), options_);
    dir = dir_of(program);
    ASSERT_TRUE(program.wait_until([&] { return std::filesystem::exists(dir); })) << program.err();
    program.signal(SIGKILL);
    EXPECT_EQ(program.wait().status, -SIGKILL);
  }
  EXPECT_TRUE(std::filesystem::exists(dir));  // nobody could remove it
  const auto result = run_millrace(forward("0.1"), options_);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_FALSE(std::filesystem::exists(dir));
  EXPECT_TRUE(std::filesystem::is_empty(runtime_.path("/dpdk")));
}

// Only hugepages without files come back by themselves.
TEST_F(cli_run, starts_again_on_hugepages_after_it_was_killed) {
  const env::machine host = env::read_machine();
  if (host.free_hugepage_bytes() < std::uint64_t{512} << 20)
    GTEST_SKIP() << "fewer than 512 MiB of hugepages are free: echo 256 > /proc/sys/vm/nr_hugepages";
  for (const bool killed : {true, false}) {
    words args = forward(killed ? "60" : "0.1");
    args.insert(args.begin() + 1, "--in-memory");
    test::child program(program_and(args), options_);
    if (killed) {
      const std::string dir = dir_of(program);
      ASSERT_TRUE(program.wait_until([&] { return std::filesystem::exists(dir); })) << program.err();
      program.signal(SIGKILL);
    }
    const auto result = program.wait();
    EXPECT_EQ(result.status, killed ? -SIGKILL : 0) << result.err;
  }
}

TEST_F(cli_run, runs_twice_at_the_same_time) {
  test::child one(program_and(forward("2")), options_);
  ASSERT_TRUE(one.wait_until([&] { return std::filesystem::exists(dir_of(one)); })) << one.err();
  const auto two = run_millrace(forward("0.1"), options_);
  EXPECT_EQ(two.status, 0) << two.err;
  const auto first = one.wait();
  EXPECT_EQ(first.status, 0) << first.err;
}

TEST_F(cli_run, ends_well_when_asked_to) {
  for (const int number : {SIGINT, SIGTERM}) {
    test::child program(program_and(forward("60", {"--stats-period", "0.1"})), options_);
    // The first period's line says that the run has begun.
    ASSERT_TRUE(program.wait_until([&] { return contains(program.out(), " Mpps"); })) << program.err();
    const std::string dir = dir_of(program);
    EXPECT_TRUE(std::filesystem::exists(dir));
    program.signal(number);
    const auto result = program.wait();
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(contains(result.out, "every packet is accounted for")) << result.out;
    EXPECT_FALSE(std::filesystem::exists(dir));
  }
}

// Nothing can be said about statistics then; the folder goes at the next start.
TEST_F(cli_run, ends_at_once_when_told_twice) {
  test::child program(program_and(forward("60", {"--stats-period", "0.1"})), options_);
  ASSERT_TRUE(program.wait_until([&] { return contains(program.out(), " Mpps"); })) << program.err();
  program.signal(SIGSTOP);  // so that both are there before the first is served
  program.signal(SIGINT);
  program.signal(SIGTERM);
  program.signal(SIGCONT);
  const auto result = program.wait();
  EXPECT_TRUE(result.status == -SIGINT || result.status == -SIGTERM) << result.status;
}

TEST_F(cli_run, needs_no_rights_for_the_loopback_profile) {
  words args = as_nobody();
  if (args.empty()) GTEST_SKIP() << "not root, or no setpriv, or another user cannot reach the build folder";
  std::filesystem::permissions(runtime_.root(), std::filesystem::perms::all);
  args.push_back(test::millrace_program());
  const words more = forward("0.1");
  args.insert(args.end(), more.begin(), more.end());
  const auto result = test::run(args, options_);
  EXPECT_EQ(result.status, 0) << result.err;
}

}  // namespace
}  // namespace millrace
