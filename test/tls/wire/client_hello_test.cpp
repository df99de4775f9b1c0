#include "tls/wire/client_hello.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/bytes.hpp"
#include "support/hostile.hpp"
#include "tls/wire/extension_type.hpp"

namespace millrace::tls::wire {
namespace {

using base::byte_view;
using base::parse_errc;
using base::parse_status;
using test::byte_list;
using test::from_hex;
using test::from_text;
using test::join;
using test::to_hex;

byte_list box8(const byte_list& in) { return join({byte_list{static_cast<std::uint8_t>(in.size())}, in}); }
byte_list box16(const byte_list& in) {
  return join({byte_list{static_cast<std::uint8_t>(in.size() >> 8), static_cast<std::uint8_t>(in.size())}, in});
}
byte_list extension(std::uint16_t type, const byte_list& body) {
  return join({byte_list{static_cast<std::uint8_t>(type >> 8), static_cast<std::uint8_t>(type)}, box16(body)});
}
byte_list server_name(std::string_view host) {
  return extension(ext_server_name, box16(join({byte_list{name_type_host}, box16(from_text(host))})));
}
byte_list message(const byte_list& body) {
  return join({byte_list{handshake_client_hello, 0, static_cast<std::uint8_t>(body.size() >> 8),
                         static_cast<std::uint8_t>(body.size())},
               body});
}

struct hello_parts {
  byte_list version = from_hex("0303");
  byte_list random = byte_list(32, 0x52);
  byte_list session = box8({});
  byte_list suites = box16(from_hex("1a1a 1301 1302 1303"));
  byte_list compression = box8({0});
  byte_list extensions;
  [[nodiscard]] byte_list build() const {
    return message(join({version, random, session, suites, compression, box16(extensions)}));
  }
};

hello_parts with(std::initializer_list<byte_view> extensions) {
  hello_parts parts;
  parts.extensions = join(extensions);
  return parts;
}

parse_status parse(const byte_list& in, client_hello& h) { return parse_client_hello(test::keep(in), h); }
parse_errc code_of(const hello_parts& parts) {
  client_hello h;
  return parse(parts.build(), h).code;
}

byte_list full_hello() {
  return with({extension(0x2a2a, {}), server_name("www.example.com"),
               extension(ext_alpn, box16(join({box8(from_text("h3")), box8(from_text("hq-interop"))}))),
               extension(ext_supported_versions, box8(from_hex("3a3a 0304 0303"))),
               extension(ext_signature_algorithms, box16(from_hex("0403 0804 0401"))),
               extension(ext_key_share, from_hex("0024 001d 0020") /* not looked into */),
               extension(ext_quic_transport_parameters, from_hex("0102 4400 0800"))})
      .build();
}

TEST(client_hello, reads_every_field_of_a_browsers_hello) {
  client_hello h;
  ASSERT_TRUE(parse(full_hello(), h));
  EXPECT_EQ(h.legacy_version, 0x0303);
  EXPECT_EQ(to_hex(h.random), to_hex(byte_list(32, 0x52)));
  EXPECT_TRUE(h.session_id.empty());
  EXPECT_TRUE(h.has_sni);
  EXPECT_EQ(h.sni, "www.example.com");
  EXPECT_EQ(std::vector(h.cipher_suites.begin(), h.cipher_suites.end()),
            (std::vector<std::uint16_t>{0x1a1a, 0x1301, 0x1302, 0x1303}));
  EXPECT_EQ(std::vector(h.extensions.begin(), h.extensions.end()),
            (std::vector<std::uint16_t>{0x2a2a, 0, 16, 43, 13, 51, 0x39}));
  EXPECT_EQ(std::vector(h.alpn.begin(), h.alpn.end()), (std::vector<std::string_view>{"h3", "hq-interop"}));
  EXPECT_EQ(std::vector(h.supported_versions.begin(), h.supported_versions.end()),
            (std::vector<std::uint16_t>{0x3a3a, 0x0304, 0x0303}));
  EXPECT_EQ(std::vector(h.signature_algorithms.begin(), h.signature_algorithms.end()),
            (std::vector<std::uint16_t>{0x0403, 0x0804, 0x0401}));
  EXPECT_TRUE(h.has_transport_parameters);
  EXPECT_EQ(to_hex(h.transport_parameters), "010244000800");
}

TEST(client_hello, may_end_without_extensions) {  // RFC 5246 7.4.1.2
  hello_parts parts;
  const byte_list body = join({parts.version, parts.random, parts.session, parts.suites, parts.compression});
  client_hello h;
  ASSERT_TRUE(parse(message(body), h));
  EXPECT_FALSE(h.has_sni);
  EXPECT_FALSE(h.has_transport_parameters);
  EXPECT_TRUE(h.extensions.empty());
}

TEST(client_hello, takes_the_transport_parameters_of_drafts_and_prefers_the_final_number) {
  client_hello h;
  const byte_list draft = extension(ext_quic_transport_parameters_draft, from_hex("aa"));
  const byte_list final_number = extension(ext_quic_transport_parameters, from_hex("bb"));
  ASSERT_TRUE(parse(with({draft}).build(), h));
  EXPECT_EQ(to_hex(h.transport_parameters), "aa");
  ASSERT_TRUE(parse(with({draft, final_number}).build(), h));
  EXPECT_EQ(to_hex(h.transport_parameters), "bb");
  ASSERT_TRUE(parse(with({final_number, draft}).build(), h));
  EXPECT_EQ(to_hex(h.transport_parameters), "bb");
  ASSERT_TRUE(parse(with({extension(ext_quic_transport_parameters, {})}).build(), h));
  EXPECT_TRUE(h.has_transport_parameters);
  EXPECT_TRUE(h.transport_parameters.empty());
}

TEST(client_hello, refuses_another_message_and_wrong_outer_lengths) {
  byte_list hello = full_hello();
  client_hello h;
  hello[0] = 2;
  EXPECT_EQ(parse(hello, h).code, parse_errc::bad_value);
  hello[0] = 1;
  hello.push_back(0);
  const parse_status longer = parse(hello, h);
  EXPECT_EQ(longer.code, parse_errc::trailing_bytes);
  EXPECT_EQ(longer.at, hello.size() - 1);
  hello.resize(hello.size() - 2);
  EXPECT_EQ(parse(hello, h).code, parse_errc::truncated);
  EXPECT_EQ(parse({}, h).code, parse_errc::truncated);
}

TEST(client_hello, refuses_inner_lengths_that_lie) {
  hello_parts parts;
  parts.session = box8(byte_list(33));
  EXPECT_EQ(code_of(parts), parse_errc::bad_length);
  parts = {};
  parts.session = from_hex("ff");
  EXPECT_EQ(code_of(parts), parse_errc::bad_length);
  parts = {};
  parts.suites = box16({});
  EXPECT_EQ(code_of(parts), parse_errc::bad_length);
  parts.suites = box16(from_hex("130113"));
  EXPECT_EQ(code_of(parts), parse_errc::bad_length);
  parts = {};
  parts.compression = box8({});
  EXPECT_EQ(code_of(parts), parse_errc::bad_length);
  parts = {};
  parts.extensions = from_hex("0000 0005 00");
  EXPECT_EQ(code_of(parts), parse_errc::bad_length);
  parts.extensions = from_hex("00");
  EXPECT_EQ(code_of(parts), parse_errc::bad_length);
  client_hello h;
  const byte_list body =
      join({parts.version, parts.random, parts.session, parts.suites, parts.compression, from_hex("0000 00")});
  EXPECT_EQ(parse(message(body), h).code, parse_errc::trailing_bytes);
}

TEST(client_hello, refuses_an_extension_that_comes_twice) {  // RFC 8446 4.2
  EXPECT_EQ(code_of(with({server_name("a.example"), server_name("b.example")})), parse_errc::duplicate);
  EXPECT_EQ(code_of(with({extension(0x1234, {}), extension(0x1234, {})})), parse_errc::duplicate);
}

TEST(client_hello, takes_one_host_name_and_skips_names_of_other_types) {  // RFC 6066 3
  const byte_list other = join({byte_list{7}, box16(from_text("other"))});
  const byte_list host = join({byte_list{0}, box16(from_text("host.example"))});
  client_hello h;
  ASSERT_TRUE(parse(with({extension(ext_server_name, box16(join({other, host})))}).build(), h));
  EXPECT_EQ(h.sni, "host.example");
  ASSERT_TRUE(parse(with({extension(ext_server_name, box16(other))}).build(), h));
  EXPECT_FALSE(h.has_sni);
  EXPECT_TRUE(h.sni.empty());
  EXPECT_EQ(code_of(with({extension(ext_server_name, box16(join({host, host})))})), parse_errc::duplicate);
}

TEST(client_hello, takes_host_names_that_are_addresses_or_carry_a_port) {  // real clients send both
  client_hello h;
  for (const std::string_view host : {"192.0.2.1", "server4:443", "xn--bcher-kva.example", "_a.b"}) {
    ASSERT_TRUE(parse(with({server_name(host)}).build(), h));
    EXPECT_EQ(h.sni, host);
  }
}

TEST(client_hello, refuses_broken_server_names) {
  EXPECT_EQ(code_of(with({server_name("")})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({extension(ext_server_name, {})})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({extension(ext_server_name, box16({}))})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({extension(ext_server_name, from_hex("0005 00 0003 6162"))})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({extension(ext_server_name, from_hex("0004 00 0001 61 ff"))})), parse_errc::trailing_bytes);
  EXPECT_EQ(code_of(with({extension(ext_server_name, from_hex("0004 00 0002 61"))})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({server_name(std::string_view("a\0b", 3))})), parse_errc::bad_value);
  EXPECT_EQ(code_of(with({server_name("a b")})), parse_errc::bad_value);
  EXPECT_EQ(code_of(with({server_name("a\x7f")})), parse_errc::bad_value);
  EXPECT_EQ(code_of(with({server_name("\xc3\xa4.example")})), parse_errc::bad_value);
}

TEST(client_hello, refuses_broken_alpn_lists) {  // RFC 7301 3.1
  EXPECT_EQ(code_of(with({extension(ext_alpn, box16({}))})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({extension(ext_alpn, box16({0}))})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({extension(ext_alpn, box16(from_hex("036833")))})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({extension(ext_alpn, from_hex("0003 02 6833 00"))})), parse_errc::trailing_bytes);
  byte_list many;
  for (std::size_t i = 0; i < max_alpn; ++i) many = join({many, from_hex("0161")});
  EXPECT_EQ(code_of(with({extension(ext_alpn, box16(many))})), parse_errc::ok);
  EXPECT_EQ(code_of(with({extension(ext_alpn, box16(join({many, from_hex("0161")})))})), parse_errc::too_many);
}

TEST(client_hello, refuses_broken_number_lists) {
  EXPECT_EQ(code_of(with({extension(ext_supported_versions, box8({}))})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({extension(ext_supported_versions, box8({3}))})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({extension(ext_supported_versions, from_hex("02 0304 00"))})), parse_errc::trailing_bytes);
  EXPECT_EQ(code_of(with({extension(ext_supported_versions, box8(byte_list(2 * max_versions)))})), parse_errc::ok);
  EXPECT_EQ(code_of(with({extension(ext_supported_versions, box8(byte_list(2 * max_versions + 2)))})),
            parse_errc::too_many);
  EXPECT_EQ(code_of(with({extension(ext_signature_algorithms, box16({}))})), parse_errc::bad_length);
  EXPECT_EQ(code_of(with({extension(ext_signature_algorithms, box16(byte_list(2 * max_signature_algorithms + 2)))})),
            parse_errc::too_many);
  hello_parts parts;
  parts.suites = box16(byte_list(2 * max_cipher_suites));
  EXPECT_EQ(code_of(parts), parse_errc::ok);
  parts.suites = box16(byte_list(2 * max_cipher_suites + 2));
  EXPECT_EQ(code_of(parts), parse_errc::too_many);
}

TEST(client_hello, caps_the_number_of_extensions) {
  byte_list many;
  for (std::size_t i = 0; i < max_extensions; ++i)
    many = join({many, extension(static_cast<std::uint16_t>(0x4000 + i), {})});
  hello_parts parts;
  parts.extensions = many;
  EXPECT_EQ(code_of(parts), parse_errc::ok);
  parts.extensions = join({many, extension(0x5000, {})});
  EXPECT_EQ(code_of(parts), parse_errc::too_many);
}

TEST(client_hello, leaves_the_output_alone_when_it_fails) {
  client_hello h;
  h.sni = "before";
  EXPECT_FALSE(parse(with({server_name("after.example"), extension(ext_alpn, {})}).build(), h));
  EXPECT_EQ(h.sni, "before");
}

void expect_sound(byte_view in, parse_status status, const client_hello& h) {
  EXPECT_LE(status.at, in.size());
  if (!status) return;
  EXPECT_TRUE(test::lies_in(h.random, in) && h.random.size() == 32);
  EXPECT_TRUE(test::lies_in(h.session_id, in));
  EXPECT_TRUE(test::lies_in(base::as_bytes(h.sni), in));
  EXPECT_TRUE(test::lies_in(h.transport_parameters, in));
  for (const std::string_view name : h.alpn) EXPECT_TRUE(test::lies_in(base::as_bytes(name), in) && !name.empty());
  EXPECT_EQ(h.has_sni, !h.sni.empty());
}

TEST(client_hello, refuses_every_truncation) {
  test::for_every_truncation(full_hello(), [](byte_view in) {
    client_hello h;
    const parse_status status = parse_client_hello(in, h);
    EXPECT_EQ(status.code, parse_errc::truncated) << in.size();
    EXPECT_LE(status.at, in.size());
  });
}

TEST(client_hello, refuses_every_truncation_that_its_own_length_hides) {
  // As if the sender had meant it: the outer length is put right, so an inner one must give the lie away, except where
  // the hello may end (before its extensions).
  const byte_list good = full_hello();
  const std::size_t before_extensions = 4 + 2 + 32 + 1 + 2 + 8 + 2;
  test::for_every_truncation(good, [&](byte_view in) {
    if (in.size() < handshake_header_size) return;
    byte_list cut(in.begin(), in.end());
    cut[2] = static_cast<std::uint8_t>((cut.size() - 4) >> 8);
    cut[3] = static_cast<std::uint8_t>(cut.size() - 4);
    client_hello h;
    const parse_status status = parse(cut, h);
    EXPECT_EQ(static_cast<bool>(status), cut.size() == before_extensions) << cut.size();
  });
}

TEST(client_hello, survives_every_change_of_one_byte) {
  test::for_every_byte_change(full_hello(), [](byte_view in) {
    client_hello h;
    expect_sound(in, parse_client_hello(in, h), h);
  });
}

TEST(client_hello, survives_many_changes_at_once) {
  const byte_list good = full_hello();
  std::mt19937 random(446);
  test::guard_page guard(good.size());
  for (int round = 0; round < 50000; ++round) {
    const base::byte_span bytes = guard.place(good);
    for (auto change = 1 + random() % 6; change != 0; --change)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    client_hello h;
    expect_sound(bytes, parse_client_hello(bytes, h), h);
  }
}

TEST(handshake_message, is_measured_by_its_first_four_bytes) {
  bool is_hello = true;
  EXPECT_EQ(handshake_message_size(from_hex("0100"), is_hello), 0u);
  EXPECT_FALSE(is_hello);
  EXPECT_EQ(handshake_message_size(from_hex("01000102"), is_hello), 4u + 0x102);
  EXPECT_TRUE(is_hello);
  EXPECT_EQ(handshake_message_size(from_hex("02ffffff aa"), is_hello), 4u + 0xffffff);
  EXPECT_FALSE(is_hello);
}

}  // namespace
}  // namespace millrace::tls::wire
