#include "srmp/frame_pump.hpp"

#include <gtest/gtest.h>

#include <string>

#include "mem/heap_counter.hpp"
#include "srmp/wire/frame.hpp"
#include "support/bytes.hpp"
#include "support/eal_main.hpp"
#include "support/packets.hpp"
#include "support/seeded.hpp"

namespace millrace::srmp {
namespace {

using buf::read_status;
using test::byte_list;
using test::checked_pool;
using test::from_hex;
using wire::frame_header;
using wire::header_errc;

std::string text_of(buf::cursor in) {
  std::string out(in.remaining(), '\0');
  EXPECT_TRUE(in.copy({reinterpret_cast<std::uint8_t*>(out.data()), out.size()}));
  return out;
}

void put(buf::pipe& into, checked_pool& pool, base::byte_view bytes) { into.append(test::packet_of(*pool, bytes)); }
void put(buf::pipe& into, checked_pool& pool, std::string_view hex) { put(into, pool, from_hex(hex)); }

byte_list frame_of(std::uint8_t seq, base::byte_view payload) {
  byte_list out(wire::frame_size_for(static_cast<std::uint32_t>(payload.size())));
  EXPECT_EQ(wire::emit_frame(out, 0x01, seq, payload), out.size());
  return out;
}

std::string next_payload(frame_pump& pump) {
  whole_frame frame;
  const pump_status status = pump.next_whole(frame);
  if (status != pump_status::ready) return std::string(to_string(status));
  EXPECT_EQ(frame.bytes.size(), frame.header.frame_size());
  frame.drop_header();
  return std::to_string(frame.header.seq) + " " + text_of(frame.bytes.read());
}

TEST(frame_pump, delivers_a_header_before_its_payload) {
  checked_pool pool;
  buf::pipe stream;
  frame_pump pump(stream);
  put(stream, pool, "01 07 05 00");
  frame_header header;
  ASSERT_EQ(pump.next_header(header), pump_status::ready);
  EXPECT_EQ(header, (frame_header{1, 7, 4, 5}));
  EXPECT_EQ(pump.body().remaining(), 5u);
  EXPECT_EQ(pump.body().poll(), read_status::wait);
  put(stream, pool, "48 65 6C");
  EXPECT_EQ(pump.body().poll(), read_status::data);
  EXPECT_EQ(text_of(pump.body().window()), "Hel");
  put(stream, pool, "6C 6F 01 08 00 00");
  EXPECT_EQ(text_of(pump.body().window()), "Hello") << "and not a byte of the next frame";
  EXPECT_EQ(pump.body().poll(), read_status::ended);
  EXPECT_TRUE(pump.body().consume(5));
  ASSERT_EQ(pump.next_header(header), pump_status::ready);
  EXPECT_EQ(header.seq, 8);
  EXPECT_EQ(pump.body().poll(), read_status::ended) << "an empty body";
  EXPECT_EQ(pump.next_header(header), pump_status::wait);
}

TEST(frame_pump, drains_what_a_reader_left_of_its_body_also_what_is_still_to_come) {
  checked_pool pool;
  buf::pipe stream;
  frame_pump pump(stream);
  put(stream, pool, "01 01 06 00 41 42 43");
  frame_header header;
  ASSERT_EQ(pump.next_header(header), pump_status::ready);
  EXPECT_TRUE(pump.body().consume(1));
  EXPECT_EQ(pump.next_header(header), pump_status::wait);
  EXPECT_EQ(header.seq, 1) << "nothing was written";
  EXPECT_TRUE(pump.is_inside_frame());
  put(stream, pool, "44 01");  // looks like the start of a header, and is payload
  EXPECT_EQ(pump.next_header(header), pump_status::wait);
  put(stream, pool, "46 01 02 00 00");
  ASSERT_EQ(pump.next_header(header), pump_status::ready);
  EXPECT_EQ(header.seq, 2);
  EXPECT_EQ(pump.next_header(header), pump_status::wait);
  EXPECT_FALSE(pump.is_inside_frame());
}

TEST(frame_pump, cuts_whole_frames_without_copying) {
  checked_pool pool;
  buf::pipe stream;
  frame_pump pump(stream);
  buf::packet one = test::packet_of(*pool, from_hex("01 01 01 00 41 01 02 02 00 42 43 01 03 01"));  // Q1
  const std::uint8_t* bytes = one.first().data();
  stream.append(std::move(one));
  whole_frame first;
  whole_frame second;
  ASSERT_EQ(pump.next_whole(first), pump_status::ready);
  ASSERT_EQ(pump.next_whole(second), pump_status::ready);
  EXPECT_EQ(first.bytes.front().data(), bytes);
  EXPECT_EQ(second.bytes.front().data(), bytes + 5);
  EXPECT_EQ(pump.next_whole(first), pump_status::wait);
  EXPECT_EQ(first.header.seq, 1) << "kept while there is nothing new";
  EXPECT_EQ(text_of(first.bytes.read()).substr(4), "A");
  put(stream, pool, "00 44");
  EXPECT_EQ(next_payload(pump), "3 D");
  second.drop_header();
  EXPECT_EQ(text_of(second.bytes.read()), "BC");
}

TEST(frame_pump, reads_a_long_form_of_a_short_length_and_goes_on_behind_it) {  // Q5
  checked_pool pool;
  buf::pipe stream;
  frame_pump pump(stream);
  put(stream, pool, "01 01 FF FF 01 00 00 00 41 01 02 02 00 6F 6B");
  EXPECT_EQ(next_payload(pump), "1 A");
  EXPECT_EQ(next_payload(pump), "2 ok");
  EXPECT_EQ(next_payload(pump), "wait");
}

TEST(frame_pump, mixes_both_ways_of_reading) {
  checked_pool pool;
  buf::pipe stream;
  frame_pump pump(stream);
  put(stream, pool, "01 01 02 00 41 42 01 02 01 00 43 01 03 00 00");
  frame_header header;
  ASSERT_EQ(pump.next_header(header), pump_status::ready);
  EXPECT_EQ(next_payload(pump), "2 C") << "the unread body of 1 is drained";
  ASSERT_EQ(pump.next_header(header), pump_status::ready);
  EXPECT_EQ(header.seq, 3);
}

TEST(frame_pump, tells_an_end_between_frames_from_one_inside) {
  checked_pool pool;
  frame_header header;
  {
    buf::pipe stream;
    frame_pump pump(stream);
    put(stream, pool, "01 01 01 00 41");
    stream.complete_writer();
    EXPECT_EQ(next_payload(pump), "1 A") << "what came whole is still delivered";
    EXPECT_EQ(next_payload(pump), "ended");
    EXPECT_EQ(pump.next_header(header), pump_status::ended);
  }
  for (const char* cut : {"01", "01 01 02", "01 01 FF FF 01", "01 01 02 00", "01 01 02 00 41"}) {
    buf::pipe stream;
    frame_pump pump(stream);
    put(stream, pool, cut);
    stream.complete_writer();
    EXPECT_EQ(next_payload(pump), "truncated") << cut;
    EXPECT_EQ(next_payload(pump), "truncated") << cut;
  }
}

TEST(frame_pump, a_stream_that_ends_inside_a_body_is_an_error_however_much_was_read) {
  checked_pool pool;
  buf::pipe stream;
  frame_pump pump(stream);
  put(stream, pool, "01 01 05 00 48 65");
  frame_header header;
  ASSERT_EQ(pump.next_header(header), pump_status::ready);
  stream.complete_writer();
  EXPECT_TRUE(pump.body().consume(2));
  EXPECT_EQ(pump.body().poll(), read_status::truncated);
  EXPECT_EQ(pump.next_header(header), pump_status::truncated);
}

TEST(frame_pump, tells_a_broken_stream_from_an_ended_one) {
  checked_pool pool;
  buf::pipe stream;
  frame_pump pump(stream);
  put(stream, pool, "01 01 01 00 41");
  stream.fail_writer(77);
  EXPECT_EQ(next_payload(pump), "1 A");
  EXPECT_EQ(next_payload(pump), "failed");
  EXPECT_EQ(stream.error(), 77u);
  buf::pipe other;
  frame_pump second(other);
  other.complete_reader();
  EXPECT_EQ(next_payload(second), "closed");
}

TEST(frame_pump, stops_for_good_at_a_length_that_cannot_be) {  // S16-S19
  for (const char* bad : {"01 01 FF FF FF FF FF FF", "01 01 FF FF F9 FF FF FF", "01 01 FF FF 00 00 00 80"}) {
    checked_pool pool;
    buf::pipe stream;
    frame_pump pump(stream);
    put(stream, pool, bad);
    EXPECT_EQ(next_payload(pump), "malformed") << bad;
    EXPECT_EQ(pump.why(), header_errc::negative_length);
    put(stream, pool, "01 02 01 00 42");
    EXPECT_EQ(next_payload(pump), "malformed") << "no new boundary is guessed";
    frame_header header;
    EXPECT_EQ(pump.next_header(header), pump_status::malformed);
  }
}

TEST(frame_pump, has_a_ceiling_for_each_way_of_reading) {  // S20, S21
  checked_pool pool;
  for (const char* huge : {"01 01 FF FF FF FF FF 7F", "01 01 FF FF F7 FF FF 7F"}) {
    buf::pipe stream;
    frame_pump pump(stream);
    put(stream, pool, huge);
    frame_header header;
    EXPECT_EQ(pump.next_header(header), pump_status::ready) << "streamed, any size";
    buf::pipe second;
    frame_pump whole(second);
    put(second, pool, huge);
    EXPECT_EQ(next_payload(whole), "malformed") << huge;
    EXPECT_EQ(whole.why(), header_errc::too_large);
  }
  buf::pipe stream;
  frame_pump small(stream, {.whole = 2, .streamed = 3});
  put(stream, pool, "01 01 02 00 41 42 01 02 03 00 41 42 43 01 03 04 00");
  EXPECT_EQ(next_payload(small), "1 AB");
  frame_header header;
  ASSERT_EQ(small.next_header(header), pump_status::ready);
  EXPECT_EQ(small.next_header(header), pump_status::malformed);
  EXPECT_EQ(small.why(), header_errc::too_large);
}

TEST(frame_pump, takes_a_frame_longer_than_the_mark_at_which_the_pipe_pauses) {
  checked_pool pool(255);
  buf::pipe stream({.pause_bytes = 3000, .resume_bytes = 1000});
  frame_pump pump(stream);
  const byte_list payload = test::counting_bytes(20'000);
  const byte_list frame = frame_of(9, payload);
  base::byte_view left(frame);
  int turns = 0;
  whole_frame got;
  pump_status status = pump_status::wait;
  while (status == pump_status::wait && ++turns < 100) {
    while (stream.state() == buf::flow::open && !left.empty()) {  // a writer that holds back when it is told to
      const std::size_t take = std::min<std::size_t>(left.size(), 1400);
      put(stream, pool, left.first(take));
      left = left.subspan(take);
    }
    status = pump.next_whole(got);
  }
  ASSERT_EQ(status, pump_status::ready) << "no deadlock";
  got.drop_header();
  EXPECT_EQ(got.bytes.size(), payload.size());
  EXPECT_EQ(text_of(got.bytes.read()), base::as_text(payload));
  EXPECT_GT(stream.pauses(), 1u);
}

// A writer that goes on from within on_resume, and ends the stream there.
struct eager_writer {
  buf::pipe* into = nullptr;
  checked_pool* pool = nullptr;
  byte_list rest;
  static void resume(void* self) noexcept {
    auto& me = *static_cast<eager_writer*>(self);
    if (me.rest.empty()) return;
    put(*me.into, *me.pool, std::exchange(me.rest, {}));
    me.into->complete_writer();
  }
};

TEST(frame_pump, sees_bytes_that_come_together_with_the_end_while_it_asks_for_more) {
  checked_pool pool;
  eager_writer writer;
  buf::pipe stream({.pause_bytes = 4, .resume_bytes = 2}, nullptr,
                   {.context = &writer, .on_resume = eager_writer::resume});
  writer = {&stream, &pool, from_hex("6C 6C 6F")};
  frame_pump pump(stream);
  put(stream, pool, "01 01 05 00 48 65");
  ASSERT_EQ(stream.state(), buf::flow::paused);
  EXPECT_EQ(next_payload(pump), "1 Hello");
  EXPECT_EQ(next_payload(pump), "ended");
}

// A stream of frames, in packets cut anywhere, read one way or the other at random.
TEST(frame_pump, gives_the_same_frames_however_they_are_cut_and_read) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    test::seeded random(seed);
    checked_pool pool(2047, 256);
    buf::pipe stream({.pause_bytes = 500, .resume_bytes = 200});
    frame_pump pump(stream);
    byte_list all;
    std::vector<std::string> expected;
    for (std::size_t i = 0, frames = 1 + random.below(20); i < frames; ++i) {
      const byte_list payload = random.bytes(random.below(4) == 0 ? random.below(900) : random.below(20));
      expected.emplace_back(base::as_text(payload));
      all = test::join({all, frame_of(static_cast<std::uint8_t>(i), payload)});
    }
    std::vector<std::string> got;
    std::vector<whole_frame> held;
    bool reading = false;  // a body
    bool skipped = false;
    base::byte_view left(all);
    const bool small = random.below(2) == 0;
    for (bool over = false; !over;) {
      if (!left.empty()) {
        const std::size_t take = std::min(left.size(), 1 + random.below(small ? 5 : 250));
        put(stream, pool, left.first(take));
        left = left.subspan(take);
        if (left.empty()) stream.complete_writer();
      }
      for (bool more = true; more;) {
        if (reading) {
          got.back() += text_of(pump.body().window());
          EXPECT_TRUE(pump.body().consume(pump.body().available()));
          reading = pump.body().remaining() != 0;
          if (reading && random.below(8) == 0) {  // leave the rest to the pump
            reading = false;
            skipped = true;
            got.back() = expected[got.size() - 1];
          }
          if (reading) break;
        }
        frame_header header;
        whole_frame frame;
        const bool by_header = random.below(2) == 0;
        const pump_status status = by_header ? pump.next_header(header) : pump.next_whole(frame);
        ASSERT_TRUE(status == pump_status::ready || status == pump_status::wait || status == pump_status::ended)
            << to_string(status) << " seed " << seed;
        over = status == pump_status::ended;
        more = status == pump_status::ready;
        if (!more) break;
        ASSERT_EQ(by_header ? header.seq : frame.header.seq, got.size()) << "seed " << seed;
        got.emplace_back();
        reading = by_header;
        if (by_header) continue;
        frame.drop_header();
        got.back() = text_of(frame.bytes.read());
        if (random.below(3) == 0) held.push_back(std::move(frame));
      }
    }
    ASSERT_EQ(got, expected) << "seed " << seed << (skipped ? ", some bodies skipped" : "");
  }
}

TEST(frame_pump, calls_no_heap) {
  if (!mem::heap_counter_present()) GTEST_SKIP() << "a sanitizer's heap";
  checked_pool pool;
  buf::pipe stream;
  frame_pump pump(stream);
  const byte_list two = test::join({frame_of(1, test::counting_bytes(100)), frame_of(2, test::counting_bytes(300))});
  mem::heap_tally tally;
  bool right = true;
  {
    const mem::heap_watch watch(tally);
    for (int i = 0; i < 1000; ++i) {
      buf::packet whole = buf::packet::alloc(*pool);
      right = right && whole.append_copy(base::byte_view(two).first(200));
      stream.append(std::move(whole));
      frame_header header;
      right = right && pump.next_header(header) == pump_status::ready && pump.body().remaining() == 100;
      whole_frame frame;
      right = right && pump.next_whole(frame) == pump_status::wait;
      buf::packet rest = buf::packet::alloc(*pool);
      right = right && rest.append_copy(base::byte_view(two).subspan(200));
      stream.append(std::move(rest));
      right = right && pump.next_whole(frame) == pump_status::ready && frame.bytes.size() == 304;
    }
  }
  EXPECT_TRUE(right);
  EXPECT_EQ(tally.calls.get(), 0u);
}

}  // namespace
}  // namespace millrace::srmp

MILLRACE_EAL_TEST_MAIN("-l", "0", "-m", "64")
