#include "app/quic_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "crypto/random.hpp"
#include "env/tsc_clock.hpp"
#include "pipeline/srmp_streams.hpp"

namespace millrace::app {
namespace {

using base::failure;
using quic::conn::event;

constexpr std::size_t ticket_secret_bytes = 32;
constexpr std::uint32_t pattern_mbufs = 8192;  // that name parts of the pattern, of all lcores; its block bears 32000

namespace fs = std::filesystem;

// Calls one(entry) for each regular file below `root`, until it answers false. Empty, or why it cannot be read.
template <class Call>
std::string walk(const std::string& root, Call&& one) {
  std::error_code code;
  if (!fs::is_directory(root, code)) return code ? code.message() : "it is no directory";
  for (auto at = fs::recursive_directory_iterator(root, code); !code && at != fs::recursive_directory_iterator();
       at.increment(code)) {
    std::error_code none;
    if (at->is_regular_file(none) && !one(*at)) return {};
  }
  return code ? code.message() : std::string{};
}

// Blocks of 64 KiB that the files below `root` fill.
std::uint32_t blocks_of(const std::string& root) {
  std::uint64_t blocks = 1;
  static_cast<void>(walk(root, [&](const fs::directory_entry& file) {
    std::error_code none;
    const std::uintmax_t size = file.file_size(none);
    if (!none) blocks += size / buf::large_block_bytes + 1;
    return true;
  }));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, UINT32_MAX / 2));
}

base::outcome load_files(const std::string& root, buf::large_block_pool& blocks, pipeline::hq_files& into) {
  base::outcome loaded = base::done{};
  const std::string wrong = walk(root, [&](const fs::directory_entry& file) {
    auto content = buf::content::load_file(blocks, file.path().string());
    if (!content) {
      loaded = content.error();
      return false;
    }
    std::string path("/");
    path += file.path().lexically_relative(root).generic_string();
    into.add(path, std::move(content.value()));
    return true;
  });
  if (!wrong.empty()) return failure{"the files below '" + root + "' cannot be read: " + wrong, "", true};
  return loaded;
}

// RFC 9000 7.4.1: what a 0-RTT client relies on. A ticket made under other limits does not open.
std::string ticket_context(const quic::conn::transport_settings& t) {
  return fmt::format("{} {} {} {}", t.connection_window_bytes, t.stream_window_bytes, t.streams_bidi, t.streams_uni);
}

// Counters that tell of trouble, ours or a peer's.
constexpr std::array troubles = {event::handshake_failed,   event::handshake_timeout, event::closed_for_fault,
                                 event::reset_by_peer,      event::refused_no_memory, event::undecryptable,
                                 event::auth_failed,        event::ack_of_unsent,     event::crypto_too_far,
                                 event::stream_no_memory,   event::streams_refused,   event::datagram_frames_dropped,
                                 event::migrations_refused, event::path_failed,       event::sent_pool_empty,
                                 event::tokens_refused,     event::initials_refused};

// A stream's share of the replies that are not acknowledged: a few slow readers do not stop the others.
constexpr buf::pipe_limits reply_limits{.pause_bytes = 128 << 10, .resume_bytes = 64 << 10, .pause_segments = 256};
constexpr std::uint32_t assembly_blocks = 64;  // of 64 KiB: unfinished long requests

constexpr std::size_t assembly_block_bytes = 66'000;
constexpr std::size_t srmp_session_bytes = 448;  // with its place in the pool

pipeline::srmp_stream_settings srmp_settings(const quic::endpoint::endpoint_settings& endpoint,
                                             const srmp::compatibility& peers) {
  const quic::conn::transport_settings& t = endpoint.transport;
  pipeline::srmp_stream_settings s;
  s.sessions = endpoint.streams;
  s.assembly_blocks = std::min(assembly_blocks, endpoint.streams);
  s.send = reply_limits;
  s.peers = peers;
  // What unfinished requests of all streams keep must leave room in the windows (srmp_session.hpp).
  s.intake.keep_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      {s.intake.keep_bytes, t.connection_window_bytes / t.streams_bidi, t.stream_window_bytes / 2}));
  return s;
}

pipeline::echo_settings echo_settings(const quic::endpoint::endpoint_settings& endpoint) noexcept {
  return {.sessions = endpoint.streams, .send = reply_limits};
}

