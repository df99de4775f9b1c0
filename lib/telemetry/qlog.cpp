#include "telemetry/qlog.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "json/writer.hpp"
#include "quic/conn/application.hpp"
#include "quic/wire/frame_type.hpp"
#include "stats/drop_reason.hpp"

namespace millrace::telemetry {
namespace {

using quic::conn::end_reason;
using quic::conn::trace_kind;
using quic::conn::trace_record;
using quic::wire::packet_type;

constexpr char record_separator = '\x1e';  // RFC 7464 2.2
constexpr std::size_t most_a_turn = 4096;
constexpr std::size_t largest_event = 2048;  // a packet with a frame of each type has some 900 bytes
constexpr unsigned most_names = 100;         // files of connections that chose the same destination

double ms(std::uint64_t ns) noexcept { return static_cast<double>(ns) / 1e6; }

std::string_view name_of(packet_type type) noexcept {
  switch (type) {
    case packet_type::initial:
      return "initial";
    case packet_type::zero_rtt:
      return "0RTT";
    case packet_type::handshake:
      return "handshake";
    case packet_type::retry:
      return "retry";
    case packet_type::version_negotiation:
      return "version_negotiation";
    case packet_type::one_rtt:
      return "1RTT";
    case packet_type::unknown_long:
      break;
  }
  return "unknown";
}

std::string_view name_of(trace_kind kind) noexcept {
  switch (kind) {
    case trace_kind::begun:
      return "connectivity:connection_started";
    case trace_kind::packet_sent:
      return "transport:packet_sent";
    case trace_kind::packet_received:
      return "transport:packet_received";
    case trace_kind::packet_lost:
      return "recovery:packet_lost";
    case trace_kind::packet_dropped:
      return "transport:packet_dropped";
    case trace_kind::metrics:
      return "recovery:metrics_updated";
    case trace_kind::established:
    case trace_kind::confirmed:
      return "connectivity:connection_state_updated";
    case trace_kind::key_update:
      return "security:key_updated";
    case trace_kind::moved:
      return "connectivity:path_assigned";
    case trace_kind::mtu:
      return "connectivity:mtu_updated";
    case trace_kind::ended:
      return "connectivity:connection_closed";
  }
  return "";
}

// What ended it, in qlog's words where it has one.
std::string_view trigger_of(std::uint64_t reason) noexcept {
  switch (static_cast<end_reason>(reason)) {
    case end_reason::idle_timeout:
      return "idle_timeout";
    case end_reason::handshake_timeout:
      return "handshake_timeout";
    case end_reason::stateless_reset:
      return "stateless_reset";
    case end_reason::version_negotiation:
      return "version_mismatch";
    case end_reason::refused:
      return "no_memory";
    default:
      return "";
  }
}

void packet(json::writer& to, const trace_record& r) {
  to.key("header");
  to.begin_object();
  to.member("packet_type", name_of(r.type));
  to.member("packet_number", r.number);
  to.end_object();
  to.key("raw");
  to.begin_object();
  to.member("length", r.size);
  to.end_object();
}

void frames(json::writer& to, std::uint64_t types) {
  to.key("frames");
  to.begin_array();
  std::string_view last;
  for (; types != 0; types &= types - 1) {
    const std::string_view name = quic::wire::name_of(static_cast<quic::wire::frame_type>(std::countr_zero(types)));
    if (name == last) continue;  // types with flags in them
    last = name;
    to.begin_object();
    to.member("frame_type", name);
    to.end_object();
  }
  to.end_array();
}

void closed(json::writer& to, const trace_record& r) {
  const auto reason = static_cast<end_reason>(r.a);
  to.member("owner",
            reason == end_reason::closed_by_peer || reason == end_reason::stateless_reset ? "remote" : "local");
  if (reason == end_reason::closed_by_us || reason == end_reason::closed_by_peer)
    to.member(r.c != 0 ? "application_code" : "connection_code", r.b);
  if (const std::string_view trigger = trigger_of(r.a); !trigger.empty()) to.member("trigger", trigger);
}

void data_of(json::writer& to, const trace_record& r, bool is_server) {
  switch (r.kind) {
    case trace_kind::packet_sent:
    case trace_kind::packet_received:
      packet(to, r);
      frames(to, r.frames);
      return;
    case trace_kind::packet_lost:
      packet(to, r);
      return;
    case trace_kind::packet_dropped:
      to.key("raw");
      to.begin_object();
      to.member("length", r.size);
      to.end_object();
      to.member("trigger", stats::to_string(static_cast<stats::drop_reason>(r.a)));
      return;
    case trace_kind::metrics:
      if (r.c != 0) to.member("smoothed_rtt", ms(r.c));
      if (r.d != 0) to.member("min_rtt", ms(r.d));
      to.member("congestion_window", r.a);
      to.member("bytes_in_flight", r.b);
      to.member("pto_count", r.number);
      return;
    case trace_kind::established:
      to.member("new", "handshake_complete");
      return;
    case trace_kind::confirmed:
      to.member("new", "handshake_confirmed");
      return;
    case trace_kind::key_update:
      to.member("key_type", is_server ? "server_1rtt_secret" : "client_1rtt_secret");
      to.member("key_phase", r.number);
      return;
    case trace_kind::mtu:
      to.member("new", r.size);
      return;
    case trace_kind::ended:
      closed(to, r);
      return;
    case trace_kind::begun:
    case trace_kind::moved:
      return;
  }
}

}  // namespace

base::result<std::unique_ptr<qlog_writer>> qlog_writer::make(qlog_settings settings) {
  struct stat what;
  const char* why = nullptr;
  if (::stat(settings.directory.c_str(), &what) != 0)
    why = std::strerror(errno);
  else if (!S_ISDIR(what.st_mode))
    why = "it is no directory";
  else if (::access(settings.directory.c_str(), W_OK | X_OK) != 0)
    why = std::strerror(errno);
  if (why != nullptr) {
    std::string text = "qlog: nothing can be written below '" + settings.directory + "': ";
    return base::failure{text + why, "", true};
  }
  return std::make_unique<qlog_writer>(std::move(settings));
}

std::size_t qlog_writer::write_from(quic::conn::trace_queue& queue) {
  return queue.take(most_a_turn, [&](const trace_record& r) {
    write(queue, r);
    if (r.kind != trace_kind::ended) return;
    open_.erase({&queue, r.connection});
    queue.end();
  });
}

void qlog_writer::flush() noexcept {
  for (auto& one : open_) std::fflush(one.second.file.get());
}

void qlog_writer::write(const quic::conn::trace_queue& queue, const trace_record& r) {
  if (r.kind == trace_kind::begun) {
    log fresh;
    if (counts_.files.get() == settings_.most_files || !begin(fresh, r)) {
      counts_.unwritten.add(1);
      return;
    }
    counts_.files.add(1);
    open_.insert_or_assign({&queue, r.connection}, std::move(fresh));
  }
  const auto at = open_.find({&queue, r.connection});
  if (at == open_.end()) return;
  log& to = at->second;
  if (to.is_cut && r.kind != trace_kind::ended) return;
  std::array<char, largest_event> room;
  json::buffer_sink sink(room);
  json::writer out(sink);
  const bool is_last = to.bytes + largest_event > settings_.most_file_bytes && r.kind != trace_kind::ended;
  out.begin_object();
  out.key("time");
  out.fixed(ms(r.time_ns - std::min(r.time_ns, to.began_ns)), 6);
  out.member("name", is_last ? "loglevel:warning" : name_of(r.kind));
  out.key("data");
  out.begin_object();
  if (is_last)
    out.member("message", "the file has the size it may have: only its end follows");
  else
    data_of(out, r, to.is_server);
  out.end_object();
  out.end_object();
  if (out.end_line() != json::write_errc::ok) return;  // never: largest_event holds all of them
  put(to, sink.text());
  if (is_last && !std::exchange(to.is_cut, true)) counts_.cut.add(1);
}

bool qlog_writer::begin(log& to, const trace_record& r) {
  to.is_server = r.number != 0;
  to.began_ns = r.time_ns;
  std::string id;
  for (std::size_t i = 0; i < r.id_size; ++i) id += fmt::format("{:02x}", r.id[i]);
  const char* const role = to.is_server ? "server" : "client";
  int fd = -1;
  for (unsigned i = 0; i < most_names && fd < 0; ++i) {
    const std::string path = i == 0 ? fmt::format("{}/{}_{}.sqlog", settings_.directory, id, role)
                                    : fmt::format("{}/{}_{}-{}.sqlog", settings_.directory, id, role, i);
    fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (fd < 0 && errno != EEXIST) return false;
  }
  if (fd < 0) return false;
  to.file.reset(::fdopen(fd, "w"));
  if (to.file == nullptr) {
    ::close(fd);
    return false;
  }
  std::array<char, largest_event> room;
  json::buffer_sink sink(room);
  json::writer out(sink);
  out.begin_object();
  out.member("qlog_version", "0.3");
  out.member("qlog_format", "JSON-SEQ");
  out.member("title", "millrace");
  out.key("trace");
  out.begin_object();
  out.key("common_fields");
  out.begin_object();
  out.member("ODCID", id);
  out.member("time_format", "relative");
  out.key("reference_time");
  out.fixed(static_cast<double>(static_cast<std::int64_t>(r.time_ns) + settings_.wall_less_now_ns) / 1e6, 3);
  out.end_object();
  out.key("vantage_point");
  out.begin_object();
  out.member("type", role);
  out.end_object();
  out.end_object();
  out.end_object();
  if (out.end_line() != json::write_errc::ok) return false;
  put(to, sink.text());
  return true;
}

void qlog_writer::put(log& to, std::string_view text) noexcept {
  std::fputc(record_separator, to.file.get());
  to.bytes += 1 + std::fwrite(text.data(), 1, text.size(), to.file.get());
  counts_.events.add(1);
}

}  // namespace millrace::telemetry
