#include "srmp/datagram_server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "srmp/datagram_sink.hpp"
#include "srmp/from_hex.hpp"
#include "support/hostile.hpp"

namespace millrace::srmp {
namespace {

using test_support::from_hex;
using test_support::kept_datagrams;

struct server {
  kept_datagrams sink{1472};
  std::array<std::uint8_t, 1472> spill;
  server_counters count;
  compatibility peer;
  datagram_end end = datagram_end::whole;

  // Replies to one datagram.
  template <class Handler>
  std::vector<std::vector<std::uint8_t>> serve(base::byte_view in, Handler& handler) {
    sink.sent.clear();
    frame_batch batch(sink, peer.one_frame_a_datagram ? 0 : 1472, spill);
    end = serve_datagram(in, handler, batch, peer, count);
    batch.flush();
    return sink.sent;
  }
  std::vector<std::vector<std::uint8_t>> echo(const char* text) {
    echo_handler handler;
    const std::vector<std::uint8_t> in = from_hex(text);
    return serve(in, handler);
  }
};

using datagrams = std::vector<std::vector<std::uint8_t>>;

TEST(srmp_server, answers_a_request_with_its_kind_and_sequence) {
  server s;
  EXPECT_EQ(s.echo("01 01 04 00 4F 70 65 6E"), datagrams{from_hex("81 01 04 00 4F 70 65 6E")});  // S1
  EXPECT_EQ(s.echo("3F FF 01 00 AA"), datagrams{from_hex("BF FF 01 00 AA")});                    // S6
  EXPECT_EQ(s.echo("01 05 00 00"), datagrams{from_hex("81 05 00 00")});                          // S5
  EXPECT_EQ(s.end, datagram_end::whole);
  EXPECT_EQ(s.count.requests.get(), 3u);
  EXPECT_EQ(s.count.replies.get(), 3u);
}

TEST(srmp_server, answers_several_requests_of_a_datagram_in_one) {  // Q7
  server s;
  EXPECT_EQ(s.echo("01 01 01 00 41 01 02 01 00 42"), datagrams{from_hex("81 01 01 00 41 81 02 01 00 42")});
}

TEST(srmp_server, drops_a_cut_frame_and_does_not_join_it_to_the_next_datagram) {  // Q6
  server s;
  EXPECT_EQ(s.echo("01 01 04 00 41"), datagrams{});
  EXPECT_EQ(s.end, datagram_end::truncated);
  EXPECT_EQ(drop_reason_of(s.end), stats::drop_reason::srmp_truncated);
  EXPECT_EQ(s.echo("01 02 01 00 42"), datagrams{from_hex("81 02 01 00 42")});
  EXPECT_EQ(s.count.truncated.get(), 1u);
}

TEST(srmp_server, answers_what_came_before_a_frame_that_is_cut_or_cannot_be) {
  server s;
  EXPECT_EQ(s.echo("01 01 01 00 41 01 02 02 00 42 43 01 03 01"),  // Q1's first chunk
            datagrams{from_hex("81 01 01 00 41 81 02 02 00 42 43")});
  EXPECT_EQ(s.end, datagram_end::truncated);
  EXPECT_EQ(s.echo("01 01 01 00 41 01 01 FF FF FF FF FF FF 01 02 01 00 42"), datagrams{from_hex("81 01 01 00 41")});
  EXPECT_EQ(s.end, datagram_end::malformed);
  EXPECT_EQ(drop_reason_of(s.end), stats::drop_reason::srmp_malformed);
  EXPECT_EQ(s.count.malformed.get(), 1u);
}

TEST(srmp_server, reads_the_long_form_of_a_short_length_and_never_writes_it) {  // Q5
  server s;
  EXPECT_EQ(s.echo("01 01 FF FF 01 00 00 00 41 01 02 02 00 6F 6B"),
            datagrams{from_hex("81 01 01 00 41 81 02 02 00 6F 6B")});
}

TEST(srmp_server, answers_neither_one_way_messages_nor_replies) {
  server s;
  EXPECT_EQ(s.echo("43 2A 02 00 7B 7D C1 07 01 00 78 81 01 02 00 4F 4B"), datagrams{});  // S3, S4, S2
  EXPECT_EQ(s.count.one_ways.get(), 1u);
  EXPECT_EQ(s.count.stray_replies.get(), 2u);
  EXPECT_EQ(s.count.requests.get(), 0u);
}

TEST(srmp_server, takes_an_empty_datagram_for_a_goodbye_if_told_so) {
  server s;
  EXPECT_EQ(s.echo(""), datagrams{});
  EXPECT_EQ(s.end, datagram_end::closed);
  s.peer.empty_datagram_closes = false;
  s.echo("");
  EXPECT_EQ(s.end, datagram_end::ignored);
  EXPECT_EQ(s.count.empty.get(), 2u);
  EXPECT_EQ(s.count.datagrams.get(), 2u);
}

struct talkative {  // text, an error, a stream of three, nothing; by the first byte of the payload
  template <class Batch>
  void on_request(const wire::frame& f, responder<Batch>& answer) noexcept {
    const char what = f.payload.empty() ? ' ' : static_cast<char>(f.payload[0]);
    const auto say = [&](std::string_view text) {
      const base::byte_span room = answer.claim_any();
      ASSERT_GE(room.size(), text.size());
      std::ranges::copy(base::as_bytes(text), room.begin());
      if (what == 'e')
        EXPECT_TRUE(answer.error(text.size()));
      else
        EXPECT_TRUE(answer.reply(text.size(), what == 't' ? wire::data_kind::text : wire::data_kind::packet));
    };
    if (what == ' ') return;
    for (int i = 0; i < (what == 's' ? 3 : 1); ++i) say("ok");
  }
  void on_one_way(const wire::frame& f) noexcept { notes += f.payload.size(); }
  std::size_t notes = 0;
};

TEST(srmp_server, lets_a_handler_answer_with_an_error_a_stream_or_not_at_all) {
  server s;
  talkative handler;
  EXPECT_EQ(s.serve(from_hex("01 01 01 00 65 01 02 01 00 73 01 03 00 00 41 04 02 00 61 62"), handler),
            datagrams{from_hex("C1 01 02 00 6F 6B 81 02 02 00 6F 6B 81 02 02 00 6F 6B 81 02 02 00 6F 6B")});
  EXPECT_EQ(s.count.error_replies.get(), 1u);
  EXPECT_EQ(s.count.replies.get(), 3u);
  EXPECT_EQ(s.count.unanswered.get(), 1u);
  EXPECT_EQ(handler.notes, 2u);
}

TEST(srmp_server, answers_as_the_first_generation_does_when_switched) {
  server s;
  s.peer = compatibility::first_generation();
  talkative handler;
  EXPECT_EQ(s.serve(from_hex("03 01 01 00 74 03 02 01 00 62"), handler),  // json asked; text and bytes answered
            (datagrams{from_hex("80 01 02 00 6F 6B"), from_hex("81 02 02 00 6F 6B")}));
}

TEST(srmp_server, counts_replies_it_cannot_send_and_goes_on) {
  server s;
  s.sink.buffers = 0;
  EXPECT_EQ(s.echo("01 01 01 00 41 01 02 01 00 42"), datagrams{});
  EXPECT_EQ(s.count.reply_no_buffer.get(), 2u);
  EXPECT_EQ(s.count.unanswered.get(), 0u);
  s.sink.buffers = 5;
  std::vector<std::uint8_t> large = from_hex("01 01 BD 05");  // 1469 bytes: 1473 in all
  large.resize(4 + 1469);
  echo_handler handler;
  EXPECT_EQ(s.serve(large, handler), datagrams{});
  EXPECT_EQ(s.count.reply_too_large.get(), 1u);
  EXPECT_EQ(s.echo("01 01 01 00 41").size(), 1u);
}

TEST(srmp_server, survives_every_truncation_and_every_changed_byte) {
  server s;
  echo_handler handler;
  const std::vector<std::uint8_t> good =
      from_hex("01 01 01 00 41 43 2A 02 00 7B 7D 01 01 FF FF 01 00 00 00 41 01 05 00 00");
  const auto check = [&](base::byte_view in) {
    std::size_t bytes = 0;
    for (const auto& datagram : s.serve(in, handler)) {
      EXPECT_EQ(wire::classify_datagram(datagram).kind, wire::datagram_kind::exact);
      bytes += datagram.size();
    }
    EXPECT_LE(bytes, in.size()) << "an echo amplifies nothing";
  };
  test::for_every_truncation(good, check);
  test::for_every_byte_change(good, check);
}

}  // namespace
}  // namespace millrace::srmp