bool needs_replies(const quic_config& config) noexcept { return config.srmp || config.echo || config.h3; }

mem::packet_pool_config reply_pool(const quic_config& config, std::size_t which) {
  mem::packet_pool_config c;
  c.name = fmt::format("quic_replies_{}", which);
  c.packets = config.reply_blocks;
  return c;
}

template <class Handler>
base::result<std::unique_ptr<pipeline::srmp_sessions>> make_srmp(Handler& handler,
                                                                 const pipeline::srmp_stream_settings& settings,
                                                                 mem::packet_pool& blocks) {
  auto made = pipeline::srmp_streams<Handler>::make(handler, settings, blocks);
  if (!made) return made.error();
  return std::unique_ptr<pipeline::srmp_sessions>(std::move(made.value()));
}

}  // namespace

base::result<std::unique_ptr<quic_shared>> quic_shared::make(const quic_config& config, std::size_t lcores) {
  auto made = std::make_unique<quic_shared>();
  made->config_ = config;
  auto credentials = config.cert.empty() ? tls::server_credentials::self_signed({.now_ns = env::wall_now_ns()})
                                         : tls::server_credentials::load({config.cert, config.key});
  if (!credentials) return credentials.error();
  made->credentials_ = std::move(credentials.value());
  std::string ticket_secret(ticket_secret_bytes, '\0');
  auto& keys = made->keys_;
  if (!crypto::random_bytes({reinterpret_cast<std::uint8_t*>(ticket_secret.data()), ticket_secret.size()}) ||
      !crypto::random_bytes(keys.cid) || !crypto::random_bytes(keys.reset) || !crypto::random_bytes(keys.token))
    return failure{"the kernel gives no random bytes", ""};
  if (config.early_data) {
    made->replay_ = std::make_shared<tls::anti_replay>(tls::anti_replay_limits{}, env::wall_now_ns());
    if (!made->replay_->is_ready()) return failure{"no memory for the table against replayed 0-RTT", ""};
  }
  const std::string path = config.keylog.empty() ? tls::key_log_file::path_of_environment() : config.keylog;
  if (!path.empty()) {
    auto file = tls::key_log_file::open(path);
    if (!file) return file.error();
    made->key_log_ = std::move(file.value());
    made->logs_keys_ = true;
  }
  for (std::size_t i = 0; i < lcores; ++i) {
    auto one = std::make_unique<log>();
    if (made->logs_keys_ && !one->queue.has_room()) return failure{"no memory for the key log", ""};
    tls::server_settings s;
    s.credentials = made->credentials_;
    // A call that came twice would be answered twice: no 0-RTT with SRMP.
    for (const std::string& name : made->protocols())
      s.protocols.push_back(
          {name, ticket_context(config.endpoint.transport), config.early_data && name != pipeline::srmp_protocol});
    s.ticket_secret = ticket_secret;
    s.early_data = made->replay_;
    if (made->logs_keys_) s.key_log = one->queue.sink();
    auto context = tls::server_context::make(std::move(s));
    if (!context) return context.error();
    one->context = std::move(context.value());
    made->logs_.push_back(std::move(one));
  }
  if (!config.qlog.empty()) {
    auto qlog = qlog_files::make(config.qlog, lcores);
    if (!qlog) return qlog.error();
    made->qlog_ = std::move(qlog.value());
  }
  if (config.h3) {
    buf::large_block_pool_config one;
    one.name = "h3_pattern";
    one.blocks_per_mempool = 1;
    one.cache = 0;
    one.mbufs_per_block = pattern_mbufs;
    auto pool = buf::large_block_pool::make(one);
    if (!pool) return pool.error();
    made->pattern_blocks_ = std::make_unique<buf::large_block_pool>(std::move(pool.value()));
    auto pattern = service::make_pattern(*made->pattern_blocks_);
    if (!pattern) return pattern.error();
    made->pattern_ = std::move(pattern.value());
  }
  if (!config.root.empty()) {
    buf::large_block_pool_config blocks;
    blocks.name = "quic_files";
    blocks.blocks_per_mempool = blocks_of(config.root);
    blocks.cache = 0;
    blocks.mbufs_per_block = 1;
    auto pool = buf::large_block_pool::make(blocks);
    if (!pool) return pool.error();
    made->blocks_ = std::make_unique<buf::large_block_pool>(std::move(pool.value()));
    if (auto loaded = load_files(config.root, *made->blocks_, made->files_); !loaded) return loaded.error();
  }
  return made;
}

