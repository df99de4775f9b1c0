#include "tls/remembered_session.hpp"

#include <limits>

#include "base/byte_reader.hpp"

namespace millrace::tls {
namespace {

constexpr std::uint8_t format = 1;  // changes with the layout: old runs are then no sessions

bool append_vector(byte_store& out, base::byte_view bytes) noexcept {
  if (bytes.size() > std::numeric_limits<std::uint16_t>::max()) return false;
  return out.append(static_cast<std::uint8_t>(bytes.size() >> 8)) &&
         out.append(static_cast<std::uint8_t>(bytes.size() & 0xff)) && out.append(bytes);
}

bool read_vector(base::byte_reader& in, base::byte_view& out) noexcept {
  std::uint16_t size = 0;
  return in.u16(size) && in.bytes(size, out);
}

}  // namespace

bool emit(byte_store& out, const remembered_session& session) noexcept {
  out.clear();
  const bool written = out.append(format) && out.append(static_cast<std::uint8_t>(session.early_data ? 1 : 0)) &&
                       append_vector(out, base::as_bytes(session.protocol)) &&
                       append_vector(out, session.transport_parameters) && append_vector(out, session.ticket);
  if (!written) out.clear();
  return written;
}

bool parse(base::byte_view bytes, remembered_session& out) noexcept {
  base::byte_reader in(bytes);
  std::uint8_t kind = 0;
  std::uint8_t early = 0;
  base::byte_view protocol;
  remembered_session s;
  if (!in.u8(kind) || kind != format || !in.u8(early) || early > 1 || !read_vector(in, protocol) ||
      !read_vector(in, s.transport_parameters) || !read_vector(in, s.ticket) || !in.empty()) {
    return false;
  }
  s.early_data = early != 0;
  s.protocol = base::as_text(protocol);
  out = s;
  return true;
}

}  // namespace millrace::tls
