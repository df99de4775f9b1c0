#include "srmp.hpp"

#include <strings.h>

#include <algorithm>
#include <stdexcept>

namespace millrace::peers {
namespace {

void put32(bytes& out, std::uint32_t number) {
  for (unsigned shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::uint8_t>(number >> shift));
}

std::uint32_t get32(byte_view from) {
  return from[0] | std::uint32_t{from[1]} << 8 | std::uint32_t{from[2]} << 16 | std::uint32_t{from[3]} << 24;
}

bool is_called(const std::string& name, const char* method) { return ::strcasecmp(name.c_str(), method) == 0; }

bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

bytes emit_srmp(std::uint8_t flags, std::uint8_t seq, byte_view payload) {
  bytes out = {flags, seq};
  const bool is_long = payload.size() > 65534;
  const std::size_t short_size = is_long ? 0xFFFF : payload.size();
  out.push_back(static_cast<std::uint8_t>(short_size & 0xFF));
  out.push_back(static_cast<std::uint8_t>(short_size >> 8));
  if (is_long) put32(out, static_cast<std::uint32_t>(payload.size()));
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

void srmp_reader::add(byte_view data) {
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  held_.insert(held_.end(), data.begin(), data.end());
}

std::optional<srmp_frame> srmp_reader::next() {
  const byte_view left = byte_view(held_).subspan(at_);
  if (left.size() < 4) return {};
  std::size_t header = 4;
  std::size_t size = left[2] | std::size_t{left[3]} << 8;
  if (size == 0xFFFF) {
    header = 8;
    if (left.size() < header) return {};
    size = get32(left.subspan(4));
  }
  if (size > most_srmp_payload) throw std::runtime_error("SRMP frame of " + std::to_string(size) + " bytes");
  if (left.size() < header + size) return {};
  const byte_view payload = left.subspan(header, size);
  at_ += header + size;
  return srmp_frame{left[0], left[1], {payload.begin(), payload.end()}};
}

bytes emit_rpc(const rpc& call, bool is_error) {
  bytes out;
  std::size_t size = call.name.size();
  for (; size > 0x7F; size >>= 7) out.push_back(static_cast<std::uint8_t>((size & 0x7F) | 0x80));
  out.push_back(static_cast<std::uint8_t>(size));
  out.insert(out.end(), call.name.begin(), call.name.end());
  if (is_error) put32(out, static_cast<std::uint32_t>(call.code));
  if (call.data && !call.data->empty()) {
    put32(out, static_cast<std::uint32_t>(call.data->size()));
    out.insert(out.end(), call.data->begin(), call.data->end());
  }
  return out;
}

std::optional<rpc> parse_rpc(byte_view payload, bool is_error) {
  std::size_t at = 0;
  std::uint64_t size = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (at == payload.size() || shift > 28) return {};
    size |= std::uint64_t{payload[at] & 0x7Fu} << shift;
    if (payload[at++] < 0x80) break;
  }
  if (size == 0 || size > payload.size() - at) return {};
  rpc call;
  call.name.assign(reinterpret_cast<const char*>(payload.data()) + at, static_cast<std::size_t>(size));
  if (std::any_of(call.name.begin(), call.name.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x7F; }))
    return {};
  byte_view rest = payload.subspan(at + static_cast<std::size_t>(size));
  if (is_error) {
    if (rest.size() < 4) return {};
    call.code = static_cast<std::int32_t>(get32(rest));
    rest = rest.subspan(4);
  }
  if (rest.empty()) return call;
  if (rest.size() < 4) return {};
  const auto length = static_cast<std::int32_t>(get32(rest));
  rest = rest.subspan(4);
  if (length <= 0) return call;
  if (static_cast<std::size_t>(length) > rest.size()) return {};
  call.data.emplace(rest.begin(), rest.begin() + length);
  return call;
}

bytes answer_srmp(const srmp_frame& frame) {
  if (frame.what() != srmp_request) return {};
  const std::optional<rpc> call = parse_rpc(frame.payload, false);
  if (!call) return {};
  const std::uint8_t kind = frame.flags & 0x3F;
  if (is_called(call->name, "Echo")) return emit_srmp(srmp_reply | kind, frame.seq, emit_rpc(*call, false));
  if (is_called(call->name, "Api/All"))
    return emit_srmp(
        srmp_reply | kind, frame.seq,
        emit_rpc({call->name, 0, bytes_of(R"x(["String[] Api/All()","Object Echo(Object value)"])x")}, false));
  return emit_srmp(srmp_error | kind, frame.seq, emit_rpc({call->name, 404, bytes_of("no such method")}, true));
}

}  // namespace millrace::peers