std::vector<std::string> quic_shared::protocols() const {
  std::vector<std::string> names;
  if (config_.h3) names.emplace_back(h3::protocol);
  names.emplace_back(pipeline::hq_protocol);
  if (config_.srmp) names.emplace_back(pipeline::srmp_protocol);
  if (config_.echo) names.emplace_back(pipeline::echo_protocol);
  return names;
}

bool quic_shared::write_key_log() noexcept {
  if (!logs_keys_) return true;
  bool whole = true;
  for (const auto& one : logs_) whole &= key_log_.write_from(one->queue);
  return whole;
}

base::result<std::unique_ptr<quic_server>> quic_server::make(quic_shared& shared, std::size_t which,
                                                             const quic_link& link, mem::packet_pool& pool,
                                                             const quic_srmp& srmp, const http_parts& http) {
  auto made = std::make_unique<quic_server>();
  auto engine = crypto::engine::make();
  if (!engine) return failure{"IPsec-MB cannot start on this CPU", ""};
  made->engine_ = std::make_unique<crypto::engine>(std::move(*engine));
  quic::endpoint::endpoint_settings s = shared.config_.endpoint;
  s.lcore = static_cast<std::uint8_t>(which);
  for (base::endpoint* const preferred : {&s.transport.preferred_ipv4, &s.transport.preferred_ipv6})
    preferred->port = preferred->address.family == base::ip_family::none ? 0 : shared.config_.port;
  s.transport.max_datagram_bytes = link.datagram_bytes;
  s.transport.max_udp_payload = std::max<std::uint16_t>(link.receive_bytes, 1200);
  auto hq = pipeline::hq_server::make(s.streams, &shared.files_);
  if (!hq) return hq.error();
  made->hq_ = std::move(hq.value());
  auto endpoint = quic::endpoint::quic_endpoint::make(s, shared.keys_, *made->engine_, pool, env::tsc_clock{}.now_ns(),
                                                      env::wall_now_ns());
  if (!endpoint) return endpoint.error();
  made->endpoint_ = std::move(endpoint.value());
  made->endpoint_->serve(shared.logs_[which]->context);
  if (shared.qlog_) {
    if (which == 0) made->qlog_ = shared.qlog_.get();  // what it counts is told once
    made->trace_ = &shared.qlog_->queue(which);
    made->endpoint_->trace_to(&shared.qlog_->queue(which));
  }
  static_cast<void>(made->endpoint_->add_application(pipeline::hq_protocol, *made->hq_));
  if (needs_replies(shared.config_)) {
    auto replies = mem::packet_pool::make(reply_pool(shared.config_, which));
    if (!replies) return replies.error();
    made->replies_ = std::make_unique<mem::packet_pool>(std::move(replies.value()));
  }
  if (shared.config_.h3) {
    const std::int64_t wall_less_clock_ns = env::wall_now_ns() - static_cast<std::int64_t>(env::tsc_clock{}.now_ns());
    auto h3 = h3_service::make(s, shared.pattern_, *made->replies_, http, wall_less_clock_ns);
    if (!h3) return h3.error();
    made->h3_ = std::move(h3.value());
    if (auto served = made->h3_->serve_on(*made->endpoint_); !served) return served.error();
  }
  if (shared.config_.echo) {
    auto echo = pipeline::echo_streams::make(echo_settings(s), *made->replies_);
    if (!echo) return echo.error();
    made->echo_ = std::move(echo.value());
    if (auto served = made->echo_->serve_on(*made->endpoint_); !served) return served.error();
  }
  if (shared.config_.srmp && (srmp.calls != nullptr || srmp.echoes != nullptr)) {
    const pipeline::srmp_stream_settings how = srmp_settings(s, srmp.peers);
    auto sessions = srmp.calls != nullptr ? make_srmp(*srmp.calls, how, *made->replies_)
                                          : make_srmp(*srmp.echoes, how, *made->replies_);
    if (!sessions) return sessions.error();
    made->srmp_ = std::move(sessions.value());
    if (auto served = made->srmp_->serve_on(*made->endpoint_); !served) return served.error();
  }
  made->service_ = std::make_unique<pipeline::quic_service>(*made->endpoint_, pool);
  if (made->h3_) made->service_->drain_first(*made->h3_, http.drain_ns);
  return made;
}

