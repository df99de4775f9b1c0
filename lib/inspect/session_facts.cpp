#include "inspect/session_facts.hpp"

namespace millrace::inspect {
namespace {

#define MILLRACE_NAME_ITEM(name) #name,
constexpr std::string_view frame_names[] = {MILLRACE_FRAME_KINDS(MILLRACE_NAME_ITEM)};
constexpr std::string_view handshake_names[] = {MILLRACE_HANDSHAKE_KINDS(MILLRACE_NAME_ITEM)};
constexpr std::string_view h3_frame_names[] = {MILLRACE_H3_FRAME_KINDS(MILLRACE_NAME_ITEM)};
constexpr std::string_view h3_stream_names[] = {MILLRACE_H3_STREAM_KINDS(MILLRACE_NAME_ITEM)};
constexpr std::string_view unopened_names[] = {MILLRACE_UNOPENED_KINDS(MILLRACE_NAME_ITEM)};
constexpr std::string_view limit_names[] = {MILLRACE_SESSION_LIMITS(MILLRACE_NAME_ITEM)};
#undef MILLRACE_NAME_ITEM
constexpr std::string_view level_names[] = {"initial", "zero_rtt", "handshake", "one_rtt"};

template <class Kind, std::size_t Count>
std::string_view name_of(const std::string_view (&names)[Count], Kind k) noexcept {
  static_assert(Count == static_cast<std::size_t>(Kind::count_));
  const auto i = static_cast<std::size_t>(k);
  return i < Count ? names[i] : "unknown";
}

}  // namespace

std::string_view to_string(frame_kind k) noexcept { return name_of(frame_names, k); }
std::string_view to_string(handshake_kind k) noexcept { return name_of(handshake_names, k); }
std::string_view to_string(h3_frame_kind k) noexcept { return name_of(h3_frame_names, k); }
std::string_view to_string(h3_stream_kind k) noexcept { return name_of(h3_stream_names, k); }
std::string_view to_string(unopened_kind k) noexcept { return name_of(unopened_names, k); }
std::string_view to_string(session_limit k) noexcept { return name_of(limit_names, k); }
std::string_view to_string(packet_level k) noexcept { return name_of(level_names, k); }

}  // namespace millrace::inspect
