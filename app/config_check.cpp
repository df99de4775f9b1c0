// What of a configuration contradicts itself. In the order of the file's sections; the first finding is the answer.
// net::check() judges each host once more at the end: it is the room's own word, without places.

#include <fmt/format.h>

#include "app/config.hpp"
#include "app/config_keys.hpp"
#include "env/text_file.hpp"
#include "http/wire/target.hpp"
#include "service/builtin.hpp"

namespace millrace::app {
namespace {

using base::failure;
using base::ip_address;
using base::ip_family;
using base::outcome;
namespace wire = net::wire;

class checker {
  const serve_config& c_;
  const config_origins& origins_;

  [[nodiscard]] failure refused(std::string_view path, const std::string& what, std::string hint = {}) const {
    return {origins_.of(path) + ": " + what, std::move(hint), true};
  }

  [[nodiscard]] outcome check_address(std::size_t number, std::size_t i) const {
    const net::host_address& a = c_.interfaces[number].host.addresses[i];
    const std::string path = fmt::format("interface.{}.address.{}", number, i);
    if (!wire::is_host_address(a.address)) return refused(path, to_text(a.address) + " is no address a host can have");
    // RFC 3021: with 31 bits both addresses are hosts; with less the first and the last are not.
    if (a.address.family == ip_family::v4 && a.prefix_length < 31) {
      if (a.address == wire::first_of_prefix(a.address, a.prefix_length))
        return refused(path, to_text(a) + " is the network itself", "give the address of a host in it");
      if (a.address == wire::last_of_prefix(a.address, a.prefix_length))
        return refused(path, to_text(a) + " is the broadcast address of its network",
                       "give the address of a host in it");
    }
    if (a.prefix_length == 0) return refused(path, to_text(a) + " makes the whole internet its own network");
    for (std::size_t other = 0; other <= number; ++other) {
      const auto& addresses = c_.interfaces[other].host.addresses;
      for (std::size_t j = 0; j < (other == number ? i : addresses.size()); ++j)
        if (addresses[j].address == a.address)
          return refused(path, fmt::format("{} is given twice, before at {}", to_text(a.address),
                                           origins_.of(fmt::format("interface.{}.address.{}", other, j))));
    }
    return base::done{};
  }

  [[nodiscard]] static bool is_on_link(const net::host_config& host, const ip_address& a) {
    if (wire::is_link_local(a)) return true;
    for (const net::host_address& own : host.addresses)
      if (wire::is_in_prefix(a, own.address, own.prefix_length)) return true;
    return false;
  }
  [[nodiscard]] static bool is_own(const net::host_config& host, const ip_address& a) {
    for (const net::host_address& own : host.addresses)
      if (own.address == a) return true;
    return false;
  }

  [[nodiscard]] outcome check_route(std::size_t number, std::size_t i) const {
    const net::host_config& host = c_.interfaces[number].host;
    const net::host_route& r = host.routes[i];
    const std::string path = fmt::format("interface.{}.route.{}", number, i);
    const std::string what =
        is_default_route(r) ? "gateway " + to_text(r.gateway) : "route " + to_text({r.prefix, r.prefix_length});
    const ip_address first = wire::first_of_prefix(r.prefix, r.prefix_length);
    if (r.prefix != first)
      return refused(path, what + " has bits behind its prefix",
                     "write " + to_text(net::host_address{first, r.prefix_length}));
    for (std::size_t j = 0; j < i; ++j)
      if (host.routes[j].prefix == r.prefix && host.routes[j].prefix_length == r.prefix_length)
        return refused(path, fmt::format("{}: there is one to the same prefix, at {}", what,
                                         origins_.of(fmt::format("interface.{}.route.{}", number, j))));
    if (r.gateway.family == ip_family::none) {
      if (r.prefix_length == 0) return refused(path, what + " puts the whole internet on the link", "give it a 'via'");
      return base::done{};
    }
    const std::string gateway = is_default_route(r) ? what : fmt::format("{}: gateway {}", what, to_text(r.gateway));
    if (r.gateway.family != r.prefix.family) return refused(path, gateway + " is of another IP version");
    if (!wire::is_host_address(r.gateway)) return refused(path, gateway + " is no address a router can have");
    if (is_own(host, r.gateway)) return refused(path, gateway + " is this interface's own address");
    if (!is_on_link(host, r.gateway))
      return refused(path, gateway + " cannot be reached: it is on none of the interface's networks", networks(host));
    return base::done{};
  }

  [[nodiscard]] static std::string networks(const net::host_config& host) {
    std::string all;
    for (const net::host_address& a : host.addresses) {
      const ip_address first = wire::first_of_prefix(a.address, a.prefix_length);
      const std::string one = to_text(net::host_address{first, a.prefix_length});
      if (all.find(one) == std::string::npos) all += (all.empty() ? "these are " : ", ") + one;
    }
    return all;
  }

