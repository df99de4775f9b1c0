#include "rpc/service.hpp"

#include <algorithm>

namespace millrace::rpc {

service::service(const method_table& table, const service_limits& limits, mem::region memory) noexcept
    : table_(&table),
      limits_(limits),
      json_memory_(std::move(memory)),
      reader_({.max_bytes = limits.max_json_bytes, .max_depth = limits.max_json_depth},
              {json_memory_.data(), json_memory_.size_bytes()}) {}

std::unique_ptr<service> service::make(const method_table& table, const service_limits& limits) {
  const std::size_t scratch =
      json::reader::scratch_size({.max_bytes = limits.max_json_bytes, .max_depth = limits.max_json_depth});
  mem::region memory = mem::region::make("rpc json", scratch);
  if (!memory) return nullptr;
  return std::unique_ptr<service>(new service(table, limits, std::move(memory)));
}

bool service::read(const srmp::wire::frame& f, wire::payload& out) noexcept {
  if (!parse(f.payload, wire::form::plain, out)) {
    count_.malformed.add(1);
    return false;
  }
  if (!wire::is_callable(out.name)) {
    count_.bad_names.add(1);
    return false;
  }
  return true;
}

service::verdict service::judge(const method* found, const call& c) noexcept {
  if (found == nullptr) {
    count_.unknown.add(1);
    return verdict::unknown;
  }
  if (found->needs_login && (authorize_ == nullptr || !authorize_(authorize_self_, c))) {
    count_.unauthorized.add(1);
    return verdict::unauthorized;
  }
  count_.calls.add(1);
  return verdict::call;
}

// The reference's own words, around the name in brackets: "no service named [...] can be found!"
std::string_view service::not_found_message(std::string_view name) noexcept {
  constexpr std::string_view before = "\xE6\x97\xA0\xE6\xB3\x95\xE6\x89\xBE\xE5\x88\xB0\xE5\x90\x8D\xE4\xB8\xBA[";
  constexpr std::string_view after = "]\xE7\x9A\x84\xE6\x9C\x8D\xE5\x8A\xA1\xEF\xBC\x81";
  static_assert(before.size() + wire::max_name_size + after.size() <= call::scratch_size);
  char* at = std::copy(before.begin(), before.end(), scratch_.data());
  at = std::copy(name.begin(), name.end(), at);
  at = std::copy(after.begin(), after.end(), at);
  return {scratch_.data(), static_cast<std::size_t>(at - scratch_.data())};
}

void service::note(const call& c) noexcept {
  if (c.kind_ == answer_kind::error) count_.failed.add(1);
}

void service::on_one_way(const srmp::wire::frame& f) noexcept {
  wire::payload asked;
  if (!read(f, asked)) return;
  call c(asked, from_, reader_, scratch_);
  c.one_way_ = true;
  const method* found = table_->find(asked.name);
  if (judge(found, c) != verdict::call) return;
  count_.one_ways.add(1);
  found->handler(found->self, c);
  note(c);
}

bool call::item(std::size_t size) noexcept {
  if (one_way_ || size == 0) return false;
  if (size > room_.size()) {
    too_large();
    return false;
  }
  if (items_ == max_items_) {
    fail(code::failed, "the stream is too long");
    return false;
  }
  if (kind_ == answer_kind::nothing) kind_ = answer_kind::stream;
  room_ = send_(send_to_, size);
  ++items_;
  return room_.data() != nullptr;
}

}  // namespace millrace::rpc
