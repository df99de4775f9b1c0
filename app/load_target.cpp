#include "app/load_target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "app/config.hpp"

namespace millrace::app {
namespace {

using base::ip_address;
using base::ip_family;

constexpr std::string_view later_schemes[] = {"srmp+tcp", "http", "ws"};
constexpr load_scheme schemes[] = {load_scheme::srmp_udp, load_scheme::srmp_quic, load_scheme::hq, load_scheme::h3};

std::optional<unsigned> read_number(std::string_view text, unsigned most) {
  unsigned value = 0;
  const auto [end, errc] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (errc != std::errc{} || end != text.data() + text.size() || text.empty() || value > most) return std::nullopt;
  return value;
}

base::failure refusal(const std::string& text, const std::string& why) {
  return {
      fmt::format("load: --target '{}': {}", text, why),
      "srmp+udp://ADDRESS:PORT or srmp+quic://ADDRESS:PORT, with /METHOD behind it for calls; hq://ADDRESS:PORT/PATH, "
      "h3://ADDRESS:PORT/PATH",
      true};
}

// What stands between "://" and the first slash. Answers what is wrong with it, or nothing.
std::string read_authority(std::string_view text, base::endpoint& where) {
  std::string_view host = text;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return "'[' without ']'";
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else if (const std::size_t at = text.find(':'); at != std::string_view::npos) {
    if (text.find(':', at + 1) != std::string_view::npos) return "an IPv6 address stands in brackets";
    host = text.substr(0, at);
    port = text.substr(at);
  }
  const auto address = ip_address::parse(host);
  if (!address) return fmt::format("'{}' is no IP address", host);
  if ((address->family == ip_family::v6) != text.starts_with('['))
    return "brackets are for IPv6 addresses, and only for them";
  where.address = *address;
  if (port.empty()) return {};
  const auto number = port.starts_with(':') ? read_number(port.substr(1), 65535) : std::nullopt;
  if (!number || *number == 0) return fmt::format("'{}' is no port", port);
  where.port = static_cast<std::uint16_t>(*number);
  return {};
}

}  // namespace

base::result<load_target> parse_load_target(const std::string& text) {
  const std::size_t colon = text.find("://");
  if (colon == std::string::npos) return refusal(text, "no scheme");
  const std::string_view named = std::string_view(text).substr(0, colon);
  load_target out;
  const auto* known = std::ranges::find_if(schemes, [&](load_scheme one) { return named == to_string(one); });
  if (known == std::end(schemes)) {
    const bool later = std::find(std::begin(later_schemes), std::end(later_schemes), named) != std::end(later_schemes);
    return refusal(text, fmt::format("the scheme '{}' is not {}", named,
                                     later ? "there yet, only srmp+udp, srmp+quic, hq and h3 are" : "known"));
  }
  out.scheme = *known;
  const std::string_view rest = std::string_view(text).substr(colon + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  out.where.port = is_over_quic(out.scheme) ? default_quic_port : default_srmp_port;
  if (const std::string wrong = read_authority(rest.substr(0, slash), out.where); !wrong.empty())
    return refusal(text, wrong);
  if (is_fetch(out.scheme))
    out.path = slash == rest.size() ? "/" : rest.substr(slash);
  else if (slash != rest.size())
    out.method = rest.substr(slash + 1);
  return out;
}

}  // namespace millrace::app
