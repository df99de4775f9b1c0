// One table drives all: each row is a parameter with its number, its shape, the field it fills and its bounds. parse(),
// encoded_size() and emit() walk the same rows, so that they cannot disagree. Integers are the many; the few with a
// structure of their own have a reader and a writer below.
#include "quic/wire/transport_parameters.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "base/byte_reader.hpp"

namespace millrace::quic::wire {
namespace {

using base::byte_reader;
using base::byte_view;
using base::byte_writer;
using base::parse_errc;
using base::parse_status;
using params = transport_parameters;

enum class shape : std::uint8_t { integer, flag, cid, token, preferred_address, version_information };

constexpr std::size_t token_size = 16;                                 // RFC 9000 10.3
constexpr std::size_t preferred_fixed_size = 4 + 2 + 16 + 2 + 1 + 16;  // all but the connection ID
constexpr std::uint64_t max_streams = std::uint64_t{1} << 60;          // RFC 9000 4.6

struct row {
  transport_parameter id;
  shape form;
  bool server_only = false;
  std::uint64_t params::* number = nullptr;  // integer
  byte_view params::* bytes = nullptr;       // cid, token
  bool params::* flag = nullptr;             // flag
  std::uint64_t least = 0;                   // integer: RFC 9000 18.2
  std::uint64_t most = base::varint_max;
};

constexpr row integer(transport_parameter id, std::uint64_t params::* field, std::uint64_t least = 0,
                      std::uint64_t most = base::varint_max) {
  return {.id = id, .form = shape::integer, .number = field, .least = least, .most = most};
}
constexpr row connection_id(transport_parameter id, bool server_only, byte_view params::* field) {
  return {.id = id, .form = shape::cid, .server_only = server_only, .bytes = field};
}
constexpr row flag(transport_parameter id, bool params::* field) {
  return {.id = id, .form = shape::flag, .flag = field};
}

using enum transport_parameter;
constexpr row rows[] = {
    connection_id(original_destination_connection_id, true, &params::original_destination_connection_id),
    integer(max_idle_timeout, &params::max_idle_timeout_ms),
    {.id = stateless_reset_token, .form = shape::token, .server_only = true, .bytes = &params::stateless_reset_token},
    integer(max_udp_payload_size, &params::max_udp_payload_size, 1200),
    integer(initial_max_data, &params::initial_max_data),
    integer(initial_max_stream_data_bidi_local, &params::initial_max_stream_data_bidi_local),
    integer(initial_max_stream_data_bidi_remote, &params::initial_max_stream_data_bidi_remote),
    integer(initial_max_stream_data_uni, &params::initial_max_stream_data_uni),
    integer(initial_max_streams_bidi, &params::initial_max_streams_bidi, 0, max_streams),
    integer(initial_max_streams_uni, &params::initial_max_streams_uni, 0, max_streams),
    integer(ack_delay_exponent, &params::ack_delay_exponent, 0, 20),
    integer(max_ack_delay, &params::max_ack_delay_ms, 0, (1 << 14) - 1),
    flag(disable_active_migration, &params::disable_active_migration),
    {.id = preferred_address, .form = shape::preferred_address, .server_only = true},
    integer(active_connection_id_limit, &params::active_connection_id_limit, 2),
    connection_id(initial_source_connection_id, false, &params::initial_source_connection_id),
    connection_id(retry_source_connection_id, true, &params::retry_source_connection_id),
    {.id = version_information, .form = shape::version_information},
    integer(max_datagram_frame_size, &params::max_datagram_frame_size),
    flag(grease_quic_bit, &params::grease_quic_bit),
};
static_assert(std::ranges::is_sorted(rows, {}, &row::id), "emit writes ascending numbers");
static_assert(std::size(rows) <= 32, "one bit of `present` each");

const row* find_row(std::uint64_t id) noexcept {
  if (id <= static_cast<std::uint64_t>(version_information)) return &rows[id];  // the first 18 have no holes
  const row* found = std::ranges::find(rows, static_cast<transport_parameter>(id), &row::id);
  return found != std::end(rows) ? found : nullptr;
}
static_assert(rows[static_cast<std::size_t>(version_information)].id == version_information);

std::uint32_t bit_of(const row& r) noexcept { return std::uint32_t{1} << (&r - rows); }

// ---- values, each from exactly its bytes

parse_errc read_integer(const row& r, byte_view value, parameter_encoding encoding, params& p) noexcept {
  byte_reader in(value);
  std::uint64_t number = 0;
  if (!in.varint(number) || !in.empty()) return parse_errc::bad_length;
  // Drafts before 25 did not have the least limit of 2, and real clients of them send 0.
  const bool lenient = encoding == parameter_encoding::sixteen_bits && r.id == active_connection_id_limit;
  if ((number < r.least && !lenient) || number > r.most) return parse_errc::bad_value;
  p.*r.number = number;
  return parse_errc::ok;
}

parse_errc read_preferred_address(byte_view value, preferred_address_value& out) noexcept {
  byte_reader in(value);
  byte_view ipv4;
  byte_view ipv6;
  std::uint8_t cid_size = 0;
  if (!in.bytes(out.ipv4.size(), ipv4) || !in.u16(out.ipv4_port) || !in.bytes(out.ipv6.size(), ipv6) ||
      !in.u16(out.ipv6_port) || !in.u8(cid_size))
    return parse_errc::bad_length;
  if (cid_size == 0 || cid_size > max_cid_size) return parse_errc::bad_value;  // RFC 9000 18.2: zero length is an error
  if (!in.bytes(cid_size, out.cid) || !in.bytes(token_size, out.stateless_reset_token) || !in.empty())
    return parse_errc::bad_length;
  std::ranges::copy(ipv4, out.ipv4.begin());
  std::ranges::copy(ipv6, out.ipv6.begin());
  return parse_errc::ok;
}

// RFC 9368 3, 4: zero is no version; and a client whose own choice is not on its list contradicts itself.
parse_errc read_version_information(byte_view value, sender from, version_information_value& out) noexcept {
  if (value.size() < 4 || value.size() % 4 != 0) return parse_errc::bad_length;
  const version_number chosen = base::load_be32(value.data());
  const byte_view available = value.subspan(4);
  if (chosen == 0 || lists_version(available, 0)) return parse_errc::bad_value;
  if (from == sender::client && !lists_version(available, chosen)) return parse_errc::bad_value;
  out = {chosen, available};
  return parse_errc::ok;
}

parse_errc read_value(const row& r, byte_view value, sender from, parameter_encoding encoding, params& p) noexcept {
  if (r.server_only && from == sender::client) return parse_errc::bad_value;  // RFC 9000 18.2
  switch (r.form) {
    case shape::integer:
      return read_integer(r, value, encoding, p);
    case shape::flag:
      if (!value.empty()) return parse_errc::bad_length;
      p.*r.flag = true;
      return parse_errc::ok;
    case shape::cid:
      if (value.size() > max_cid_size) return parse_errc::bad_length;
      p.*r.bytes = value;
      return parse_errc::ok;
    case shape::token:
      if (value.size() != token_size) return parse_errc::bad_length;
      p.*r.bytes = value;
      return parse_errc::ok;
    case shape::preferred_address:
      return read_preferred_address(value, p.preferred_address);
    case shape::version_information:
      return read_version_information(value, from, p.version_information);
  }
  return parse_errc::bad_value;
}

// Number, length and value of the next parameter, in either encoding.
bool read_parameter(byte_reader& in, parameter_encoding encoding, std::uint64_t& id, byte_view& value) noexcept {
  if (encoding == parameter_encoding::varints) {
    std::uint64_t size = 0;
    return in.varint(id) && in.varint(size) && in.bytes(size, value);
  }
  std::uint16_t short_id = 0;
  std::uint16_t size = 0;
  if (!in.u16(short_id) || !in.u16(size) || !in.bytes(size, value)) return false;
  id = short_id;
  return true;
}

parse_status read_list(byte_reader& in, sender from, parameter_encoding encoding, params& p) noexcept {
  while (!in.empty()) {
    const std::uint32_t at = in.offset();
    std::uint64_t id = 0;
    byte_view value;
    if (!read_parameter(in, encoding, id, value)) return {parse_errc::truncated, at};
    // RFC 9000 7.4: none may come twice. At most 64 comparisons.
    if (std::ranges::find(p.ids, id) != p.ids.end()) return {parse_errc::duplicate, at};
    if (!p.ids.push_back(id)) return {parse_errc::too_many, at};
    const row* known = find_row(id);
    if (known == nullptr) {
      ++(is_reserved_parameter(id) ? p.reserved_count : p.unknown_count);
      continue;
    }
    const parse_errc code = read_value(*known, value, from, encoding, p);
    if (code != parse_errc::ok) return {code, at};
    p.present |= bit_of(*known);
  }
  return {};
}

// RFC 9000 18.2: a server that does without connection IDs cannot be found at another address.
bool can_be_reached(const params& p) noexcept {
  return !p.has(preferred_address) || !p.has(initial_source_connection_id) || !p.initial_source_connection_id.empty();
}

// ---- the other direction

std::size_t value_size(const row& r, const params& p) noexcept {
  switch (r.form) {
    case shape::integer:
      return base::varint_size(p.*r.number);
    case shape::flag:
      return 0;
    case shape::cid:
    case shape::token:
      return (p.*r.bytes).size();
    case shape::preferred_address:
      return preferred_fixed_size + p.preferred_address.cid.size();
    case shape::version_information:
      return 4 + p.version_information.available.size();
  }
  return 0;
}

// Would parse() take the value that is about to be written?
bool is_valid(const row& r, const params& p, sender from) noexcept {
  if (r.server_only && from == sender::client) return false;
  switch (r.form) {
    case shape::integer:
      return p.*r.number >= r.least && p.*r.number <= r.most;
    case shape::flag:
      return p.*r.flag;
    case shape::cid:
      return (p.*r.bytes).size() <= max_cid_size;
    case shape::token:
      return (p.*r.bytes).size() == token_size;
    case shape::preferred_address:
      return !p.preferred_address.cid.empty() && p.preferred_address.cid.size() <= max_cid_size &&
             p.preferred_address.stateless_reset_token.size() == token_size;
    case shape::version_information: {
      const version_information_value& v = p.version_information;
      return v.chosen != 0 && v.available.size() % 4 == 0 && !lists_version(v.available, 0) &&
             (from == sender::server || lists_version(v.available, v.chosen));
    }
  }
  return false;
}

bool put_value(byte_writer& out, const row& r, const params& p) noexcept {
  switch (r.form) {
    case shape::integer:
      return out.varint(p.*r.number);
    case shape::flag:
      return true;
    case shape::cid:
    case shape::token:
      return out.bytes(p.*r.bytes);
    case shape::preferred_address: {
      const preferred_address_value& a = p.preferred_address;
      return out.bytes(a.ipv4) && out.u16(a.ipv4_port) && out.bytes(a.ipv6) && out.u16(a.ipv6_port) &&
             out.u8(static_cast<std::uint8_t>(a.cid.size())) && out.bytes(a.cid) && out.bytes(a.stateless_reset_token);
    }
    case shape::version_information:
      return out.u32(p.version_information.chosen) && out.bytes(p.version_information.available);
  }
  return false;
}

bool put_row(byte_writer& out, const row& r, const params& p) noexcept {
  return out.varint(static_cast<std::uint64_t>(r.id)) && out.varint(value_size(r, p)) && put_value(out, r, p);
}

// What is refused here would be refused by the peer: our own bug.
bool can_emit(const params& p, sender from) noexcept {
  bool good = can_be_reached(p);
  for (const row& r : rows) good = good && ((p.present & bit_of(r)) == 0 || is_valid(r, p, from));
  MILLRACE_ASSERT(good);
  return good;
}

// ---- disguise

// splitmix64: spreads a seed that is random already; no secret depends on it.
class noise {
  std::uint64_t state_;

