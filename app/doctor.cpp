#include "app/doctor.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/options.hpp"
#include "app/output_file.hpp"
#include "app/startup.hpp"
#include "app/version.hpp"
#include "crypto/engine.hpp"
#include "crypto/ipsec_mb_version.hpp"
#include "env/dpdk_version.hpp"
#include "env/text_file.hpp"
#include "json/writer.hpp"

namespace millrace::app {
namespace {

base::result<doctor_facts> gather(const invocation& call, const env::machine& host) {
  doctor_facts facts;
  facts.dpdk = env::dpdk_version();
  facts.ipsec_mb = crypto::ipsec_mb_version();
  if (const auto engine = crypto::engine::make()) facts.ipsec_mb_arch = engine->architecture();
  facts.clock_source = env::read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  facts.leftovers = env::find_leftovers(host.runtime_dir);
  if (call.eal_args.empty()) return facts;
  auto given = env::eal_vector::parse(call.eal_args);
  if (!given) return given.error();
  const env::eal_need need{0, ::getpid()};
  const auto complete = env::complete_eal_args(std::move(given.value()), host, need);
  if (!complete) return complete.error();
  facts.asked = true;
  facts.arguments = env::preflight(complete.value(), host, need);
  return facts;
}

std::size_t count(const std::vector<finding>& findings, health state) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const finding& f) { return f.state == state; }));
}

void print(const std::vector<finding>& findings, std::FILE* out) {
  for (const finding& f : findings) {
    std::fprintf(out, "%-8s %-12s %s\n", to_string(f.state).data(), f.area.data(), f.text.c_str());
    if (!f.command.empty()) std::fprintf(out, "%-21s   %s\n", "", f.command.c_str());
  }
  std::fprintf(out, "\n%zu ok, %zu to mend, %zu missing; the loopback profile %s here\n", count(findings, health::ok),
               count(findings, health::warn), count(findings, health::missing),
               loopback_works(findings) ? "can run" : "cannot run");
}

void write(const std::vector<finding>& findings, json::writer& out) {
  out.begin_object();
  out.member("version", version());
  out.member("role", "doctor");
  out.member("loopback", loopback_works(findings));
  out.key("checks");
  out.begin_array();
  for (const finding& f : findings) {
    out.begin_object();
    out.member("area", f.area);
    out.member("state", to_string(f.state));
    out.member("text", f.text);
    if (!f.command.empty()) out.member("command", f.command);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

base::outcome write_json(const std::vector<finding>& findings, output_file& to) {
  {  // the sink is gone before its file is closed
    json::file_sink sink(to.stream());
    json::writer out(sink);
    write(findings, out);
    if (out.end_line() != json::write_errc::ok || !sink.flush()) return to.cannot_write();
  }
  return to.finish();
}

}  // namespace

int run_doctor(const invocation& call) {
  CLI::App options(
      "what this machine lacks for running millrace, and the command that mends it\n"
      "With EAL arguments or @PROFILE in front: also what these lack.");
  std::string json;
  options.add_option("--json", json, "write the findings as JSON, too ('-': on stdout, instead of the table)")
      ->type_name("FILE");
  if (const auto status = parse_options(options, "doctor", call)) return *status;

  auto file = output_file::open("--json", json);
  if (!file) return report(file.error());
  const env::machine host = env::read_machine();
  const auto facts = gather(call, host);
  if (!facts) return report(facts.error());
  const std::vector<finding> findings = examine(host, facts.value());
  if (json != "-") print(findings, stdout);
  if (file.value())
    if (const auto wrote = write_json(findings, file.value()); !wrote) return report(wrote.error());
  if (!loopback_works(findings)) {
    for (const finding& f : findings)
      if (f.stops_loopback) return report({f.text, f.command, false});
  }
  return exit_done;
}

}  // namespace millrace::app
