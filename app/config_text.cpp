// A configuration as TOML, every key with its comment. Reading it back gives the same values.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/config.hpp"
#include "app/config_keys.hpp"

namespace millrace::app {
namespace {

constexpr std::size_t comment_column = 40;

class toml_text {
  std::string text_;

 public:
  void line(const std::string& statement, std::string_view comment) {
    text_ += statement;
    if (!comment.empty()) {
      text_.append(statement.size() < comment_column ? comment_column - statement.size() : 1, ' ');
      text_ += "# ";
      text_ += comment;
    }
    text_ += '\n';
  }
  void key(std::string_view name, std::string_view value, std::string_view comment) {
    line(fmt::format("{} = {}", name, value), comment);
  }
  void heading(std::string_view name, std::string_view comment) {
    text_ += '\n';
    line(std::string(name), comment);
  }
  void keys(const config_keys& rows) {
    for (const config_key& row : rows) key(row.name, row.print(), row.comment);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }
};

template <class Items, class Text>
std::string list(const Items& items, Text text) {
  std::string all = "[";
  for (const auto& one : items) all += (all.size() > 1 ? ", " : "") + text(one);
  return all + "]";
}

void add_interface(toml_text& out, interface_config& c) {
  out.heading("[[interface]]", "a port and who answers there");
  const config_keys rows = interface_keys(c);
  out.keys({rows.begin(), rows.begin() + 1});  // which port it is stands first
  out.key("address", list(c.host.addresses, [](const net::host_address& a) { return quoted(to_text(a)); }),
          "with their prefixes");
  std::vector<net::host_route> gateways;
  std::copy_if(c.host.routes.begin(), c.host.routes.end(), std::back_inserter(gateways), is_default_route);
  out.key("gateway", list(gateways, [](const net::host_route& r) { return quoted(to_text(r.gateway)); }),
          "to everywhere else, one of each IP version");
  out.keys({rows.begin() + 1, rows.end()});
  for (const net::host_route& r : c.host.routes) {
    if (is_default_route(r)) continue;
    out.heading("[[interface.route]]", r.gateway.family == base::ip_family::none ? "on the link" : "by a gateway");
    out.key("to", quoted(to_text(net::host_address{r.prefix, r.prefix_length})), "");
    if (r.gateway.family != base::ip_family::none) out.key("via", quoted(to_text(r.gateway)), "");
  }
  for (const net::static_neighbour& n : c.host.neighbours) {
    out.heading("[[interface.neighbour]]", "never asked for, never forgotten");
    out.key("address", quoted(to_text(n.address)), "");
    out.key("mac", quoted(to_text(n.mac)), "");
  }
}

}  // namespace

std::string to_toml(const serve_config& config) {
  serve_config c = config;  // rows bind to what they could change
  toml_text out;
  out.keys(top_keys(c));
  out.key("lcores", list(c.lcores, [](unsigned lcore) { return std::to_string(lcore); }),
          "that run a loop; empty: all workers");
  for (interface_config& one : c.interfaces) add_interface(out, one);
  out.heading("[srmp]", "");
  out.keys(srmp_keys(c.srmp));
  out.heading("[srmp.peers]", "where generations of peers differ");
  out.keys(peer_keys(c.srmp.peers));
  out.heading("[rpc]", "limits of calls");
  out.keys(rpc_keys(c.srmp.rpc));
  out.heading("[quic]", "times in seconds");
  out.keys(quic_keys(c.quic));
  out.heading("[http]", "files that are served, from memory");
  out.keys(http_keys(c.http));
  for (service::site_directory& d : c.http.directories) {
    out.heading("[[http.directory]]", "");
    out.keys(directory_keys(d));
  }
  out.heading("[limits]", "what is kept for strangers, of each interface and lcore; times in seconds");
  out.keys(limit_keys(c.limits));
  out.heading("[loop]", "");
  out.keys(loop_keys(c.loop));
  out.heading("[pool]", "packet memory");
  out.keys(pool_keys(c.pool));
  return out.take();
}

}  // namespace millrace::app
