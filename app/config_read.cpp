// From a TOML file to a serve_config. The tree that toml++ makes is walked once; every key must be known. All refusals
// are noted and the one that stands first in the file is told: tables are sorted, so finding order is not file order.

#include <fmt/format.h>

// toml++ 3.3 asserts, or lets the compiler assume, what a wrong file makes untrue ("a.+b = 1"), in front of checks that
// refuse it. Here the checks alone decide.
#include <toml++/impl/preprocessor.h>
#undef TOML_ASSERT
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT(expr)        static_assert(true)
#define TOML_ASSERT_ASSUME(expr) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "app/command_line.hpp"
#include "app/config.hpp"
#include "app/config_keys.hpp"
#include "env/text_file.hpp"

namespace millrace::app {
namespace {

using base::failure;
using base::ip_address;

using names = std::vector<std::string_view>;

struct refusal {
  toml::source_position at;
  failure why;
};

bool is_before(const toml::source_position& a, const toml::source_position& b) {
  return a.line != b.line ? a.line < b.line : a.column < b.column;
}

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "table";
    case toml::node_type::array:
      return "array";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "date";
    default:
      return "value";
  }
}

config_value value_of(const toml::node& node) {
  if (const auto* b = node.as_boolean()) return b->get();
  if (const auto* i = node.as_integer()) return i->get();
  if (const auto* d = node.as_floating_point()) return d->get();
  if (const auto* s = node.as_string()) return s->get();
  return other_type{type_name(node)};
}

class config_reader {
  const std::string& name_;
  serve_config config_ = default_config();
  config_origins origins_;
  std::optional<refusal> first_;

  [[nodiscard]] std::string place(const toml::source_position& at) const {
    return fmt::format("{}:{}:{}", name_, at.line, at.column);
  }
  void note(std::string path, const toml::node& node) { origins_.set(std::move(path), place(node.source().begin)); }

  void refuse(const toml::source_position& at, const std::string& what, std::string hint = {}) {
    if (first_ && !is_before(at, first_->at)) return;
    first_ = refusal{at, {place(at) + ": " + what, std::move(hint), true}};
  }
  void refuse_value(std::string_view key, const toml::node& node, const std::string& wanted) {
    refuse(node.source().begin, std::string(key) + " is " + wanted + ", not " + describe(value_of(node)));
  }
  void refuse_key(const toml::key& key, const names& known) {
    const std::string_view near = nearest(key.str(), known);
    std::string all;
    for (const std::string_view one : known) env::add_item(all, one);
    refuse(key.source().begin, "there is no key " + describe(config_value(std::string(key.str()))) + " here",
           near.empty() ? "keys here are: " + all : "did you mean '" + std::string(near) + "'?");
  }

  // All of a table: single values by `keys`, the others by `more`, which answers whether it knows the key.
  template <class More>
  void take_table(const toml::table& table, const std::string& path, const config_keys& keys, const names& others,
                  More more) {
    for (const auto& [key, node] : table) {
      const auto row = std::find_if(keys.begin(), keys.end(), [&](const config_key& k) { return k.name == key.str(); });
      const std::string below = path.empty() ? std::string(key.str()) : path + "." + std::string(key.str());
      if (row != keys.end()) {
        note(below, node);
        if (const std::string wanted = row->read(value_of(node)); !wanted.empty())
          refuse_value(row->name, node, wanted);
      } else if (std::find(others.begin(), others.end(), key.str()) != others.end()) {
        note(below, node);
        more(key.str(), node);
      } else {
        names known = others;
        for (const config_key& k : keys) known.push_back(k.name);
        refuse_key(key, known);
      }
    }
  }

  void take_section(std::string_view name, const toml::node& node, const config_keys& keys) {
    if (const toml::table* table = node.as_table())
      take_table(*table, std::string(name), keys, {}, [](std::string_view, const toml::node&) {});
    else
      refuse_value(name, node, "a table");
  }

