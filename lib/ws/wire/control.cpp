#include "ws/wire/control.hpp"

#include "ws/wire/mask.hpp"
#include "ws/wire/utf8.hpp"

namespace millrace::ws::wire {

close_errc parse_close(base::byte_view payload, close_body& out) noexcept {
  if (payload.empty()) {
    out = {};
    return close_errc::ok;
  }
  if (payload.size() == 1) return close_errc::one_byte;
  const std::uint16_t code = base::load_be16(payload.data());
  if (!may_be_sent(code)) return close_errc::code_not_on_wire;
  const base::byte_view reason = payload.subspan(2);
  if (!is_utf8(reason)) return close_errc::reason_not_utf8;
  out = {code, reason};
  return close_errc::ok;
}

std::size_t emit_control(base::byte_span out, opcode op, base::byte_view payload, control_mask mask) noexcept {
  close_body checked;
  if (op == opcode::close && parse_close(payload, checked) != close_errc::ok) return 0;
  const std::size_t header_size = header_size_for(payload.size(), mask.is_masked);
  if (!is_control(op) || payload.size() > max_control_payload || out.size() < header_size + payload.size()) return 0;
  frame_header header;
  header.payload_size = payload.size();
  header.mask_key = mask.key;
  header.op = op;
  header.fin = true;
  header.is_masked = mask.is_masked;
  const std::size_t at = emit_header(out.data(), header);
  const base::byte_span body = out.subspan(at, payload.size());
  if (!payload.empty()) std::memcpy(body.data(), payload.data(), payload.size());
  if (mask.is_masked) wire::mask(body, mask.key);
  return at + payload.size();
}

std::size_t emit_close(base::byte_span out, std::uint16_t code, base::byte_view reason, control_mask mask) noexcept {
  if (code == 0) return reason.empty() ? emit_control(out, opcode::close, {}, mask) : 0;
  if (!may_be_sent(code) || reason.size() > max_close_reason || !is_utf8(reason)) return 0;
  std::uint8_t body[max_control_payload];
  base::store_be16(body, code);
  if (!reason.empty()) std::memcpy(body + 2, reason.data(), reason.size());
  return emit_control(out, opcode::close, base::byte_view(body, 2 + reason.size()), mask);
}

}  // namespace millrace::ws::wire
