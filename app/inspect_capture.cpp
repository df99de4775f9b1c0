// The port and the file are read side by side. Each record of the file that libpcap delivers (capture.hpp knows which)
// is the next mbuf of the port; its bytes come from the mbuf, its link type, time and original length from the file.
// The lengths are compared: should the two ever disagree, the port is left alone and the file is read on by itself.

#include "app/inspect_capture.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "app/role.hpp"
#include "app/signals.hpp"
#include "buf/burst.hpp"
#include "env/output_capture.hpp"
#include "net/wire/capture.hpp"
#include "port/port.hpp"
#include "port/vdev.hpp"

namespace millrace::app {
namespace {

using net::wire::capture_event;
using net::wire::capture_fault;
using stats::drop_reason;

constexpr unsigned bursts_a_sample = 64;    // of the pool's use: counting it looks at every lcore's cache
constexpr unsigned empty_polls_at_end = 4;  // net_pcap answers nothing for ever once the file is over

// The receiving side: a port over the file, or nothing when none could be had.
class capture_port {
  std::optional<port::vdev> device_;
  std::optional<port::port> port_;
  std::vector<std::uint8_t> scratch_ = std::vector<std::uint8_t>(net::wire::max_captured_length);
  buf::burst burst_;
  unsigned next_ = 0;
  std::uint64_t bursts_ = 0;
  mem::packet_pool* pool_ = nullptr;

 public:
  base::outcome attach(const capture_file& file, unsigned number, mem::packet_pool& pool) {
    pool_ = &pool;
    auto device = port::vdev::attach("net_pcap_inspect" + std::to_string(number),
                                     "rx_pcap=/proc/self/fd/" + std::to_string(file.descriptor()));
    if (!device) return device.error();
    device_.emplace(std::move(device.value()));
    auto facts = port::read_facts(device_->port_id());
    if (!facts) return facts.error();
    const auto plan = port::make_plan(std::span(&facts.value(), 1), port::plan_request{});
    if (!plan) return plan.error();
    auto opened = port::port::open(plan.value().ports.front(), pool);
    if (!opened) return opened.error();
    port_.emplace(std::move(opened.value()));
    return port_->start();
  }
  ~capture_port() {
    burst_.free_all();
    port_.reset();  // before its device goes
  }
  // The next packet as one run of bytes, alive until the next call; empty when the port has no more.
  [[nodiscard]] base::byte_view next() {
    if (next_ == burst_.size()) {
      burst_.free_all();
      next_ = 0;
      for (unsigned polls = 0; burst_.empty() && polls < empty_polls_at_end; ++polls)
        (void)port::rx_burst(port_->id(), 0, burst_, buf::default_burst_pkts);
      if (++bursts_ % bursts_a_sample == 1) pool_->sample();
      if (burst_.empty()) return {};
    }
    return burst_.flat(next_++, scratch_);
  }
};

void note_fault(feed_result& result, capture_fault fault, inspect::analyzer& a) {
  if (fault == capture_fault::truncated) {
    a.note(drop_reason::capture_truncated_file);
    return;
  }
  ++result.faults["capture_" + std::string(to_string(fault))];
}

std::string conversion_hint(const std::string& path) {
  if (path.ends_with(".gz")) return "gunzip -k " + path;
  if (path.ends_with(".zst")) return "unzstd -k " + path;
  if (path.ends_with(".lz4")) return "unlz4 -k " + path;
  if (path.ends_with(".xz")) return "unxz -k " + path;
  return "what Wireshark reads becomes one by: editcap -F pcapng " + path + " OUT.pcapng";
}

// A mapped file that another process shortens: the pages behind its new end raise SIGBUS. What was analysed until then
// is lost, as it would be with the file.
extern "C" void on_bus_error(int) {
  constexpr char message[] = "millrace: a capture became shorter while it was read\n";
  (void)!::write(STDERR_FILENO, message, sizeof(message) - 1);
  ::_exit(exit_failed);
}

}  // namespace

capture_file::capture_file(capture_file&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      bytes_(std::exchange(other.bytes_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

capture_file::~capture_file() {
  if (bytes_ != nullptr) ::munmap(const_cast<std::uint8_t*>(bytes_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

base::result<capture_file> capture_file::open(const std::string& path) {
  const auto unusable = [&](const std::string& why, std::string hint = {}) {
    return base::failure{"inspect: " + path + ": " + why, std::move(hint), true};
  };
  capture_file file;
  file.path_ = path;
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor_ < 0)
    return unusable(std::strerror(errno), path == "-" ? "captures are files; --live receives from ports" : "");
  struct stat status{};
  if (::fstat(file.descriptor_, &status) != 0) return unusable(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return unusable("is no regular file", "write the capture into a file first");
  file.size_ = static_cast<std::size_t>(status.st_size);
  if (file.size_ == 0) return unusable("is empty: neither pcap nor pcapng");
  void* mapped = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, file.descriptor_, 0);
  if (mapped == MAP_FAILED) return unusable(std::strerror(errno));
  file.bytes_ = static_cast<const std::uint8_t*>(mapped);
  std::signal(SIGBUS, on_bus_error);
  const auto reader = std::make_unique<net::wire::capture_reader>(file.bytes());
  if (reader->next() == capture_event::malformed && reader->offset() == 0) {
    if (reader->fault() == capture_fault::truncated) return unusable("ends inside its file header");
    if (reader->fault() == capture_fault::not_a_capture || reader->fault() == capture_fault::unknown_version)
      return unusable("is neither pcap nor pcapng", conversion_hint(path));
  }
  return file;
}

std::string capture_file::name() const { return path_.substr(path_.find_last_of('/') + 1); }

feed_result feed_capture(const capture_file& file, unsigned number, mem::packet_pool& pool, inspect::analyzer& a,
                         mem::heap_tally& heap) {
  feed_result result;
  const auto reader = std::make_unique<net::wire::capture_reader>(file.bytes());
  capture_port port;
  env::output_capture drivers;  // what libpcap has to say about a file it does not take
  const base::outcome attached = port.attach(file, number, pool);
  drivers.finish();
  bool in_step = static_cast<bool>(attached);
  if (!in_step) result.remark = attached.error().what;
  while (!stop_requested()) {
    const capture_event event = reader->next();
    if (event == capture_event::end) break;
    if (event == capture_event::secrets) a.add_secrets(reader->secrets());
    if (event == capture_event::malformed) note_fault(result, reader->fault(), a);
    if (event != capture_event::record) continue;
    const net::wire::capture_record& r = reader->record();
    base::byte_view frame = r.data;
    if (in_step && r.beyond_libpcap) {
      in_step = false;
      result.remark = "libpcap reads no further (a second link type or snap length)";
    }
    if (in_step) {
      const base::byte_view received = port.next();
      if (received.size() == frame.size()) {
        frame = received;
      } else {
        in_step = false;
        result.remark = "the port and the file disagree about a record";
      }
    }
    ++(in_step ? result.by_port : result.direct);
    const mem::heap_watch watched(heap);
    a.on_packet(frame, net::wire::from_linktype_number(r.link), r.ts_ns,
                std::max(r.original_length, static_cast<std::uint32_t>(r.data.size())));
  }
  return result;
}

}  // namespace millrace::app