quic_server::~quic_server() {
  service_.reset();
  endpoint_.reset();  // tells the applications, which go last
  srmp_.reset();      // and give their blocks back
  echo_.reset();
  h3_.reset();
}

void quic_server::add_errors(std::vector<std::pair<std::string, std::uint64_t>>& to) const {
  const auto add = [&](std::string kind, std::uint64_t n) {
    if (n == 0) return;
    const auto known = std::find_if(to.begin(), to.end(), [&](const auto& one) { return one.first == kind; });
    if (known == to.end())
      to.emplace_back(std::move(kind), n);
    else
      known->second += n;
  };
  for (const event e : troubles) add("quic_" + std::string(to_string(e)), endpoint_->events().get(e));
  add("hq_not_found", hq_->counters().not_found.get());
  add("hq_bad_requests", hq_->counters().bad.get());
  add("hq_no_memory", hq_->counters().no_memory.get());
  if (trace_ != nullptr) {
    add("qlog_records_dropped", trace_->dropped());
    add("qlog_untraced", trace_->untraced() + (qlog_ != nullptr ? qlog_->unwritten() : 0));
  }
  if (echo_) {
    add("echo_streams_refused", echo_->counters().refused.get());
    add("echo_streams_starved", echo_->counters().starved.get());
  }
  if (h3_) h3_->for_each_trouble(add);
  if (!srmp_) return;
  const srmp::server_counters& served = srmp_->counters();
  const pipeline::srmp_stream_counters& streams = srmp_->streams();
  add("srmp_malformed", streams.malformed.get());
  add("srmp_truncated", streams.truncated.get());
  add("srmp_stray_replies", served.stray_replies.get());
  add("srmp_unanswered", served.unanswered.get());
  add("srmp_reply_too_large", served.reply_too_large.get());
  add("srmp_streams_refused", streams.refused.get() + streams.not_served.get());
  add("srmp_streams_expired", streams.expired.get());
  add("srmp_streams_no_memory", streams.out_of_memory.get());
  add("srmp_large_dropped", streams.large_dropped.get());
}

void quic_server::list(mem::pool_listing& to) const noexcept {
  endpoint_->list(to);
  if (h3_) h3_->list(to);
  if (replies_) to.add("quic_replies", replies_->size(), replies_->in_use());
}

std::uint64_t quic_server::messages() const noexcept {
  return srmp_ ? srmp_->counters().requests.get() + srmp_->counters().one_ways.get() : 0;
}

std::uint64_t quic_server::echoed_streams() const noexcept { return echo_ ? echo_->counters().streams.get() : 0; }

std::size_t expected_quic_bytes(const quic_config& config, std::size_t lcores) {
  if (config.port == 0) return 0;
  const std::size_t files = config.root.empty() ? 0 : std::size_t{blocks_of(config.root)} * 66'500;
  std::size_t srmp = 0;
  if (config.srmp)
    srmp = std::size_t{config.endpoint.streams} * srmp_session_bytes +
           std::min(assembly_blocks, config.endpoint.streams) * assembly_block_bytes + srmp::stream_batch::spill_bytes;
  const std::size_t echo = config.echo ? pipeline::echo_streams::memory_bytes(echo_settings(config.endpoint)) : 0;
  const std::size_t h3 = config.h3 ? expected_h3_bytes(config.endpoint) : 0;
  const std::size_t pattern = config.h3 ? 66'500 + pattern_mbufs * 256 : 0;
  const std::size_t replies = needs_replies(config) ? mem::estimated_bytes(reply_pool(config, 0)) : 0;
  const std::size_t traces = config.qlog.empty() ? 0 : qlog_records * sizeof(quic::conn::trace_record);
  return lcores *
             (quic::endpoint::memory_bytes(config.endpoint) + traces +
              std::size_t{config.endpoint.streams} * (pipeline::max_request_bytes + 64) + srmp + echo + h3 + replies) +
         files + pattern;
}

}  // namespace millrace::app
