#include "env/eal.hpp"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <utility>

#include "env/eal_report.hpp"
#include "env/output_capture.hpp"
#include "env/runtime_dir.hpp"

namespace millrace::env {
namespace {

std::atomic<bool> started{false};

std::string runtime_dir() {
  const char* dir = rte_eal_get_runtime_dir();
  return dir == nullptr ? std::string() : std::string(dir);
}

// A folder of our pid is ours. Any other may be that of a running process which owns the prefix, and then it is not
// empty: rmdir leaves it alone.
void remove_after_failure() {
  const std::string dir = runtime_dir();
  if (dir.empty()) return;
  if (is_folder_of(dir, ::getpid()))
    remove_tree(dir);
  else
    ::rmdir(dir.c_str());
}

}  // namespace

eal::eal(eal&& other) noexcept
    : running_(std::exchange(other.running_, false)),
      runtime_dir_(std::exchange(other.runtime_dir_, {})),
      messages_(std::move(other.messages_)) {}

eal::~eal() {
  if (!running_) return;
  rte_eal_cleanup();
  if (runtime_dir_.empty()) return;
  if (is_folder_of(runtime_dir_, ::getpid()))
    remove_tree(runtime_dir_);
  else
    remove_eal_files(runtime_dir_);  // a prefix that the operator chose: others may use the folder, too
}

base::result<eal> eal::start(std::span<const std::string> args) {
  if (started.exchange(true))
    return base::failure{"EAL has run in this process already, and DPDK starts it once a process", "", false};

  std::vector<std::string> words;  // EAL reorders argv and writes into it
  words.emplace_back("millrace");
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  int initialised = -1;
  int error = 0;
  std::string said;
  {
    output_capture capture;
    rte_openlog_stream(stderr);  // EAL's default stream writes to syslog as well, unasked
    initialised = rte_eal_init(static_cast<int>(words.size()), argv.data());
    error = initialised < 0 ? rte_errno : 0;
    said = capture.finish().err;
  }
  if (initialised < 0) {
    remove_after_failure();
    return explain_eal_failure(said, error);
  }
  eal running;
  running.running_ = true;
  if (rte_eal_process_type() == RTE_PROC_PRIMARY) running.runtime_dir_ = runtime_dir();  // else it is the primary's
  running.messages_ = meaningful_lines(said);
  return running;
}

unsigned eal::main_lcore() const noexcept { return rte_get_main_lcore(); }

std::vector<unsigned> eal::worker_lcores() const {
  std::vector<unsigned> lcores;
  unsigned lcore = 0;
  RTE_LCORE_FOREACH_WORKER(lcore) lcores.push_back(lcore);
  return lcores;
}

bool eal::hugepages() const noexcept { return rte_eal_has_hugepages() != 0; }

}  // namespace millrace::env