  // Calls `one` with each element of an array, or with the value itself where it stands alone.
  template <class One>
  void each(const toml::node& node, One one) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return one(std::size_t{0}, node);
    std::size_t i = 0;
    for (const toml::node& element : *array) one(i++, element);
  }

  void read_addresses(const std::string& path, const toml::node& node, std::vector<net::host_address>& out) {
    out.clear();
    origins_.erase(path);
    note(path, node);
    each(node, [&](std::size_t i, const toml::node& element) {
      const auto* text = element.as_string();
      const auto address = text == nullptr ? std::nullopt : parse_cidr(text->get());
      if (!address) return refuse_value("address", element, "an address with its prefix like \"198.18.0.1/24\"");
      note(path + "." + std::to_string(i), element);
      out.push_back(*address);
    });
  }

  struct placed_route {
    net::host_route route;
    std::string place;
  };

  std::optional<ip_address> read_ip(std::string_view key, const toml::node& node) {
    const auto* text = node.as_string();
    const auto address = text == nullptr ? std::nullopt : ip_address::parse(text->get());
    if (!address) refuse_value(key, node, "an address like \"198.18.0.254\"");
    return address;
  }

  void read_gateways(const toml::node& node, std::vector<placed_route>& out) {
    each(node, [&](std::size_t, const toml::node& element) {
      const auto gateway = read_ip("gateway", element);
      if (!gateway) return;
      out.push_back({default_route(*gateway), place(element.source().begin)});
    });
  }

  // The tables of an array of tables; refuses anything else.
  template <class One>
  void each_table(std::string_view key, const toml::node& node, std::string_view heading, One one) {
    const toml::array* array = node.as_array();
    if (array == nullptr)
      return refuse(node.source().begin, std::string(key) + " is an array of tables, not " + describe(value_of(node)),
                    "write " + std::string(heading));
    for (const toml::node& element : *array)
      if (const toml::table* table = element.as_table())
        one(*table);
      else
        refuse_value(key, element, "a table");
  }

  // One key of a small table that has no rows: route, neighbour.
  template <class Take>
  void take_pair(const toml::table& table, const names& required, const names& optional, Take take) {
    names known = required;
    known.insert(known.end(), optional.begin(), optional.end());
    for (const auto& [key, node] : table)
      if (std::find(known.begin(), known.end(), key.str()) != known.end())
        take(key.str(), node);
      else
        refuse_key(key, known);
    for (const std::string_view key : required)
      if (!table.contains(key)) refuse(table.source().begin, fmt::format("'{}' is missing here", key));
  }

  void read_routes(const toml::node& node, std::vector<placed_route>& out) {
    each_table("route", node, "[[interface.route]]", [&](const toml::table& table) {
      placed_route one{{}, place(table.source().begin)};
      take_pair(table, {"to"}, {"via"}, [&](std::string_view key, const toml::node& value) {
        if (key == "via") {
          one.route.gateway = read_ip(key, value).value_or(ip_address{});
          return;
        }
        const auto* text = value.as_string();
        const auto prefix = text == nullptr ? std::nullopt : parse_cidr(text->get());
        if (!prefix) return refuse_value(key, value, "a prefix like \"10.0.0.0/8\"");
        one.route.prefix = prefix->address;
        one.route.prefix_length = prefix->prefix_length;
      });
      out.push_back(std::move(one));
    });
  }

  void read_neighbours(const std::string& path, const toml::node& node, std::vector<net::static_neighbour>& out) {
    each_table("neighbour", node, "[[interface.neighbour]]", [&](const toml::table& table) {
      net::static_neighbour one;
      take_pair(table, {"address", "mac"}, {}, [&](std::string_view key, const toml::node& value) {
        if (key == "address") {
          one.address = read_ip(key, value).value_or(ip_address{});
          return;
        }
        const auto* text = value.as_string();
        const auto mac = text == nullptr ? std::nullopt : parse_mac(text->get());
        if (!mac) return refuse_value(key, value, "a MAC address like \"02:00:00:00:00:01\"");
        one.mac = *mac;
      });
      note(path + "." + std::to_string(out.size()), table);
      out.push_back(one);
    });
  }

  void settle_routes(const std::string& path, std::vector<placed_route>& routes, net::host_config& host) {
    // Gateways first, as to_toml() writes them.
    std::stable_partition(routes.begin(), routes.end(),
                          [](const placed_route& r) { return is_default_route(r.route); });
    for (const placed_route& r : routes) {
      origins_.set(path + ".route." + std::to_string(host.routes.size()), r.place);
      host.routes.push_back(r.route);
    }
  }

  void read_interface(const toml::table& table, std::size_t number) {
    interface_config& c = config_.interfaces[number];
    const std::string path = "interface." + std::to_string(number);
    note(path, table);
    std::vector<placed_route> routes;
    take_table(table, path, interface_keys(c), {"address", "gateway", "route", "neighbour"},
               [&](std::string_view key, const toml::node& node) {
                 if (key == "address")
                   read_addresses(path + ".address", node, c.host.addresses);
                 else if (key == "gateway")
                   read_gateways(node, routes);
                 else if (key == "route")
                   read_routes(node, routes);
                 else
                   read_neighbours(path + ".neighbour", node, c.host.neighbours);
               });
    settle_routes(path, routes, c.host);
  }

  void read_interfaces(const toml::node& node) {
    std::size_t count = 0;
    each_table("interface", node, "[[interface]]", [&](const toml::table& table) {
      if (count == max_interfaces)
        return refuse(table.source().begin, "more than " + std::to_string(max_interfaces) + " interfaces");
      if (count == config_.interfaces.size()) {
        config_.interfaces.emplace_back();
        config_.interfaces.back().port = std::to_string(count);
      }
      read_interface(table, count++);
    });
  }

  void read_lcores(const toml::node& node) {
    config_.lcores.clear();
    each(node, [&](std::size_t i, const toml::node& element) {
      const auto* n = element.as_integer();
      if (n == nullptr || n->get() < 0 || n->get() > 1023)
        return refuse_value("lcores", element, "numbers from 0 to 1023");
      note("lcores." + std::to_string(i), element);
      config_.lcores.push_back(static_cast<unsigned>(n->get()));
    });
  }

  void read_directories(const toml::node& node) {
    std::vector<service::site_directory>& all = config_.http.directories;
    each_table("directory", node, "[[http.directory]]", [&](const toml::table& table) {
      if (all.size() == max_directories)
        return refuse(table.source().begin, "more than " + std::to_string(max_directories) + " directories");
      const std::string path = "http.directory." + std::to_string(all.size());
      note(path, table);
      all.emplace_back();
      take_table(table, path, directory_keys(all.back()), {}, [](std::string_view, const toml::node&) {});
      for (const std::string_view key : {"path", "root"})
        if (!table.contains(key)) refuse(table.source().begin, fmt::format("'{}' is missing here", key));
    });
  }

  void read_http(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return refuse_value("http", node, "a table");
    take_table(*table, "http", http_keys(config_.http), {"directory"},
               [&](std::string_view, const toml::node& directories) { read_directories(directories); });
  }

  void read_srmp(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return refuse_value("srmp", node, "a table");
    take_table(*table, "srmp", srmp_keys(config_.srmp), {"peers"}, [&](std::string_view, const toml::node& peers) {
      take_section("srmp.peers", peers, peer_keys(config_.srmp.peers));
    });
  }

 public:
  explicit config_reader(const std::string& name) : name_(name) {}

  void read(const toml::table& root) {
    origins_.set("", name_);
    const bool has_interfaces = root.contains("interface");
    std::vector<placed_route> gateways;
    take_table(root, "", top_keys(config_),
               {"address", "gateway", "lcores", "interface", "srmp", "rpc", "quic", "http", "limits", "loop", "pool"},
               [&](std::string_view key, const toml::node& node) {
                 if (key == "interface") return read_interfaces(node);
                 if (key == "lcores") return read_lcores(node);
                 if (key == "srmp") return read_srmp(node);
                 if (key == "rpc") return take_section(key, node, rpc_keys(config_.srmp.rpc));
                 if (key == "quic") return take_section(key, node, quic_keys(config_.quic));
                 if (key == "http") return read_http(node);
                 if (key == "limits") return take_section(key, node, limit_keys(config_.limits));
                 if (key == "loop") return take_section(key, node, loop_keys(config_.loop));
                 if (key == "pool") return take_section(key, node, pool_keys(config_.pool));
                 if (has_interfaces)
                   return refuse(
                       node.source().begin,
                       std::string(key) + " at the top is of the first port, and there are [[interface]] tables",
                       "give it in the [[interface]] that it belongs to");
                 if (key == "address")
                   read_addresses("interface.0.address", node, config_.interfaces[0].host.addresses);
                 else
                   read_gateways(node, gateways);
               });
    settle_routes("interface.0", gateways, config_.interfaces[0].host);
  }

  base::result<config_read> finish() {
    if (first_) return first_->why;
    return config_read{std::move(config_), std::move(origins_)};
  }
};