  [[nodiscard]] outcome check_neighbour(std::size_t number, std::size_t i) const {
    const net::host_config& host = c_.interfaces[number].host;
    const net::static_neighbour& n = host.neighbours[i];
    const std::string path = fmt::format("interface.{}.neighbour.{}", number, i);
    const std::string what = "neighbour " + to_text(n.address);
    if (!wire::is_host_address(n.address)) return refused(path, what + " is no address a host can have");
    if (wire::is_group(n.mac) || wire::is_zero(n.mac))
      return refused(path, fmt::format("{}: {} is no MAC address a station can have", what, to_text(n.mac)));
    if (is_own(host, n.address)) return refused(path, what + " is this interface's own address");
    bool on_link = is_on_link(host, n.address);
    for (const net::host_route& r : host.routes)
      on_link |= r.gateway.family == ip_family::none && wire::is_in_prefix(n.address, r.prefix, r.prefix_length);
    if (!on_link) return refused(path, what + " is on none of the interface's networks", networks(host));
    for (std::size_t j = 0; j < i; ++j)
      if (host.neighbours[j].address == n.address)
        return refused(path, fmt::format("{} is given twice, before at {}", what,
                                         origins_.of(fmt::format("interface.{}.neighbour.{}", number, j))));
    return base::done{};
  }

  [[nodiscard]] outcome check_interface(std::size_t number) const {
    const interface_config& c = c_.interfaces[number];
    const std::string path = fmt::format("interface.{}", number);
    for (std::size_t other = 0; other < number; ++other)
      if (c_.interfaces[other].port == c.port)
        return refused(path + ".port", fmt::format("port {} is taken by the interface at {}", c.port,
                                                   origins_.of(fmt::format("interface.{}", other))));
    if (c.own_mac && (wire::is_group(c.host.mac) || wire::is_zero(c.host.mac)))
      return refused(path + ".mac", to_text(c.host.mac) + " is no MAC address a station can have");
    const auto& addresses = c.host.addresses;
    if (addresses.empty()) return refused(path + ".address", "the interface has no address");
    if (addresses.size() > net::max_addresses - 1)
      return refused(path + ".address", fmt::format("more than {} addresses", net::max_addresses - 1));
    for (std::size_t i = 0; i < addresses.size(); ++i)
      if (auto fine = check_address(number, i); !fine) return fine;
    if (c.host.routes.size() + addresses.size() + 2 > net::max_routes)
      return refused(path + ".route", fmt::format("more than {} routes, with those of the addresses", net::max_routes));
    for (std::size_t i = 0; i < c.host.routes.size(); ++i)
      if (auto fine = check_route(number, i); !fine) return fine;
    if (c.host.neighbours.size() > net::max_static_neighbours)
      return refused(path + ".neighbour", fmt::format("more than {} neighbours", net::max_static_neighbours));
    if (c.host.neighbours.size() > c_.limits.neighbours)
      return refused("limits.neighbours",
                     fmt::format("{} is less than the {} static neighbours of {}", c_.limits.neighbours,
                                 c.host.neighbours.size(), origins_.of(path)));
    for (std::size_t i = 0; i < c.host.neighbours.size(); ++i)
      if (auto fine = check_neighbour(number, i); !fine) return fine;
    return check_mtu(number);
  }

  [[nodiscard]] outcome check_mtu(std::size_t number) const {
    const interface_config& c = c_.interfaces[number];
    if (!c.own_mtu) return base::done{};
    const std::string path = fmt::format("interface.{}.mtu", number);
    bool v6 = false;
    for (const net::host_address& a : c.host.addresses) v6 |= a.address.family == ip_family::v6;
    if (v6 && c.host.mtu < 1280)  // RFC 8200 5
      return refused(path, fmt::format("{} is less than the 1280 that IPv6 needs", c.host.mtu));
    const unsigned headers = v6 ? 48 : 28;
    if (c_.srmp.batch_bytes + headers > c.host.mtu && c_.srmp.batch_bytes != 0)
      return refused("srmp.batch-bytes", fmt::format("{} bytes with headers are more than the MTU {} of {}",
                                                     c_.srmp.batch_bytes, c.host.mtu, origins_.of(path)));
    return base::done{};
  }

  [[nodiscard]] outcome check_preferred(std::string_view path, const ip_address& wanted) const {
    if (wanted.family == ip_family::none) return base::done{};
    for (const interface_config& c : c_.interfaces)
      if (is_own(c.host, wanted)) return base::done{};
    return refused(path, to_text(wanted) + " is none of the interfaces' addresses", "add it to one of them");
  }

