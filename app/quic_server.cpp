#include "app/quic_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "crypto/random.hpp"
#include "env/tsc_clock.hpp"

namespace millrace::app {
namespace {

using base::failure;
using quic::conn::event;

constexpr std::size_t ticket_secret_bytes = 32;

std::int64_t wall_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

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

}  // namespace

base::result<std::unique_ptr<quic_shared>> quic_shared::make(const quic_config& config, std::size_t lcores) {
  auto made = std::make_unique<quic_shared>();
  made->config_ = config;
  auto credentials = config.cert.empty() ? tls::server_credentials::self_signed({.now_ns = wall_now_ns()})
                                         : tls::server_credentials::load({config.cert, config.key});
  if (!credentials) return credentials.error();
  made->credentials_ = std::move(credentials.value());
  std::string ticket_secret(ticket_secret_bytes, '\0');
  auto& keys = made->keys_;
  if (!crypto::random_bytes({reinterpret_cast<std::uint8_t*>(ticket_secret.data()), ticket_secret.size()}) ||
      !crypto::random_bytes(keys.cid) || !crypto::random_bytes(keys.reset) || !crypto::random_bytes(keys.token))
    return failure{"the kernel gives no random bytes", ""};
  if (config.early_data) {
    made->replay_ = std::make_shared<tls::anti_replay>(tls::anti_replay_limits{}, wall_now_ns());
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
    s.protocols = {{std::string(pipeline::hq_protocol), ticket_context(config.endpoint.transport)}};
    s.ticket_secret = ticket_secret;
    s.early_data = made->replay_;
    if (made->logs_keys_) s.key_log = one->queue.sink();
    auto context = tls::server_context::make(std::move(s));
    if (!context) return context.error();
    one->context = std::move(context.value());
    made->logs_.push_back(std::move(one));
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

bool quic_shared::write_key_log() noexcept {
  if (!logs_keys_) return true;
  bool whole = true;
  for (const auto& one : logs_) whole &= key_log_.write_from(one->queue);
  return whole;
}

base::result<std::unique_ptr<quic_server>> quic_server::make(quic_shared& shared, std::size_t which,
                                                             const quic_link& link, mem::packet_pool& pool) {
  auto made = std::make_unique<quic_server>();
  auto engine = crypto::engine::make();
  if (!engine) return failure{"IPsec-MB cannot start on this CPU", ""};
  made->engine_ = std::make_unique<crypto::engine>(std::move(*engine));
  quic::endpoint::endpoint_settings s = shared.config_.endpoint;
  s.lcore = static_cast<std::uint8_t>(which);
  s.transport.max_datagram_bytes = link.datagram_bytes;
  s.transport.max_udp_payload = std::max<std::uint16_t>(link.receive_bytes, 1200);
  auto hq = pipeline::hq_server::make(s.streams, &shared.files_);
  if (!hq) return hq.error();
  made->hq_ = std::move(hq.value());
  auto endpoint = quic::endpoint::quic_endpoint::make(s, shared.keys_, *made->engine_, pool, env::tsc_clock{}.now_ns(),
                                                      wall_now_ns());
  if (!endpoint) return endpoint.error();
  made->endpoint_ = std::move(endpoint.value());
  made->endpoint_->serve(shared.logs_[which]->context);
  static_cast<void>(made->endpoint_->add_application(pipeline::hq_protocol, *made->hq_));
  made->service_ = std::make_unique<pipeline::quic_service>(*made->endpoint_, pool);
  return made;
}

quic_server::~quic_server() {
  service_.reset();
  endpoint_.reset();  // tells the applications, which go last
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
}

std::size_t expected_quic_bytes(const quic_config& config, std::size_t lcores) {
  if (config.port == 0) return 0;
  const std::size_t files = config.root.empty() ? 0 : std::size_t{blocks_of(config.root)} * 66'500;
  return lcores * (quic::endpoint::memory_bytes(config.endpoint) +
                   std::size_t{config.endpoint.streams} * (pipeline::max_request_bytes + 64)) +
         files;
}

}  // namespace millrace::app
