// Boxes in boxes: every vector of TLS (RFC 8446 3.4) is a length and that many bytes, so each reader gets exactly the
// bytes of its box and must use them up. A box that reaches beyond the one around it is bad_length; only the outermost
// can be truncated.
#include "tls/wire/client_hello.hpp"

#include <algorithm>

#include "base/byte_reader.hpp"
#include "tls/wire/extension_type.hpp"

namespace millrace::tls::wire {
namespace {

using base::byte_reader;
using base::byte_view;
using base::parse_errc;
using base::parse_status;

// A reader of one box that still knows where in the message it stands.
struct box {
  byte_reader in;
  std::uint32_t start = 0;

  box() noexcept = default;
  box(byte_view bytes, std::uint32_t offset) noexcept : in(bytes), start(offset) {}
  [[nodiscard]] std::uint32_t at() const noexcept { return start + in.offset(); }
  [[nodiscard]] parse_status fail(parse_errc code) const noexcept { return {code, at()}; }

  // The box whose length, 1 or 2 bytes, comes next.
  [[nodiscard]] bool open8(box& inner) noexcept {
    byte_reader next = in;
    std::uint8_t size = 0;
    return next.u8(size) && take(next, size, inner);
  }
  [[nodiscard]] bool open16(box& inner) noexcept {
    byte_reader next = in;
    std::uint16_t size = 0;
    return next.u16(size) && take(next, size, inner);
  }