  [[nodiscard]] outcome check_quic() const {
    const quic_config& q = c_.quic;
    if (q.cert.empty() != q.key.empty())
      return refused(q.cert.empty() ? "quic.key" : "quic.cert", "a certificate and its key belong together");
    const auto& t = q.endpoint.transport;
    if (t.connection_window_most < t.connection_window_bytes)
      return refused("quic.connection-window-most", "it is less than connection-window");
    if (t.stream_window_most < t.stream_window_bytes)
      return refused("quic.stream-window-most", "it is less than stream-window");
    if (q.endpoint.handshakes > q.endpoint.connections)
      return refused("quic.handshakes", "there are more of them than connections");
    // Keys cannot rest while a handshake is under way.
    if (q.endpoint.awake_keys != 0 && q.endpoint.awake_keys < q.endpoint.handshakes)
      return refused("quic.awake-keys", "there are fewer of them than handshakes");
    if (auto fine = check_preferred("quic.preferred-ipv4", t.preferred_ipv4.address); !fine) return fine;
    if (auto fine = check_preferred("quic.preferred-ipv6", t.preferred_ipv6.address); !fine) return fine;
    return base::done{};
  }

  // A place that a request can name, and that is not taken.
  [[nodiscard]] outcome check_directory(std::size_t i) const {
    const service::site_directory& d = c_.http.directories[i];
    const std::string path = fmt::format("http.directory.{}", i);
    std::vector<char> scratch(d.path.size());
    const bool is_normal = http::wire::normalize_path(service::percent_encoded(d.path), scratch).path == d.path;
    if (!is_normal || !d.path.starts_with('/') || d.path.find_first_of("{}") != std::string::npos ||
        (d.path.ends_with('/') && d.path != "/"))
      return refused(path + ".path", describe(config_value(d.path)) + " is no path that a directory can have",
                     "like \"/\" or \"/docs\": a slash in front, none behind, no braces, no segment that is a dot");
    for (const std::string_view builtin : service::reserved_paths)
      if (d.path == builtin) return refused(path + ".path", d.path + " is a built-in endpoint");
    if (d.path == "/" && !c_.quic.root.empty())
      return refused(path + ".path", "/ is the root's already, given at " + origins_.of("quic.root"));
    for (std::size_t j = 0; j < i; ++j)
      if (c_.http.directories[j].path == d.path)
        return refused(path + ".path", fmt::format("{} is given twice, before at {}", d.path,
                                                   origins_.of(fmt::format("http.directory.{}.path", j))));
    if (!env::is_directory(d.root)) return refused(path + ".root", describe(config_value(d.root)) + " is no directory");
    return base::done{};
  }

  [[nodiscard]] outcome check_whole() const {
    if (c_.srmp.port != 0 && c_.srmp.port == c_.echo_port)
      return refused("echo-port",
                     fmt::format("UDP port {} is SRMP's already, at {}", c_.echo_port, origins_.of("srmp-port")));
    if (c_.quic.port != 0 && c_.quic.port == c_.echo_port)
      return refused("echo-port",
                     fmt::format("UDP port {} is QUIC's already, at {}", c_.echo_port, origins_.of("quic-port")));
    if (c_.quic.port != 0 && c_.quic.port == c_.srmp.port)
      return refused("quic-port",
                     fmt::format("UDP port {} is SRMP's already, at {}", c_.quic.port, origins_.of("srmp-port")));
    if (auto fine = check_quic(); !fine) return fine;
    for (std::size_t i = 0; i < c_.http.directories.size(); ++i)
      if (auto fine = check_directory(i); !fine) return fine;
    if (c_.limits.pending_frames < c_.limits.pending_per_neighbour)
      return refused("limits.pending-frames", fmt::format("{} is less than pending-per-neighbour, which is {}",
                                                          c_.limits.pending_frames, c_.limits.pending_per_neighbour));
    for (std::size_t i = 0; i < c_.lcores.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (c_.lcores[i] == c_.lcores[j])
          return refused(fmt::format("lcores.{}", i), fmt::format("lcore {} is given twice", c_.lcores[i]));
    return base::done{};
  }

 public:
  checker(const serve_config& c, const config_origins& origins) : c_(c), origins_(origins) {}

  [[nodiscard]] outcome check() const {
    if (auto fine = check_whole(); !fine) return fine;
    for (std::size_t i = 0; i < c_.interfaces.size(); ++i) {
      if (auto fine = check_interface(i); !fine) return fine;
      net::host_config host = c_.interfaces[i].host;
      host.limits = c_.limits;
      if (!c_.interfaces[i].own_mac) host.mac = {{0x02, 0, 0, 0, 0, 1}};  // the port's is not known yet
      if (auto fine = net::check(host); !fine)
        return refused(fmt::format("interface.{}", i), fine.error().what, fine.error().hint);
    }
    return base::done{};
  }
};

}  // namespace

outcome check_config(const serve_config& config, const config_origins& origins) {
  return checker(config, origins).check();
}

}  // namespace millrace::app
