#include "service/site_handler.hpp"

#include "http/wire/conditional.hpp"
#include "http/wire/range.hpp"

namespace millrace::service {
namespace {

using http::exchange;
using http::field;
using http::wire::content_coding;
using http::wire::status_code;
using head_fields = base::fixed_vector<field, 8>;

// All of a field's lines as one list (RFC 9110 5.3). Of a list that is longer than the room, the lines that fit: then
// fewer tags match, and fewer codings are liked, which is safe.
class joined_field {
  std::array<char, 1024> room_;
  std::optional<std::string_view> all_;

 public:
  joined_field(std::span<const field> fields, std::string_view name) noexcept {
    std::size_t used = 0;
    for (const field& f : fields) {
      if (f.name != name) continue;
      if (!all_) {
        all_ = f.value;
        continue;
      }
      if (used == 0) used = add(0, *all_);  // the second line: the first moves here
      if (used + f.value.size() + 1 > room_.size()) break;
      room_[used++] = ',';
      used = add(used, f.value);
      all_ = std::string_view(room_.data(), used);
    }
  }
  joined_field(const joined_field&) = delete;
  joined_field& operator=(const joined_field&) = delete;
  [[nodiscard]] std::optional<std::string_view> view() const noexcept { return all_; }

 private:
  // Where it ends; beyond the room when it does not fit, so that nothing more does.
  std::size_t add(std::size_t at, std::string_view text) noexcept {
    if (text.size() <= room_.size() - at) std::copy(text.begin(), text.end(), room_.begin() + static_cast<long>(at));
    return at + text.size();
  }
};

// RFC 9110 14.2: of GET alone. A field that came twice is none.
std::optional<std::string_view> range_of(const http::request_head& head) noexcept {
  if (head.method != http::wire::method::get) return std::nullopt;
  std::optional<std::string_view> found;
  for (const field& f : head.fields) {
    if (f.name != "range") continue;
    if (found) return std::nullopt;
    found = f.value;
  }
  return found;
}

}  // namespace

site_handler::site_handler(site& of, std::size_t lcore, std::int64_t wall_less_clock_ns)
    : site_(of), lcore_(lcore), wall_less_clock_ns_(wall_less_clock_ns) {
  std::uint32_t index = 0;
  for (const site_directory& d : of.directories()) directories_.emplace_back(*this, index++, d.path);
}

std::vector<route> site_handler::routes() {
  std::vector<route> all;
  for (directory& d : directories_) {
    if (!d.mount.empty()) all.push_back({http::wire::method::get, d.mount, &d});
    all.push_back({http::wire::method::get, d.below, &d});
  }
  return all;
}

void site_handler::refuse(exchange& x, status_code status, stats::counter& why) noexcept {
  why.add(1);
  static_cast<void>(x.respond({status, {}}, {}));
}

void site_handler::redirect(exchange& x, const std::string& location) noexcept {
  count_.redirects.add(1);
  const std::string_view query = x.request().query;
  std::array<char, 2048> room;
  std::string_view to = location;
  if (!query.empty() && location.size() + 1 + query.size() <= room.size()) {
    char* at = std::copy(location.begin(), location.end(), room.data());
    *at++ = '?';
    at = std::copy(query.begin(), query.end(), at);
    to = {room.data(), static_cast<std::size_t>(at - room.data())};
  }
  const field fields[] = {{"location", to}};
  static_cast<void>(x.respond({status_code::moved_permanently, fields}, {}));
}

void site_handler::answer(exchange& x, const directory& d) noexcept {
  if (x.request().has_body) x.refuse_body();
  const site::use used = site_.take(lcore_);
  x.user = used.count;
  const site_entry* const e = used.tree->find(d.which, x.request().path.substr(d.mount.size()));
  // RFC 9110 13.2.1: conditions are judged only where the answer would be 200.
  if (e == nullptr) return refuse(x, status_code::not_found, count_.not_found);
  if (!e->location.empty()) return redirect(x, e->location);
  send(x, *used.tree, *e);
}

void site_handler::send(exchange& x, const site_tree& tree, const site_entry& e) noexcept {
  const http::request_head& asked = x.request();
  head_fields fields;
  const auto add = [&](std::string_view name, std::string_view value) noexcept {
    static_cast<void>(fields.push_back({name, value}));
  };
  const auto respond = [&](status_code status, http::body&& what = {}) noexcept {
    static_cast<void>(x.respond({status, fields.view()}, std::move(what)));
  };
  // RFC 9110 12.5.5: also on answers without content that were chosen so.
  if (e.has_variants()) add("vary", "accept-encoding");
  const joined_field codings(asked.fields, "accept-encoding");
  const auto coding = http::wire::choose(codings.view(), e.has);
  if (!coding) {
    count_.not_acceptable.add(1);
    return respond(status_code::not_acceptable);
  }
  const site_form& form = *e.forms[static_cast<std::size_t>(*coding)];

  const joined_field if_match(asked.fields, "if-match");
  const joined_field if_none_match(asked.fields, "if-none-match");
  const http::wire::preconditions conditions{.if_match = if_match.view(),
                                             .if_none_match = if_none_match.view(),
                                             .if_modified_since = find(asked.fields, "if-modified-since"),
                                             .if_unmodified_since = find(asked.fields, "if-unmodified-since"),
                                             .if_range = find(asked.fields, "if-range")};
  const http::wire::validators now{.etag = form.tag_text(), .last_modified_s = form.modified_s};
  const std::int64_t now_s = (static_cast<std::int64_t>(x.now_ns()) + wall_less_clock_ns_) / 1'000'000'000;
  const auto verdict = judge(asked.method, conditions, now, now_s);
  add("etag", form.tag_text());
  if (verdict == http::wire::verdict::not_modified) {  // RFC 9110 15.4.5: ETag and Vary; Last-Modified beside them not
    count_.not_modified.add(1);
    return respond(status_code::not_modified);
  }
  if (verdict == http::wire::verdict::precondition_failed) {
    count_.precondition_failed.add(1);
    return respond(status_code::precondition_failed);
  }

  http::wire::byte_range range;
  if (const auto wanted = range_of(asked); wanted && range_applies(conditions, now, now_s))
    range = http::wire::parse_range(*wanted, form.size);
  add("accept-ranges", "bytes");
  http::wire::content_range_text range_text;
  if (range.verdict != http::wire::range_verdict::whole) {  // RFC 9110 14.4, RFC 9110 15.3.7.1
    range_text = emit_content_range(range, form.size);
    add("content-range", range_text.view());
  }
  if (range.verdict == http::wire::range_verdict::not_satisfiable) {
    count_.not_satisfiable.add(1);
    return respond(status_code::range_not_satisfiable);
  }
  add("content-type", e.type);
  if (*coding != content_coding::identity)
    add("content-encoding", http::wire::content_coding_names[static_cast<std::size_t>(*coding)]);
  add("last-modified", form.modified_text());
  if (range.verdict == http::wire::range_verdict::part) {
    count_.ranges.add(1);
    return respond(status_code::partial_content,
                   http::content_range{&tree.bytes(), form.offset + range.first, range.last - range.first + 1});
  }
  count_.files.add(1);
  respond(status_code::ok, http::content_range{&tree.bytes(), form.offset, form.size});
}

}  // namespace millrace::service
