#include "rpc/builtin.hpp"

#include <algorithm>
#include <utility>

namespace millrace::rpc {
namespace {

bool same_ignoring_case(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

// Writes State and Token of an argument object, as they come along, into the object of the result.
class giver_back final : public json::handler {
  json::writer& out_;
  unsigned depth_ = 0;
  bool given_[2] = {};       // State, Token: once each, the first of that name
  std::string_view member_;  // what the next value is written as; empty: it is not

  template <class Value>
  bool give(const Value& v) noexcept {
    if (depth_ == 1 && !member_.empty() && !std::exchange(given_[member_ == "Token"], true)) out_.member(member_, v);
    member_ = {};
    return true;
  }
  bool enter() noexcept {
    ++depth_;
    member_ = {};
    return true;
  }
  bool leave() noexcept {
    --depth_;
    return true;
  }

 public:
  explicit giver_back(json::writer& out) noexcept : out_(out) {}

  bool on_key(std::string_view name) noexcept override {
    member_ = same_ignoring_case(name, "state") ? "State" : same_ignoring_case(name, "token") ? "Token" : "";
    return true;
  }
  bool on_string(std::string_view text) noexcept override { return give(text); }
  bool on_bool(bool v) noexcept override { return give(v); }
  bool on_integer(std::int64_t v) noexcept override { return give(v); }
  bool on_unsigned(std::uint64_t v) noexcept override { return give(v); }
  bool on_double(double v) noexcept override { return give(v); }
  bool on_begin_object() noexcept override { return enter(); }
  bool on_begin_array() noexcept override { return enter(); }
  bool on_end_object() noexcept override { return leave(); }
  bool on_end_array() noexcept override { return leave(); }
};

void write_endpoint(json::writer& out, std::string_view name, const base::endpoint& where) noexcept {
  if (where.address.family == base::ip_family::none) return;
  char text[base::endpoint::max_text_size];
  out.member(name, std::string_view(text, where.format_to(text)));
}

}  // namespace

void api_info(void* about, call& c) noexcept {
  const auto& facts = *static_cast<const server_facts*>(about);
  json::read_result read;
  c.json([&](json::writer& out) {
    out.begin_object();
    out.member("Name", facts.name);
    if (!facts.version.empty()) out.member("FileVersion", facts.version);
    if (!facts.machine_name.empty()) out.member("MachineName", facts.machine_name);
    write_endpoint(out, "Local", c.from().local);
    write_endpoint(out, "Remote", c.from().remote);
    if (c.has_json()) {
      giver_back back(out);
      read = c.read(back);
    } else if (c.has_arguments()) {
      out.member("State", base::as_text(c.arguments()));  // a text alone is the single argument
    }
    out.end_object();
  });
  if (!read) c.fail(code::failed, "the arguments are not JSON");
}

void api_all(void* table, call& c) noexcept {
  c.json([&](json::writer& out) {
    out.begin_array();
    for (const method& one : static_cast<const method_table*>(table)->methods()) out.value(one.signature());
    out.end_array();
  });
}

void echo(void*, call& c) noexcept {
  if (c.has_arguments()) c.copy(c.arguments());
}

add_errc add_builtins(method_table& table, const server_facts& about) noexcept {
  // The table keeps a plain pointer; api_info() reads it as what it is.
  void* facts = const_cast<server_facts*>(&about);
  if (const add_errc got = table.add("Api/Info", api_info, facts, {.signature = "Object Api/Info(String state)"});
      got != add_errc::ok)
    return got;
  if (const add_errc got = table.add("Api/All", api_all, &table, {.signature = "String[] Api/All()"});
      got != add_errc::ok)
    return got;
  return table.add("Echo", echo, nullptr, {.result_within_arguments = true, .signature = "Object Echo(Object value)"});
}

}  // namespace millrace::rpc