 public:
  explicit noise(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t limit) noexcept { return static_cast<std::size_t>(next() % limit); }
};

struct grease {
  std::uint64_t id = 0;
  std::size_t size = 0;
  std::array<std::uint8_t, 16> value{};
  [[nodiscard]] std::size_t encoded_size() const noexcept {
    return base::varint_size(id) + base::varint_size(size) + size;
  }
};

grease make_grease(noise& random) noexcept {
  constexpr std::uint64_t numbers = (base::varint_max - 27) / 31 + 1;  // RFC 9000 18.1: 31 * N + 27
  grease g;
  g.id = 31 * (random.next() % numbers) + 27;
  g.size = random.below(g.value.size() + 1);
  for (std::uint8_t& byte : g.value) byte = static_cast<std::uint8_t>(random.next());
  return g;
}

bool put_grease(byte_writer& out, const grease& g) noexcept {
  return out.varint(g.id) && out.varint(g.size) && out.bytes(byte_view(g.value).first(g.size));
}

}  // namespace

parameter_encoding encoding_of(version_number v) noexcept {
  constexpr unsigned first_varint_draft = 27;
  const unsigned draft = draft_of(v);
  return draft != 0 && draft < first_varint_draft ? parameter_encoding::sixteen_bits : parameter_encoding::varints;
}

bool transport_parameters::has(transport_parameter id) const noexcept {
  const row* r = find_row(static_cast<std::uint64_t>(id));
  return r != nullptr && (present & bit_of(*r)) != 0;
}

void transport_parameters::set(transport_parameter id) noexcept {
  const row* r = find_row(static_cast<std::uint64_t>(id));
  MILLRACE_ASSERT(r != nullptr);
  if (r == nullptr) return;
  present |= bit_of(*r);
  if (r->form == shape::flag) this->*(r->flag) = true;
}

parse_status parse(byte_view body, sender from, parameter_encoding encoding, transport_parameters& out) noexcept {
  byte_reader in(body);
  if (encoding == parameter_encoding::sixteen_bits) {
    std::uint16_t size = 0;
    if (!in.u16(size)) return {parse_errc::truncated, 0};
    if (size > in.remaining()) return {parse_errc::truncated, 0};
    if (size < in.remaining()) return {parse_errc::trailing_bytes, 2u + size};
  }
  transport_parameters p;
  const parse_status status = read_list(in, from, encoding, p);
  if (!status) return status;
  if (!can_be_reached(p)) return {parse_errc::bad_value, in.offset()};
  out = p;
  return {};
}

std::size_t encoded_size(const transport_parameters& p) noexcept {
  std::size_t size = p.more.size();
  for (const row& r : rows) {
    if ((p.present & bit_of(r)) == 0) continue;
    const std::size_t value = value_size(r, p);
    size += base::varint_size(static_cast<std::uint64_t>(r.id)) + base::varint_size(value) + value;
  }
  return size;
}

bool emit(byte_writer& out, const transport_parameters& p, sender from) noexcept {
  base::byte_span room;
  if (!can_emit(p, from) || !out.reserve(encoded_size(p), room)) return false;
  byte_writer to(room);
  bool fits = true;
  for (const row& r : rows)
    if ((p.present & bit_of(r)) != 0) fits = fits && put_row(to, r, p);
  fits = fits && to.bytes(p.more);
  MILLRACE_ASSERT(fits && to.room() == 0);
  return fits;
}

std::size_t encoded_size(const transport_parameters& p, const parameter_shuffle& shuffle) noexcept {
  noise random(shuffle.seed);
  return encoded_size(p) + (shuffle.grease ? make_grease(random).encoded_size() : 0);
}

bool emit(byte_writer& out, const transport_parameters& p, sender from, const parameter_shuffle& shuffle) noexcept {
  base::byte_span room;
  if (!can_emit(p, from) || !out.reserve(encoded_size(p, shuffle), room)) return false;
  noise random(shuffle.seed);
  const grease extra = make_grease(random);
  constexpr std::size_t more_slot = std::size(rows);
  constexpr std::size_t grease_slot = more_slot + 1;
  base::fixed_vector<std::size_t, std::size(rows) + 2> order;
  const auto add = [&order](std::size_t slot) { static_cast<void>(order.push_back(slot)); };  // there is room for all
  for (const row& r : rows)
    if ((p.present & bit_of(r)) != 0) add(static_cast<std::size_t>(&r - rows));
  add(more_slot);
  if (shuffle.grease) add(grease_slot);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  byte_writer to(room);
  bool fits = true;
  for (const std::size_t slot : order)
    fits = fits && (slot == more_slot     ? to.bytes(p.more)
                    : slot == grease_slot ? put_grease(to, extra)
                                          : put_row(to, rows[slot], p));
  MILLRACE_ASSERT(fits && to.room() == 0);
  return fits;
}

bool confirms(const transport_parameters& p, sender from, const handshake_ids& seen) noexcept {
  const auto same = [&p](transport_parameter id, byte_view got, byte_view expected) {
    return p.has(id) && std::ranges::equal(got, expected);
  };
  if (!same(initial_source_connection_id, p.initial_source_connection_id, seen.initial_source)) return false;
  if (from == sender::client) return true;
  if (!same(original_destination_connection_id, p.original_destination_connection_id, seen.original_destination))
    return false;
  return seen.retried ? same(retry_source_connection_id, p.retry_source_connection_id, seen.retry_source)
                      : !p.has(retry_source_connection_id);
}

}  // namespace millrace::quic::wire
