#include "app/config.hpp"

#include <array>
#include <charconv>

#include "base/hex.hpp"
#include "port/facts.hpp"

namespace millrace::app {

using base::ip_address;
using base::ip_family;

namespace {

constexpr std::array<std::uint8_t, 4> default_v4{198, 18, 0, 1};
constexpr std::array<std::uint8_t, 16> default_v6{0x20, 0x01, 0x0D, 0xB8, 0, 0x18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

}  // namespace

std::vector<net::host_address> default_addresses() {
  return {{ip_address::v4(default_v4), 24}, {ip_address::v6(default_v6), 64}};
}

serve_config default_config() {
  serve_config c;
  c.interfaces.resize(1);
  c.interfaces[0].host.addresses = default_addresses();
  return c;
}

std::vector<service::site_directory> directories_of(const serve_config& config) {
  std::vector<service::site_directory> all = config.http.directories;
  if (!config.quic.root.empty()) all.insert(all.begin(), {"/", config.quic.root});
  return all;
}

net::host_route default_route(const ip_address& gateway) noexcept {
  net::host_route r;
  r.prefix.family = gateway.family;
  r.gateway = gateway;
  return r;
}

bool is_default_route(const net::host_route& r) noexcept {
  return r.prefix_length == 0 && r.gateway.family != ip_family::none;
}

// --- where values came from ---

void config_origins::erase(std::string_view path) {
  const std::string below = std::string(path) + '.';
  std::erase_if(places_, [&](const auto& one) { return one.first == path || one.first.starts_with(below); });
}

std::string config_origins::of(std::string_view path) const {
  for (;;) {
    if (const auto found = places_.find(path); found != places_.end()) return found->second;
    if (path.empty()) return "the default configuration";
    const std::size_t dot = path.rfind('.');
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
  }
}

// --- spelling ---

std::optional<net::host_address> parse_cidr(std::string_view text) {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = ip_address::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const std::string_view digits = text.substr(slash + 1);
  unsigned length = 0;
  const auto [end, errc] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (errc != std::errc{} || end != digits.data() + digits.size() || length > net::wire::address_bits(address->family))
    return std::nullopt;
  return net::host_address{*address, static_cast<std::uint8_t>(length)};
}

std::optional<net::wire::mac_address> parse_mac(std::string_view text) {
  net::wire::mac_address mac;
  if (text.size() != 17) return std::nullopt;
  for (std::size_t i = 0; i < 6; ++i) {
    const int high = base::hex_digit(text[3 * i]);
    const int low = base::hex_digit(text[3 * i + 1]);
    if (high < 0 || low < 0 || (i < 5 && text[3 * i + 2] != ':')) return std::nullopt;
    mac.octets[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return mac;
}

std::string to_text(const ip_address& address) {
  std::array<char, ip_address::max_text_size> room{};
  return {room.data(), address.format_to(room)};
}

std::string to_text(const net::host_address& address) {
  return to_text(address.address) + "/" + std::to_string(address.prefix_length);
}

std::string to_text(const net::wire::mac_address& mac) { return port::to_string(mac.octets); }

}  // namespace millrace::app
