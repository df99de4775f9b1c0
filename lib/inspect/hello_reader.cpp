// Most ClientHellos lie whole in the only CRYPTO frame of the first Initial: those are read where they were decrypted.
// All others (post-quantum key shares that fill two datagrams, clients that shuffle their frames on purpose) go through
// an assembly, which also keeps the key schedules, so that the packets that follow cost no second derivation.
//
// A packet is read twice: once to see that every frame in it may be there, then for its CRYPTO data. A receiver would
// close the connection over a bad frame, so nothing of such a packet is believed.

#include "inspect/hello_reader.hpp"

#include "inspect/gquic_chlo.hpp"
#include "quic/wire/gquic_frame.hpp"
#include "quic/wire/transport_parameters.hpp"
#include "tls/ja4.hpp"

namespace millrace::inspect {
namespace {

using base::byte_view;
using quic::protect::open_errc;
using stats::drop_reason;
namespace wire = quic::wire;

// Every CRYPTO frame of a packet goes to `see`; false when the packet holds a frame that may not be there.
template <class See>
bool walk_crypto(byte_view payload, wire::version_number version, See see) noexcept {
  struct visitor : wire::google_frame_visitor {
    See& see;
    explicit visitor(See& s) noexcept : see(s) {}
    using wire::google_frame_visitor::on;
    bool on(const wire::crypto_frame& f) noexcept {
      see(f);
      return true;
    }
  } each(see);
  return static_cast<bool>(wire::has_google_frames(wire::family_of(version))
                               ? wire::walk_google_frames(payload, each)
                               : wire::walk_frames(payload, wire::packet_type::initial, each));
}

bool speaks_chlo(wire::version_number version) noexcept {
  return wire::family_of(version) == wire::version_family::google_q050;
}

// Bytes of the hello at the front of `stream`; 0 when they are too few to tell. `possible`: it may still be one.
std::size_t hello_size(wire::version_number version, byte_view stream, bool& possible) noexcept {
  possible = true;
  if (speaks_chlo(version)) return chlo_size(stream, possible);
  const std::size_t size = tls::wire::handshake_message_size(stream, possible);
  if (size == 0) possible = stream.empty() || stream[0] == 1;  // RFC 8446 4: client_hello
  return size;
}

drop_reason anomaly_of(open_errc code) noexcept {
  return code == open_errc::reserved_bits ? drop_reason::quic_bad_reserved_bits : drop_reason::quic_decrypt_failed;
}

drop_reason reason_of(reassembly_errc code) noexcept {
  switch (code) {
    case reassembly_errc::ok:
      return drop_reason::none;
    case reassembly_errc::conflict:
      return drop_reason::quic_crypto_overlap;
    case reassembly_errc::too_far:
      return drop_reason::quic_crypto_too_far;
    case reassembly_errc::full:
      return drop_reason::reassembly_full;
  }
  return drop_reason::none;
}

}  // namespace

hello_reader::hello_reader(carver& memory, const limits& l, crypto::engine* engine, counters* count) noexcept
    : engine_(engine),
      counters_(count),
      assemblies_(memory, l.max_hellos, l.idle_ns),
      reassembly_(memory, l),
      plaintext_(memory.take<std::uint8_t>(scratch_bytes)),
      message_(memory.take<std::uint8_t>(scratch_bytes)),
      scratch_keys_(memory.take<quic::protect::packet_keys>(1)) {}

open_errc hello_reader::try_open(byte_view packet, const wire::packet_header& header, const cid& source,
                                 hello_assembly* a) noexcept {
  opened_packet_ = nullptr;
  const bool known = a != nullptr && a->has_keys && a->version == header.version && a->key_dcid.equals(source.view());
  if (!known && !quic::protect::derive_initial_keys(*engine_, header.version, source.view(),
                                                    quic::protect::side::client, scratch_keys_[0]))
    return open_errc::auth_failed;
  const std::uint64_t largest = known && a->largest_pn_and_1 != 0 ? a->largest_pn_and_1 - 1 : ~std::uint64_t{0};
  const open_errc code = quic::protect::open_initial(*engine_, known ? a->keys : scratch_keys_[0], packet, header,
                                                     largest, plaintext_, opened_);
  if (code != open_errc::ok) return code;
  opened_packet_ = packet.data();
  opened_version_ = header.version;
  opened_dcid_ = source;
  keys_in_scratch_ = !known;
  if (known) a->largest_pn_and_1 = std::max(a->largest_pn_and_1, opened_.packet_number + 1);
  return code;
}

bool hello_reader::opens_alone(byte_view packet, const wire::packet_header& header) noexcept {
  if (!quic::protect::has_initial_salt(header.version) || header.dcid.empty()) return false;
  if (refused_packet_ == packet.data()) return false;
  cid source;
  source.assign(header.dcid);
  if (opened_packet_ == packet.data() && opened_dcid_.equals(header.dcid)) return true;
  if (try_open(packet, header, source, nullptr) == open_errc::ok) return true;
  refused_packet_ = packet.data();
  return false;
}

bool hello_reader::open(connection& c, byte_view packet, const wire::packet_header& header) noexcept {
  if (opened_packet_ == packet.data() && opened_dcid_.equals(header.dcid) && opened_version_ == header.version) {
    c.key_dcid = opened_dcid_;
    return true;
  }
  hello_assembly* a = assemblies_.resolve(c.assembly);
  open_errc code = try_open(packet, header, c.key_dcid, a);
  if (code == open_errc::auth_failed && !header.dcid.empty() && !c.key_dcid.equals(header.dcid)) {
    cid own;
    own.assign(header.dcid);
    code = try_open(packet, header, own, nullptr);
    if (code == open_errc::ok) c.key_dcid = own;
  }
  if (code == open_errc::ok) return true;
  if (c.failed_opens != UINT8_MAX) ++c.failed_opens;
  counters_->anomalies.add(anomaly_of(code));
  return false;
}

void hello_reader::give_up(connection& c, drop_reason why) noexcept {
  counters_->anomalies.add(why);
  c.hello = hello_state::given_up;
  discard(c);
}

void hello_reader::discard(connection& c) noexcept {
  if (hello_assembly* a = assemblies_.resolve(c.assembly); a != nullptr) {
    reassembly_.release(a->stream);
    assemblies_.give(*a);
  }
  c.assembly = {};
}

hello_assembly* hello_reader::make_assembly(connection& c, std::uint64_t now) noexcept {
  if (assemblies_.full()) {
    hello_assembly* oldest = assemblies_.victim(now, 0);
    if (oldest == nullptr) return nullptr;
    counters_->anomalies.add(drop_reason::reassembly_full);
    reassembly_.release(oldest->stream);
    assemblies_.give(*oldest);
  }
  hello_assembly* a = assemblies_.take(now);
  c.assembly = assemblies_.ref_to(*a);
  return a;
}

void hello_reader::take(connection& c, std::uint64_t now) noexcept {
  counters_->initials_opened.add(1);
  wire::crypto_frame first;
  std::size_t frames = 0;
  const bool allowed = walk_crypto(opened_.payload, opened_version_, [&](const wire::crypto_frame& f) {
    if (frames++ == 0) first = f;
  });
  if (!allowed) {
    counters_->anomalies.add(drop_reason::quic_bad_frame);
    return;
  }
  if (frames == 0) return;

  hello_assembly* a = assemblies_.resolve(c.assembly);
  if (a == nullptr && !c.assembly.empty()) return give_up(c, drop_reason::reassembly_full);  // it had to give way
  if (a == nullptr && frames == 1 && first.offset == 0) {
    bool possible = true;
    const std::size_t size = hello_size(opened_version_, first.data, possible);
    if (!possible) return give_up(c, drop_reason::tls_bad_client_hello);
    if (size != 0 && size <= first.data.size()) return read_message(c, first.data.first(size));
  }
  if (a == nullptr) a = make_assembly(c, now);
  if (a == nullptr) return give_up(c, drop_reason::reassembly_full);
  c.hello = hello_state::partial;
  assemblies_.touch(*a, now);
  if (keys_in_scratch_) {
    a->keys = scratch_keys_[0];
    a->has_keys = true;
    a->version = opened_version_;
    a->key_dcid = opened_dcid_;
    a->largest_pn_and_1 = opened_.packet_number + 1;
    keys_in_scratch_ = false;
  }
  (void)walk_crypto(opened_.payload, opened_version_, [&](const wire::crypto_frame& f) {
    const reassembly_errc code = reassembly_.add(a->stream, f.offset, f.data);
    if (code == reassembly_errc::ok) return;
    counters_->anomalies.add(reason_of(code));
    c.crypto_conflict = c.crypto_conflict || code == reassembly_errc::conflict;
  });
  read_stream(c, *a);
}

void hello_reader::read_stream(connection& c, hello_assembly& a) noexcept {
  const std::uint32_t there = a.stream.prefix();
  if (there == 0) return;
  // A CHLO's table may reach beyond the first block; a ClientHello tells its size in the first four bytes.
  const std::uint32_t head = speaks_chlo(a.version) ? there : std::min<std::uint32_t>(there, 4);
  reassembly_.copy_out(a.stream, head, message_.data());
  bool possible = true;
  const std::size_t size = hello_size(a.version, message_.first(head), possible);
  if (!possible) return give_up(c, drop_reason::tls_bad_client_hello);
  if (size > reassembly_.stream_bytes()) return give_up(c, drop_reason::quic_crypto_too_far);
  if (size == 0 || size > there) return;
  reassembly_.copy_out(a.stream, static_cast<std::uint32_t>(size), message_.data());
  read_message(c, message_.first(size));
  discard(c);
}

void hello_reader::read_message(connection& c, byte_view message) noexcept {
  if (speaks_chlo(opened_version_)) return take_plain_chlo(c, message);
  read_client_hello(c, message);
}

void hello_reader::read_client_hello(connection& c, byte_view message) noexcept {
  tls::wire::client_hello hello;
  if (!tls::wire::parse_client_hello(message, hello)) return give_up(c, drop_reason::tls_bad_client_hello);
  c.facts.assign(hello);
  tls::ja4(*engine_, hello, tls::ja4_transport::quic, c.facts.ja4);
  c.facts.has_ja4 = true;
  if (hello.has_transport_parameters) {
    wire::transport_parameters announced;
    c.facts.has_parameters = static_cast<bool>(
        wire::parse(hello.transport_parameters, wire::sender::client, wire::encoding_of(opened_version_), announced));
    if (c.facts.has_parameters)
      c.facts.parameters.assign(announced);
    else
      counters_->anomalies.add(drop_reason::tls_bad_transport_parameters);
  }
  c.hello = hello_state::complete;
  counters_->hellos.add(1);
}

void hello_reader::take_plain_chlo(connection& c, byte_view message) noexcept {
  chlo hello;
  if (!read_chlo(message, hello)) return give_up(c, drop_reason::tls_bad_client_hello);
  if (hello.has_sni) c.facts.set_sni(hello.sni);
  c.facts.known = true;
  c.hello = hello_state::complete;
  counters_->hellos.add(1);
}

}  // namespace millrace::inspect