// The first character outside of ASCII and of comments, or the dot that makes a dotted key too deep. No key or value of
// ours has such. toml++ 3.3 is undefined on some of the former ("a\u025B = 1") and takes each part of a key for a table
// in a table, by recursion: they never reach it.
constexpr unsigned most_dots = 64;  // of a line, outside of strings
std::optional<toml::source_position> find_foreign(std::string_view text, bool& too_deep) {
  toml::source_position at{1, 1};
  unsigned dots = 0;
  char quote = 0;  // of the string that we are in
  bool comment = false;
  bool escaped = false;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // a byte order mark
  for (const char c : text) {
    if (c == '\n') {
      ++at.line;
      at.column = 1;
      comment = escaped = false;
      quote = 0;
      dots = 0;
      continue;
    }
    if (!comment) {
      if (static_cast<unsigned char>(c) >= 0x80) return at;
      if (escaped) {
        escaped = false;
      } else if (quote != 0) {
        escaped = quote == '"' && c == '\\';
        if (c == quote) quote = 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '.' && ++dots > most_dots) {
        too_deep = true;
        return at;
      } else {
        comment = c == '#';
      }
    }
    ++at.column;
  }
  return std::nullopt;
}

}  // namespace

base::result<config_read> parse_config(std::string_view text, const std::string& name) {
  bool too_deep = false;
  if (const auto at = find_foreign(text, too_deep))
    return failure{fmt::format("{}:{}:{}: {}", name, at->line, at->column,
                               too_deep ? "more dots in one line than any key of ours has"
                                        : "a character that is not ASCII stands outside of a comment"),
                   "", true};
  try {
    const toml::table root = toml::parse(text, name);
    config_reader reader(name);
    reader.read(root);
    return reader.finish();
  } catch (const toml::parse_error& wrong) {
    const toml::source_position at = wrong.source().begin;
    return failure{fmt::format("{}:{}:{}: {}", name, at.line, at.column, wrong.description()), "", true};
  }
}

base::result<config_read> read_config(const std::string& path) {
  if (env::is_directory(path)) return failure{path + ": a directory, not a configuration", "", true};
  errno = 0;
  const std::optional<std::string> text = env::read_text(path);
  if (!text) {
    // Without an error it was the cap.
    return failure{path + ": cannot be read: " + (errno != 0 ? std::strerror(errno) : "longer than 1 MiB"), "", true};
  }
  return parse_config(*text, path);
}

}  // namespace millrace::app