 private:
  [[nodiscard]] bool take(byte_reader next, std::size_t size, box& inner) noexcept {
    const std::uint32_t offset = start + next.offset();
    byte_view bytes;
    if (!next.bytes(size, bytes)) return false;
    inner = box(bytes, offset);
    in = next;
    return true;
  }
};

// A list of 16-bit numbers that fills `list`: cipher suites, versions, algorithms. Never empty.
template <std::size_t Capacity>
parse_status read_numbers(const box& list, base::fixed_vector<std::uint16_t, Capacity>& out) noexcept {
  const byte_view bytes = list.in.rest();
  if (bytes.empty() || bytes.size() % 2 != 0) return list.fail(parse_errc::bad_length);
  if (bytes.size() / 2 > Capacity) return list.fail(parse_errc::too_many);
  for (std::size_t i = 0; i < bytes.size(); i += 2)
    if (!out.push_back(base::load_be16(bytes.data() + i))) return list.fail(parse_errc::too_many);
  return {};
}

// RFC 6066 3: a list of (type, name); of each type at most one, and only host_name was ever defined.
parse_status read_server_name(box body, client_hello& h) noexcept {
  box list;
  if (!body.open16(list) || list.in.empty()) return body.fail(parse_errc::bad_length);
  if (!body.in.empty()) return body.fail(parse_errc::trailing_bytes);
  while (!list.in.empty()) {
    const parse_status broken = list.fail(parse_errc::bad_length);
    std::uint8_t type = 0;
    box name;
    if (!list.in.u8(type) || !list.open16(name)) return broken;
    if (type != name_type_host) continue;
    if (h.has_sni) return {parse_errc::duplicate, broken.at};
    if (name.in.empty()) return name.fail(parse_errc::bad_length);
    const byte_view bytes = name.in.rest();
    // ASCII without blanks and controls: nothing else can be a host name, and some of it would fool who prints it.
    const auto* bad =
        std::find_if(bytes.data(), bytes.data() + bytes.size(), [](std::uint8_t c) { return c <= 0x20 || c >= 0x7F; });
    if (bad != bytes.data() + bytes.size())
      return {parse_errc::bad_value, name.start + static_cast<std::uint32_t>(bad - bytes.data())};
    h.sni = base::as_text(bytes);
    h.has_sni = true;
  }
  return {};
}

// RFC 7301 3.1: names of 1 to 255 bytes, at least one. What is in them is the peer's choice.
parse_status read_alpn(box body, client_hello& h) noexcept {
  box list;
  if (!body.open16(list) || list.in.empty()) return body.fail(parse_errc::bad_length);
  if (!body.in.empty()) return body.fail(parse_errc::trailing_bytes);
  while (!list.in.empty()) {
    box name;
    if (!list.open8(name) || name.in.empty()) return list.fail(parse_errc::bad_length);
    if (!h.alpn.push_back(base::as_text(name.in.rest()))) return name.fail(parse_errc::too_many);
  }
  return {};
}

parse_status read_supported_versions(box body, client_hello& h) noexcept {  // RFC 8446 4.2.1
  box list;
  if (!body.open8(list)) return body.fail(parse_errc::bad_length);
  if (!body.in.empty()) return body.fail(parse_errc::trailing_bytes);
  return read_numbers(list, h.supported_versions);
}

parse_status read_signature_algorithms(box body, client_hello& h) noexcept {  // RFC 8446 4.2.3
  box list;
  if (!body.open16(list)) return body.fail(parse_errc::bad_length);
  if (!body.in.empty()) return body.fail(parse_errc::trailing_bytes);
  return read_numbers(list, h.signature_algorithms);
}

parse_status read_extension(std::uint16_t type, const box& body, client_hello& h) noexcept {
  switch (type) {
    case ext_server_name:
      return read_server_name(body, h);
    case ext_alpn:
      return read_alpn(body, h);
    case ext_supported_versions:
      return read_supported_versions(body, h);
    case ext_signature_algorithms:
      return read_signature_algorithms(body, h);
    case ext_quic_transport_parameters:
      h.transport_parameters = body.in.rest();
      h.has_transport_parameters = true;
      return {};
    case ext_quic_transport_parameters_draft:
      // A client that sends both numbers means the final one.
      if (!h.has_transport_parameters) h.transport_parameters = body.in.rest();
      h.has_transport_parameters = true;
      return {};
    default:
      return {};
  }
}

parse_status read_extensions(box list, client_hello& h) noexcept {
  while (!list.in.empty()) {
    const std::uint32_t start = list.at();
    std::uint16_t type = 0;
    box body;
    if (!list.in.u16(type) || !list.open16(body)) return {parse_errc::bad_length, start};
    // RFC 8446 4.2: never two of one type. At most max_extensions comparisons of an array that lies in one line.
    if (std::ranges::find(h.extensions, type) != h.extensions.end()) return {parse_errc::duplicate, start};
    if (!h.extensions.push_back(type)) return {parse_errc::too_many, start};
    const parse_status status = read_extension(type, body, h);
    if (!status) return status;
  }
  return {};
}

parse_status read_body(box& in, client_hello& h) noexcept {  // RFC 8446 4.1.2
  box session;
  box suites;
  box compression;
  if (!in.in.u16(h.legacy_version) || !in.in.bytes(hello_random_size, h.random)) return in.fail(parse_errc::bad_length);
  if (!in.open8(session) || session.in.remaining() > max_session_id_size) return in.fail(parse_errc::bad_length);
  h.session_id = session.in.rest();
  if (!in.open16(suites)) return in.fail(parse_errc::bad_length);
  const parse_status status = read_numbers(suites, h.cipher_suites);
  if (!status) return status;
  if (!in.open8(compression) || compression.in.empty()) return in.fail(parse_errc::bad_length);
  if (in.in.empty()) return {};  // RFC 5246 7.4.1.2: before TLS 1.3 a hello may end here
  box extensions;
  if (!in.open16(extensions)) return in.fail(parse_errc::bad_length);
  if (!in.in.empty()) return in.fail(parse_errc::trailing_bytes);
  return read_extensions(extensions, h);
}

}  // namespace

parse_status parse_client_hello(byte_view message, client_hello& out) noexcept {
  byte_reader header(message);
  std::uint8_t type = 0;
  std::uint32_t size = 0;
  if (!header.u8(type)) return {parse_errc::truncated, 0};
  if (type != handshake_client_hello) return {parse_errc::bad_value, 0};
  if (!header.u24(size)) return {parse_errc::truncated, 1};
  if (header.remaining() < size) return {parse_errc::truncated, static_cast<std::uint32_t>(message.size())};
  if (header.remaining() > size)
    return {parse_errc::trailing_bytes, static_cast<std::uint32_t>(handshake_header_size) + size};
  client_hello h;
  box body(header.rest(), handshake_header_size);
  const parse_status status = read_body(body, h);
  if (status) out = h;
  return status;
}

std::size_t handshake_message_size(byte_view stream, bool& is_client_hello) noexcept {
  is_client_hello = false;
  if (stream.size() < handshake_header_size) return 0;
  is_client_hello = stream[0] == handshake_client_hello;
  return handshake_header_size + base::load_be24(stream.data() + 1);
}

}  // namespace millrace::tls::wire
