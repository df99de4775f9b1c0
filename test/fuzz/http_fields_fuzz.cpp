// Any text as what HTTP fields and targets hold: each parser must stay within it, and what it answers must hold.
//
// Input    the text.
#include <array>
#include <cstdlib>

#include "base/bytes.hpp"
#include "http/wire/conditional.hpp"
#include "http/wire/content_coding.hpp"
#include "http/wire/content_type.hpp"
#include "http/wire/date.hpp"
#include "http/wire/field.hpp"
#include "http/wire/range.hpp"
#include "http/wire/target.hpp"

namespace {

using namespace millrace;
using namespace millrace::http::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_path(std::string_view text) {
  const split_path target = split_target(text);
  require(target.path.size() + target.query.size() + (target.has_query ? 1 : 0) == text.size());
  std::array<char, 4096> scratch;
  const normal_path out = normalize_path(target.path, scratch);
  if (out.code != path_errc::ok) return;
  require(out.path.starts_with('/') && out.path.size() <= target.path.size());
  require(out.path.find("//") == std::string_view::npos && out.path.find('\0') == std::string_view::npos);
  for (std::size_t at = 0; (at = out.path.find("/.", at)) != std::string_view::npos; ++at) {
    const std::string_view rest = out.path.substr(at + 2);
    require(!rest.empty() && rest[0] != '/');
    if (rest[0] == '.') require(rest.size() > 1 && rest[1] != '/');
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = base::as_text({data, size});
  check_path(text);
  std::string_view list = text;
  std::string_view element;
  std::size_t total = 0;
  while (next_element(list, element)) total += element.size();
  require(total <= size);
  std::string_view query = text;
  query_part part;
  while (next_query_part(query, part)) total += part.name.size();
  require(!is_lower_token(text) || is_token(text));
  require(!is_token(text) || is_field_value(text));
  if (const auto at = parse_date(text, 1'800'000'000)) {
    const date_text written = emit_date(*at);
    require(parse_date({written.data(), written.size()}, 1'800'000'000) == at);
  }
  const byte_range range = parse_range(text, 1000);
  if (range.verdict == range_verdict::part) require(range.first <= range.last && range.last < 1000);
  static_cast<void>(emit_content_range(range, size));
  static_cast<void>(choose(text, {true, true, false, true}));
  require(!content_type_of(text).empty());
  const preconditions asked{text, text, text, text, text};
  static_cast<void>(judge(method::get, asked, {"\"a\"", 784'111'777, true}, 1'800'000'000));
  static_cast<void>(range_applies(asked, {"\"a\"", 784'111'777, true}, 1'800'000'000));
  return 0;
}
