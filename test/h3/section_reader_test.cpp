#include "h3/section_reader.hpp"

#include <gtest/gtest.h>

#include <string>

namespace millrace::h3 {
namespace {

using list = std::vector<http::field>;

struct reading {
  field_memory memory = std::move(field_memory::make(4, 64 << 10).value());
  field_store store{memory};
  http::request_head request;
  response_fields response;
  std::span<const http::field> trailers;
  std::string priority;

  section_errc read(section_kind kind, const list& fields, const section_rules& rules = {}) {
    store.clear();
    request = {};
    section_reader r(kind, rules, store);
    for (const http::field& f : fields)
      if (const section_errc e = r.on_field(f.name, f.value); e != section_errc::ok) return e;
    section_errc e = section_errc::ok;
    if (kind == section_kind::request) e = r.finish_request(request);
    if (kind == section_kind::response) e = r.finish_response(response);
    if (kind == section_kind::trailers) e = r.finish_trailers(trailers);
    if (e == section_errc::ok) priority = r.priority();
    return e;
  }
};

const list get = {{":method", "GET"}, {":scheme", "https"}, {":authority", "example.test"}, {":path", "/a?b=c"}};

list with(list base, const list& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}
list without(list base, std::string_view name) {
  std::erase_if(base, [&](const http::field& f) { return f.name == name; });
  return base;
}
list changed(list base, std::string_view name, std::string_view value) {
  for (http::field& f : base)
    if (f.name == name) f.value = value;
  return base;
}
section_errc why(const list& fields, const section_rules& rules = {}) {
  reading r;
  return r.read(section_kind::request, fields, rules);
}

TEST(section_reader, makes_a_head_of_a_request) {
  reading r;
  ASSERT_EQ(
      r.read(section_kind::request, with(get, {{"accept", "*/*"}, {"content-length", "17"}, {"priority", "u=1"}})),
      section_errc::ok);
  EXPECT_EQ(r.request.method, http::wire::method::get);
  EXPECT_EQ(r.request.method_name, "GET");
  EXPECT_EQ(r.request.scheme, "https");
  EXPECT_EQ(r.request.authority, "example.test");
  EXPECT_EQ(r.request.target, "/a?b=c");
  EXPECT_EQ(r.request.path, "/a");
  EXPECT_EQ(r.request.query, "b=c");
  EXPECT_EQ(r.request.content_length, 17u);
  ASSERT_EQ(r.request.fields.size(), 3u);
  EXPECT_EQ(r.request.fields[0].name, "accept");
  EXPECT_EQ(r.priority, "u=1");
}

TEST(section_reader, pseudo_header_fields_come_once_and_first) {
  for (const http::field& f : get) EXPECT_EQ(why(with(get, {f})), section_errc::pseudo_twice) << f.name;
  EXPECT_EQ(why({{":method", "GET"}, {"accept", "*/*"}, {":path", "/"}}), section_errc::pseudo_late);
  EXPECT_EQ(why(with(get, {{":status", "200"}})), section_errc::pseudo_unknown);
  EXPECT_EQ(why(with(get, {{":foo", "x"}})), section_errc::pseudo_unknown);
  EXPECT_EQ(why(with(get, {{":", "x"}})), section_errc::pseudo_unknown);
  EXPECT_EQ(why(with(get, {{":Path", "x"}})), section_errc::pseudo_unknown);
}

TEST(section_reader, requests_need_method_scheme_path_and_authority) {
  for (const char* name : {":method", ":scheme", ":path", ":authority"})
    EXPECT_EQ(why(without(get, name)), section_errc::pseudo_missing) << name;
  EXPECT_EQ(why({}), section_errc::pseudo_missing);
}

TEST(section_reader, host_stands_for_an_authority_that_is_not_there_and_must_not_differ) {
  reading r;
  ASSERT_EQ(r.read(section_kind::request, with(without(get, ":authority"), {{"host", "h.test:8443"}})),
            section_errc::ok);
  EXPECT_EQ(r.request.authority, "h.test:8443");
  EXPECT_EQ(why(with(get, {{"host", "example.test"}})), section_errc::ok);
  EXPECT_EQ(why(with(get, {{"host", "other.test"}})), section_errc::host_differs);
  EXPECT_EQ(why(with(get, {{"host", "example.test"}, {"host", "example.test"}})), section_errc::host_differs);
  EXPECT_EQ(why(with(without(get, ":authority"), {{"host", ""}})), section_errc::bad_authority);
}

TEST(section_reader, refuses_authorities_that_cannot_be) {
  for (const char* a : {"", "user@example.test", "a b", "a/b", "a?b", "a#b", "a\\b", "a,b\"", "\xc3\xa4"})
    EXPECT_EQ(why(changed(get, ":authority", a)), section_errc::bad_authority) << a;
  for (const char* a : {"example.test", "[2001:db8::1]:443", "198.18.0.1:8443", "a_b%20c"})
    EXPECT_EQ(why(changed(get, ":authority", a)), section_errc::ok) << a;
}

TEST(section_reader, refuses_methods_schemes_and_paths_that_cannot_be) {
  for (const char* m : {"", "G T", "GET\"", "G(T"})
    EXPECT_EQ(why(changed(get, ":method", m)), section_errc::bad_method) << m;
  for (const char* s : {"", "1x", "ht tp", "https:", "a_b"})
    EXPECT_EQ(why(changed(get, ":scheme", s)), section_errc::bad_scheme) << s;
  for (const char* p : {"", "a", "*", "/a b", "/a#b", "http://x/"})
    EXPECT_EQ(why(changed(get, ":path", p)), section_errc::bad_path) << p;
  for (const char* p : {"/a\tb", "/\x7f"}) EXPECT_TRUE(is_malformed(why(changed(get, ":path", p)))) << p;
  for (const char* p : {"/%zz", "/../x", "/a\\b", "/%00"})
    EXPECT_EQ(why(changed(get, ":path", p)), section_errc::bad_target) << p;
}

TEST(section_reader, an_asterisk_is_a_path_of_options_alone) {
  EXPECT_EQ(why(changed(changed(get, ":method", "OPTIONS"), ":path", "*")), section_errc::ok);
}

TEST(section_reader, paths_are_looked_up_as_they_are_meant) {
  reading r;
  ASSERT_EQ(r.read(section_kind::request, changed(get, ":path", "/x/..//%61/./b?q=/../%2e")), section_errc::ok);
  EXPECT_EQ(r.request.path, "/a/b");
  EXPECT_EQ(r.request.query, "q=/../%2e");
  EXPECT_EQ(r.request.target, "/x/..//%61/./b?q=/../%2e");
}

TEST(section_reader, a_long_path_is_looked_up_though_the_store_moves) {
  reading r;
  const std::string path = "/" + std::string(900, 'x') + "/../" + std::string(90, 'y');
  ASSERT_EQ(r.read(section_kind::request, with(changed(get, ":path", path), {{"host", "example.test"}})),
            section_errc::ok);
  EXPECT_EQ(r.request.path, "/" + std::string(90, 'y'));
  EXPECT_EQ(r.request.target, path);
  EXPECT_EQ(r.request.method_name, "GET");
  EXPECT_EQ(r.request.fields[0].value, "example.test");
}

TEST(section_reader, connect_has_an_authority_and_nothing_else) {
  const list connect = {{":method", "CONNECT"}, {":authority", "example.test:443"}};
  EXPECT_EQ(why(connect), section_errc::ok);
  EXPECT_EQ(why(with(connect, {{":path", "/"}})), section_errc::pseudo_forbidden);
  EXPECT_EQ(why(with(connect, {{":scheme", "https"}})), section_errc::pseudo_forbidden);
  EXPECT_EQ(why({{":method", "CONNECT"}}), section_errc::pseudo_missing);
  EXPECT_EQ(why({{":method", "CONNECT"}, {":authority", "a b"}}), section_errc::bad_authority);
}

TEST(section_reader, extended_connect_has_all_of_them) {
  const list ws = with(changed(get, ":method", "CONNECT"), {{":protocol", "websocket"}});
  reading r;
  ASSERT_EQ(r.read(section_kind::request, ws), section_errc::ok);
  EXPECT_EQ(r.request.protocol, "websocket");
  EXPECT_EQ(r.request.path, "/a");
  EXPECT_EQ(why(ws, {.extended_connect = false}), section_errc::bad_protocol);
  EXPECT_EQ(why(with(get, {{":protocol", "websocket"}})), section_errc::bad_protocol);
  EXPECT_EQ(why(with(changed(get, ":method", "CONNECT"), {{":protocol", "a b"}})), section_errc::bad_protocol);
  for (const char* name : {":scheme", ":path", ":authority"})
    EXPECT_EQ(why(without(ws, name)), section_errc::pseudo_missing) << name;
}

TEST(section_reader, refuses_names_with_capitals_or_bad_characters) {
  for (const char* n : {"", "Accept", "acc ept", "a:b", "a\r", "a\n", "\xc3\xa4", "a\x01"})
    EXPECT_EQ(why(with(get, {{n, "x"}})), section_errc::bad_name) << n;
}

TEST(section_reader, refuses_values_that_would_end_a_line_elsewhere) {
  using namespace std::string_view_literals;
  for (const std::string_view v :
       {"a\rb"sv, "a\nb"sv, "a\0b"sv, "\0"sv, " a"sv, "a "sv, "\ta"sv, "a\t"sv, "a\x7f"sv, "a\x1f"sv})
    EXPECT_EQ(why(with(get, {{"x", v}})), section_errc::bad_value) << v;
  EXPECT_EQ(why(changed(get, ":path", "/a\r\nx: y")), section_errc::bad_value);
  EXPECT_EQ(why(with(get, {{"x", "\xff\tb"}, {"y", ""}})), section_errc::ok);
}

TEST(section_reader, refuses_fields_of_http_1_1_connections) {
  for (const char* n : {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"})
    EXPECT_EQ(why(with(get, {{n, "x"}})), section_errc::connection_specific) << n;
  EXPECT_EQ(why(with(get, {{"te", "trailers"}})), section_errc::ok);
  EXPECT_EQ(why(with(get, {{"te", "gzip"}})), section_errc::connection_specific);
}

TEST(section_reader, a_content_length_is_one_number) {
  EXPECT_EQ(why(with(get, {{"content-length", "5"}, {"content-length", "5"}})), section_errc::bad_content_length);
  for (const char* v : {"", "-1", "1a", "+5", "1,1", "18446744073709551616"})
    EXPECT_EQ(why(with(get, {{"content-length", v}})), section_errc::bad_content_length) << v;
}

TEST(section_reader, joins_the_crumbs_of_a_cookie) {
  reading r;
  ASSERT_EQ(
      r.read(section_kind::request,
             with(get, {{"cookie", "a=1"}, {"accept", "*/*"}, {"cookie", "b=2"}, {"priority", "i"}, {"cookie", ""}})),
      section_errc::ok);
  ASSERT_EQ(r.request.fields.size(), 3u);
  EXPECT_EQ(r.request.fields[0].name, "cookie");
  EXPECT_EQ(r.request.fields[0].value, "a=1; b=2; ");
  EXPECT_EQ(r.request.fields[1].name, "accept");
  EXPECT_EQ(r.priority, "i");
}

TEST(section_reader, other_fields_that_come_twice_stay_two) {
  reading r;
  ASSERT_EQ(r.read(section_kind::request, with(get, {{"x", "1"}, {"x", "2"}})), section_errc::ok);
  EXPECT_EQ(r.request.fields.size(), 2u);
}

TEST(section_reader, the_limit_counts_as_the_rfc_does_and_after_each_field) {
  const list one = with(get, {{"x", std::string_view("0123456789")}});
  std::uint64_t size = 0;
  for (const http::field& f : one) size += f.name.size() + f.value.size() + 32;
  EXPECT_EQ(why(one, {.limit_bytes = size}), section_errc::ok);
  EXPECT_EQ(why(one, {.limit_bytes = size - 1}), section_errc::too_large);
  reading r;
  section_reader in(section_kind::request, {.limit_bytes = 200}, r.store);
  unsigned taken = 0;
  while (in.on_field("a", "b") == section_errc::ok) ++taken;
  EXPECT_EQ(taken, 200 / 34u) << "stopped at the field that is too much, not at the end";
}

TEST(section_reader, trailers_have_the_limit_and_no_pseudo_header_fields) {
  reading r;
  EXPECT_EQ(r.read(section_kind::trailers, {{"x", "1"}}), section_errc::ok);
  EXPECT_EQ(r.trailers.size(), 1u);
  EXPECT_EQ(r.read(section_kind::trailers, {{":path", "/"}}), section_errc::pseudo_late);
  EXPECT_EQ(r.read(section_kind::trailers, {{":status", "200"}}), section_errc::pseudo_late);
  EXPECT_EQ(r.read(section_kind::trailers, {{"X", "1"}}), section_errc::bad_name);
  EXPECT_EQ(r.read(section_kind::trailers, {{"x", "1"}}, {.limit_bytes = 33}), section_errc::too_large);
}

TEST(section_reader, responses_have_a_status_and_no_other_pseudo_header_field) {
  reading r;
  ASSERT_EQ(r.read(section_kind::response, {{":status", "204"}, {"server", "x"}}), section_errc::ok);
  EXPECT_EQ(r.response.status, 204u);
  EXPECT_EQ(r.response.fields.size(), 1u);
  EXPECT_EQ(r.read(section_kind::response, {{"server", "x"}}), section_errc::pseudo_missing);
  EXPECT_EQ(r.read(section_kind::response, {{":status", "200"}, {":path", "/"}}), section_errc::pseudo_unknown);
  for (const char* s : {"", "20", "2000", "abc", "99", "101", "600", "+20"})
    EXPECT_EQ(r.read(section_kind::response, {{":status", s}}), section_errc::bad_status) << s;
}

TEST(section_reader, says_no_memory_and_not_malformed_when_there_is_none) {
  reading r;
  std::vector<std::unique_ptr<field_store>> all;
  for (;;) {
    auto s = std::make_unique<field_store>(r.memory);
    if (!s->add("x", "y")) break;
    all.push_back(std::move(s));
  }
  EXPECT_EQ(r.read(section_kind::request, get), section_errc::no_memory);
  EXPECT_FALSE(is_malformed(section_errc::no_memory));
}

}  // namespace
}  // namespace millrace::h3
