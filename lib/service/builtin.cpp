#include "service/builtin.hpp"

#include "base/body_pattern.hpp"
#include "http/chain_sink.hpp"
#include "http/wire/field.hpp"
#include "service/page.hpp"

namespace millrace::service {
namespace {

using http::exchange;
using http::wire::status_code;

constexpr std::string_view json_type = "application/json";
constexpr std::string_view bytes_type = "application/octet-stream";

// What a document consists of.
class census final : public json::handler {
 public:
  std::uint64_t objects = 0, arrays = 0, members = 0, strings = 0, numbers = 0, literals = 0;

  bool on_null() noexcept override { return ++literals != 0; }
  bool on_bool(bool) noexcept override { return ++literals != 0; }
  bool on_integer(std::int64_t) noexcept override { return ++numbers != 0; }
  bool on_unsigned(std::uint64_t) noexcept override { return ++numbers != 0; }
  bool on_double(double) noexcept override { return ++numbers != 0; }
  bool on_string(std::string_view) noexcept override { return ++strings != 0; }
  bool on_begin_object() noexcept override { return ++objects != 0; }
  bool on_key(std::string_view) noexcept override { return ++members != 0; }
  bool on_begin_array() noexcept override { return ++arrays != 0; }
};

}  // namespace

base::result<buf::content> make_pattern(buf::large_block_pool& blocks) {
  return buf::content::load(blocks, base::pattern_block());
}

std::size_t memory_bytes(const settings& s) noexcept {
  constexpr std::size_t a_slot = 192;  // an object and its place in the pool
  return (std::size_t{s.streamed} + s.json_bodies + s.discarded) * a_slot + 65'536;
}

builtin::builtin(const settings& s, const buf::content& pattern, stats_source* stats, mem::object_pool<place> places,
                 mem::object_pool<document> documents, mem::object_pool<tally> tallies)
    : settings_(s),
      pattern_(pattern),
      stats_(stats),
      places_(std::move(places)),
      documents_(std::move(documents)),
      tallies_(std::move(tallies)),
      gathered_(s.json_bytes),
      scratch_(json::reader::scratch_size({.max_bytes = s.json_bytes})) {}

base::result<std::unique_ptr<builtin>> builtin::make(const settings& s, const buf::content& pattern,
                                                     stats_source* stats) {
  auto places = mem::object_pool<place>::make("service_bytes", s.streamed);
  if (!places) return places.error();
  auto documents = mem::object_pool<document>::make("service_json", s.json_bodies);
  if (!documents) return documents.error();
  auto tallies = mem::object_pool<tally>::make("service_discard", s.discarded);
  if (!tallies) return tallies.error();
  return std::unique_ptr<builtin>(new builtin(s, pattern, stats, std::move(places.value()),
                                              std::move(documents.value()), std::move(tallies.value())));
}

std::vector<route> builtin::routes() {
  using http::wire::method;
  std::vector<route> all = {{method::get, "/bytes/{size}", &bytes_},
                            {method::post, "/echo", &echo_},
                            {method::post, "/discard", &discard_},
                            {method::get, "/json", &json_},
                            {method::post, "/json", &json_}};
  if (stats_ != nullptr) {
    all.push_back({method::get, "/stats", &stats_answer_});
    all.push_back({method::get, "/", &page_});
  }
  return all;
}

void builtin::answer(exchange& x, status_code status) noexcept {
  count_.refused.add(1);
  x.refuse_body();
  static_cast<void>(x.respond({status, {}}, {}));
}

void builtin::answer_too_large(exchange& x) noexcept {
  count_.refused.add(1);
  x.refuse_body();
  http::chain_sink out(x.blocks());
  json::writer w(out);
  w.begin_object();
  w.member("error", "too_large");
  w.member("most_bytes", settings_.json_bytes);
  w.end_object();
  static_cast<void>(w.end_document());
  answer_json(x, status_code::content_too_large, out.take());
}

void builtin::answer_json(exchange& x, status_code status, buf::chain&& text) noexcept {
  if (text.empty()) {
    count_.no_memory.add(1);
    return answer(x, status_code::service_unavailable);
  }
  const http::field type[] = {{"content-type", json_type}};
  static_cast<void>(x.respond({status, type}, std::move(text)));
}

// --- /bytes/N ---

void builtin::bytes_handler::on_request(exchange& x) noexcept {
  std::uint64_t size = 0;
  if (!http::wire::parse_decimal(x.route->parameter("size"), size) || size > of_.settings_.most_bytes)
    return of_.answer(x, status_code::not_found);
  of_.count_.bytes.add(1);
  const http::field type[] = {{"content-type", bytes_type}};
  const http::response_head head{status_code::ok, type};
  if (size <= of_.pattern_.size()) {
    static_cast<void>(x.respond(head, http::content_range{&of_.pattern_, 0, size}));
    return;
  }
  place* const p = of_.places_.get();
  if (p == nullptr) {
    of_.count_.no_memory.add(1);
    return of_.answer(x, status_code::service_unavailable);
  }
  *p = {&of_.pattern_, 0, size};
  x.user = p;
  const auto pull = [](void* context, std::uint32_t most, buf::packet& out) noexcept {
    place& at = *static_cast<place*>(context);
    if (at.at == at.end) return buf::pull_status::end;
    const auto want = static_cast<std::uint32_t>(std::min<std::uint64_t>(most, at.end - at.at));
    buf::packet block = at.from->share(at.at % base::pattern_bytes, want);
    if (!block) return buf::pull_status::no_memory;
    at.at += block.length();
    out = std::move(block);
    return buf::pull_status::block;
  };
  static_cast<void>(x.respond(head, http::pulled_body{{p, pull}, size}));
}

void builtin::bytes_handler::on_end(exchange& x, http::exchange_end) noexcept {
  if (auto* const p = static_cast<place*>(std::exchange(x.user, nullptr))) of_.places_.give(p);
}

// --- /echo ---

void builtin::echo_handler::on_request(exchange& x) noexcept {
  of_.count_.echoes.add(1);
  const std::string_view type = http::find(x.request().fields, "content-type").value_or(bytes_type);
  const http::field fields[] = {{"content-type", type}};
  const auto size = x.request().has_body ? x.request().content_length : std::optional<std::uint64_t>(0);
  static_cast<void>(x.begin({status_code::ok, fields}, size));
}

// Nothing is taken while the answer is paused: the sender then has no credit, and this end keeps nothing.
void builtin::echo_handler::on_body(exchange& x) noexcept {
  while (!x.front().empty())
    if (x.write(buf::chain(x.take())) != buf::flow::open) return;
}

// --- /discard ---

void builtin::discard_handler::on_request(exchange& x) noexcept {
  of_.count_.discards.add(1);
  x.user = of_.tallies_.get();
  if (x.user != nullptr) return;
  of_.count_.no_memory.add(1);
  of_.answer(x, status_code::service_unavailable);
}

void builtin::discard_handler::on_body(exchange& x) noexcept {
  auto* const t = static_cast<tally*>(x.user);
  if (t == nullptr) return;
  while (!x.front().empty()) {
    const base::byte_view bytes = x.front();
    for (const std::uint8_t byte : bytes) t->sum += byte;
    t->bytes += bytes.size();
    x.consume(bytes.size());
  }
}

void builtin::discard_handler::on_body_end(exchange& x, std::span<const http::field>) noexcept {
  const auto* const t = static_cast<const tally*>(x.user);
  if (t == nullptr) return;
  http::chain_sink out(x.blocks());
  json::writer w(out);
  w.begin_object();
  w.member("bytes", t->bytes);
  w.member("sum", t->sum);
  w.end_object();
  static_cast<void>(w.end_document());
  of_.answer_json(x, status_code::ok, out.take());
}

void builtin::discard_handler::on_end(exchange& x, http::exchange_end) noexcept {
  if (auto* const t = static_cast<tally*>(std::exchange(x.user, nullptr))) of_.tallies_.give(t);
}

// --- /json ---

void builtin::json_handler::on_request(exchange& x) noexcept {
  of_.count_.json.add(1);
  if (x.request().method != http::wire::method::post) {
    http::chain_sink out(x.blocks());
    json::writer w(out);
    w.begin_object();
    w.member("message", "Hello, World!");
    w.member("id", ++of_.json_answers_);
    w.member("ok", true);
    w.key("tags");
    w.begin_array();
    w.value("quic");
    w.value("http/3");
    w.end_array();
    w.end_object();
    static_cast<void>(w.end_document());
    return of_.answer_json(x, status_code::ok, out.take());
  }
  if (x.request().content_length.value_or(0) > of_.settings_.json_bytes) return of_.answer_too_large(x);
  document* const d = of_.documents_.get();
  if (d == nullptr) {
    of_.count_.no_memory.add(1);
    return of_.answer(x, status_code::service_unavailable);
  }
  x.user = d;
}

void builtin::json_handler::on_body(exchange& x) noexcept {
  auto* const d = static_cast<document*>(x.user);
  if (d == nullptr || d->is_refused) return;
  while (!x.front().empty()) {
    if (d->text.size() + x.front().size() > of_.settings_.json_bytes) {
      d->is_refused = true;
      d->text.clear();
      return of_.answer_too_large(x);
    }
    if (!d->text.append(buf::chain(x.take()), x.blocks())) {
      d->is_refused = true;
      of_.count_.no_memory.add(1);
      return of_.answer(x, status_code::service_unavailable);
    }
  }
}

void builtin::json_handler::on_body_end(exchange& x, std::span<const http::field>) noexcept {
  auto* const d = static_cast<document*>(x.user);
  if (d == nullptr || d->is_refused) return;
  base::byte_view text = d->text.front();
  if (d->text.segments() > 1) {
    // A reader wants one run of bytes: the one copy of a body that came in several packets.
    const std::size_t at = d->text.copy_out(0, of_.gathered_);
    text = base::byte_view(of_.gathered_).first(at);
  }
  census seen;
  const json::read_result judged = json::reader({.max_bytes = of_.settings_.json_bytes}, of_.scratch_).read(text, seen);
  http::chain_sink out(x.blocks());
  json::writer w(out);
  w.begin_object();
  if (judged) {
    w.member("bytes", text.size());
    w.member("objects", seen.objects);
    w.member("arrays", seen.arrays);
    w.member("members", seen.members);
    w.member("strings", seen.strings);
    w.member("numbers", seen.numbers);
    w.member("literals", seen.literals);
  } else {
    w.member("error", json::to_string(judged.code));
    w.member("at", judged.at);
  }
  w.end_object();
  static_cast<void>(w.end_document());
  d->text.clear();
  if (!judged) of_.count_.refused.add(1);
  of_.answer_json(x, judged ? status_code::ok : status_code::bad_request, out.take());
}

void builtin::json_handler::on_end(exchange& x, http::exchange_end) noexcept {
  if (auto* const d = static_cast<document*>(std::exchange(x.user, nullptr))) of_.documents_.give(d);
}

// --- /stats and / ---

void builtin::stats_handler::on_request(exchange& x) noexcept {
  of_.count_.stats.add(1);
  http::chain_sink out(x.blocks());
  json::writer w(out);
  of_.stats_->write(w);
  if (w.end_document() != json::write_errc::ok) return of_.answer(x, status_code::internal_server_error);
  buf::chain text = out.take();
  if (text.empty() || text.size() > of_.settings_.stats_bytes) return of_.answer_json(x, status_code::ok, {});
  const http::field fields[] = {{"content-type", json_type}, {"cache-control", "no-store"}};
  static_cast<void>(x.respond({status_code::ok, fields}, std::move(text)));
}

// Copied into blocks: it is small, and asked for by people.
void builtin::page_handler::on_request(exchange& x) noexcept {
  of_.count_.pages.add(1);
  http::chain_sink out(x.blocks());
  static_cast<void>(out.write(page_text));
  buf::chain text = out.take();
  if (text.empty()) return of_.answer_json(x, status_code::ok, {});
  const http::field fields[] = {{"content-type", "text/html; charset=utf-8"},
                                {"content-security-policy", page_policy},
                                {"cache-control", "no-cache"},
                                {"x-content-type-options", "nosniff"}};
  static_cast<void>(x.respond({status_code::ok, fields}, std::move(text)));
}

}  // namespace millrace::service
