#include "loadgen/quic_client.hpp"

#include "crypto/random.hpp"
#include "env/tsc_clock.hpp"

namespace millrace::loadgen {

using base::failure;
using quic::conn::connection;

base::result<std::unique_ptr<quic_client>> quic_client::make(quic_terms terms,
                                                             const quic::endpoint::endpoint_settings& settings,
                                                             mem::packet_pool& pool, quic::conn::application& by) {
  if (!terms.tls) return failure{"there is no TLS context", "", true};
  auto made = std::make_unique<quic_client>(passkey{}, std::move(terms), by);
  auto engine = crypto::engine::make();
  if (!engine) return failure{"IPsec-MB cannot start on this CPU", ""};
  made->engine_ = std::make_unique<crypto::engine>(std::move(*engine));
  quic::endpoint::endpoint_keys keys;
  if (!crypto::random_bytes(keys.cid) || !crypto::random_bytes(keys.reset) || !crypto::random_bytes(keys.token))
    return failure{"the kernel gives no random bytes", ""};
  auto endpoint = quic::endpoint::quic_endpoint::make(settings, keys, *made->engine_, pool, env::tsc_clock{}.now_ns(),
                                                      env::wall_now_ns());
  if (!endpoint) return endpoint.error();
  made->endpoint_ = std::move(endpoint.value());
  made->service_ = std::make_unique<pipeline::quic_service>(*made->endpoint_, pool);
  return made;
}

connection* quic_client::connect(const extras& more, pipeline::service_turn& turn) noexcept {
  source_ = terms_.source;
  if (source_.family == base::ip_family::none) {
    const net::local_address* ours = turn.outputs[terms_.interface]->host().source_for(terms_.target.address);
    if (ours == nullptr) return nullptr;
    source_ = ours->ip;
  }
  quic::endpoint::client_request r;
  r.address.local = {source_, more.port};
  r.address.remote = terms_.target;
  r.interface = terms_.interface;
  r.version = terms_.version;
  r.negotiated = negotiated_;
  r.server_name = terms_.server_name;
  r.session = more.session;
  r.token = more.token;
  r.early_data = more.early_data;
  r.protocol = &by_;
  r.context = terms_.tls;
  return endpoint_->connect(r, turn.now_ns);
}

void quic_client::end() noexcept {
  service_.reset();
  endpoint_.reset();
}

void quic_client::close(connection& c, std::uint64_t now_ns) noexcept {
  c.close(0, now_ns);
  endpoint_->touch(c);
}

bool quic_client::take_end(connection& c, const quic::conn::connection_end& end) noexcept {
  if (end.reason == quic::conn::end_reason::version_negotiation && end.code != 0 && end.code != terms_.version) {
    terms_.version = static_cast<quic::wire::version_number>(end.code);
    negotiated_ = true;
    return true;
  }
  loss_code_.set(end.code);
  loss_text_.set(reinterpret_cast<std::uintptr_t>(c.close_text()));
  loss_reason_.set(2 * static_cast<std::uint64_t>(end.reason) + (end.from_application ? 2 : 1));
  return false;
}

std::optional<quic_loss> quic_client::last_loss() const noexcept {
  const std::uint64_t reason = loss_reason_.get();
  if (reason == 0) return std::nullopt;
  quic_loss loss;
  loss.end.reason = static_cast<quic::conn::end_reason>((reason - 1) / 2);
  loss.end.from_application = (reason - 1) % 2 != 0;
  loss.end.code = loss_code_.get();
  loss.text = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(loss_text_.get()));
  return loss;
}

}  // namespace millrace::loadgen
