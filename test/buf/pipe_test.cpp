#include "buf/pipe.hpp"

#include <gtest/gtest.h>

#include <string>

#include "buf/limited_reader.hpp"
#include "mem/heap_counter.hpp"
#include "support/packets.hpp"

namespace millrace::buf {
namespace {

using test::checked_pool;
using test::packet_of;

std::string text_of(cursor in) {
  std::string out(in.remaining(), '\0');
  EXPECT_TRUE(in.copy({reinterpret_cast<std::uint8_t*>(out.data()), out.size()}));
  return out;
}

std::string take_text(pipe& from, std::size_t count) {
  chain frame;
  if (!from.take(count, frame)) return "refused";
  return text_of(frame.read());
}

base::byte_view bytes_of(std::string_view text) { return base::as_bytes(text); }

// Counts the edges a pipe reports.
struct edges {
  int readable = 0;
  int pauses = 0;
  int resumes = 0;
  pipe_events events() {
    return {.context = this,
            .on_readable = [](void* self) noexcept { ++static_cast<edges*>(self)->readable; },
            .on_pause = [](void* self) noexcept { ++static_cast<edges*>(self)->pauses; },
            .on_resume = [](void* self) noexcept { ++static_cast<edges*>(self)->resumes; }};
  }
};

void put(pipe& into, checked_pool& pool, std::string_view text) { into.append(packet_of(*pool, bytes_of(text))); }

TEST(pipe, hands_a_packet_through_without_copying) {
  checked_pool pool;
  pipe one;
  packet whole = packet_of(*pool, bytes_of("hello"));
  const std::uint8_t* bytes = whole.first().data();
  EXPECT_EQ(one.append(std::move(whole)), flow::open);
  EXPECT_EQ(one.poll(), read_status::data);
  EXPECT_EQ(one.front().data(), bytes);
  EXPECT_TRUE(one.consume(5));
  EXPECT_EQ(pool->in_use(), 0u);
  EXPECT_EQ(one.poll(), read_status::wait);
}

TEST(pipe, does_not_pause_for_a_packet_that_brings_nothing) {
  checked_pool pool;
  edges told;
  pipe one({.pause_segments = 4}, &*pool, told.events());
  for (int i = 0; i < 4; ++i) put(one, pool, "x");
  EXPECT_TRUE(one.advance_to(0, 4));
  EXPECT_EQ(one.poll(), read_status::wait);
  EXPECT_EQ(one.state(), flow::open);  // the reader wants more than it has seen
  const int pauses = told.pauses;
  put(one, pool, "");
  EXPECT_EQ(one.state(), flow::open);
  EXPECT_EQ(told.pauses, pauses);
  put(one, pool, "y");
  EXPECT_EQ(told.readable, 1);
}

TEST(pipe, tells_a_callback_what_is_left_of_a_body) {
  checked_pool pool;
  struct state {
    limited_reader* body = nullptr;
    std::uint64_t seen = 99;
  } seen;
  pipe one({.pause_bytes = 8, .resume_bytes = 4}, &*pool,
           {.context = &seen, .on_readable = nullptr, .on_pause = nullptr, .on_resume = [](void* self) noexcept {
              auto* s = static_cast<state*>(self);
              s->seen = s->body->remaining();
            }});
  put(one, pool, "0123456789");
  EXPECT_EQ(one.state(), flow::paused);
  limited_reader body(one, 10);
  seen.body = &body;
  EXPECT_TRUE(body.consume(8));
  EXPECT_EQ(seen.seen, 2u);
  EXPECT_FALSE(body.consume(3));
  EXPECT_EQ(body.remaining(), 2u);
}

TEST(pipe, makes_one_segment_of_each_node_of_a_chained_packet) {
  checked_pool pool;
  pipe one;
  packet head = packet_of(*pool, bytes_of("ab"));
  for (const char* part : {"", "cd", "", "ef"}) {
    packet tail = packet_of(*pool, bytes_of(part));
    ASSERT_TRUE(head.append_chain(tail));
  }
  one.append(std::move(head));
  EXPECT_EQ(one.data().segments(), 3u);  // the empty ones are freed
  EXPECT_EQ(pool->in_use(), 3u);
  EXPECT_EQ(text_of(one.window()), "abcdef");
}

TEST(pipe, frees_a_packet_appended_after_either_end_is_done) {
  checked_pool pool;
  pipe written;
  written.complete_writer();
  EXPECT_EQ(written.append(packet_of(*pool, bytes_of("x"))), flow::closed);
  EXPECT_EQ(written.poll(), read_status::ended);
  pipe read;
  read.complete_reader();
  EXPECT_EQ(read.append(packet_of(*pool, bytes_of("x"))), flow::closed);
  EXPECT_EQ(read.append(chain(packet_of(*pool, bytes_of("x")))), flow::closed);
  EXPECT_EQ(read.poll(), read_status::closed);
  EXPECT_EQ(pool->in_use(), 0u);
}

TEST(pipe, shows_advanced_bytes_only_after_commit) {
  checked_pool pool(63, 64);
  pipe one({}, &*pool);
  std::string expected;
  for (char c = 'a'; c < 'a' + 10; ++c) {  // over several blocks
    const base::byte_span room = one.get_span(20);
    ASSERT_GE(room.size(), 20u);
    std::fill_n(room.begin(), 20, static_cast<std::uint8_t>(c));
    ASSERT_TRUE(one.advance(20));
    expected.append(20, c);
    EXPECT_EQ(one.size(), 0u);
    EXPECT_EQ(one.poll(), read_status::wait);
  }
  EXPECT_EQ(one.commit(), flow::open);
  EXPECT_EQ(text_of(one.window()), expected);
}

TEST(pipe, refuses_to_advance_beyond_the_span) {
  checked_pool pool(63, 64);
  pipe one({}, &*pool);
  EXPECT_FALSE(one.advance(1));  // no span was asked for
  EXPECT_EQ(one.get_span().size(), 64u);
  EXPECT_FALSE(one.advance(65));
  EXPECT_TRUE(one.advance(64));
  EXPECT_FALSE(one.advance(1));
  EXPECT_TRUE(one.get_span(65).empty());  // larger than a block
}

TEST(pipe, keeps_the_order_of_spans_writes_and_packets) {
  checked_pool pool(63, 64);
  pipe one({}, &*pool);
  const base::byte_span room = one.get_span();
  room[0] = '1';
  ASSERT_TRUE(one.advance(1));
  put(one, pool, "22");  // commits the 1
  EXPECT_EQ(text_of(one.window()), "122");
  one.write(bytes_of("333"));
  put(one, pool, "4444");
  one.write(bytes_of("55555"));
  EXPECT_EQ(text_of(one.window()), "122333444455555");
}

TEST(pipe, keeps_filling_one_block_while_frames_of_it_are_out) {
  checked_pool pool(63, 64);
  pipe one({}, &*pool);
  std::vector<chain> frames(8);
  for (chain& frame : frames) {
    one.write(bytes_of("12345678"));
    ASSERT_TRUE(one.take(8, frame));
  }
  EXPECT_EQ(pool->in_use(), 1u);
  for (const chain& frame : frames) EXPECT_EQ(text_of(frame.read()), "12345678");
}

TEST(pipe, writes_all_or_nothing) {
  checked_pool pool(7, 64);
  pipe one({}, &*pool);
  EXPECT_EQ(one.write(bytes_of(std::string(40, 'a'))), flow::open);
  EXPECT_EQ(one.write(bytes_of(std::string(24 + 6 * 64 + 1, 'b'))), flow::exhausted);
  EXPECT_EQ(text_of(one.window()), std::string(40, 'a'));
  EXPECT_EQ(pool->in_use(), 1u);
  EXPECT_EQ(one.write(bytes_of(std::string(24 + 6 * 64, 'b'))), flow::open);
  EXPECT_EQ(text_of(one.window()), std::string(40, 'a') + std::string(24 + 6 * 64, 'b'));
  EXPECT_EQ(one.write(bytes_of("c")), flow::exhausted);
  EXPECT_TRUE(one.get_span().empty());
  EXPECT_TRUE(one.consume(one.size()));
  EXPECT_EQ(one.write(bytes_of("c")), flow::open);
}

TEST(pipe, pauses_at_the_high_mark_and_resumes_below_the_low_one) {
  checked_pool pool;
  edges seen;
  pipe one({.pause_bytes = 100, .resume_bytes = 50}, &*pool, seen.events());
  EXPECT_EQ(one.write(bytes_of(std::string(99, 'x'))), flow::open);
  EXPECT_EQ(one.write(bytes_of("x")), flow::paused);
  EXPECT_EQ(seen.pauses, 1);
  EXPECT_EQ(one.write(bytes_of("x")), flow::paused);  // taken all the same
  EXPECT_EQ(seen.pauses, 1);
  EXPECT_TRUE(one.consume(51));  // 50 left: not below the low mark
  EXPECT_EQ(one.state(), flow::paused);
  EXPECT_EQ(seen.resumes, 0);
  EXPECT_TRUE(one.consume(1));
  EXPECT_EQ(one.state(), flow::open);
  EXPECT_EQ(seen.resumes, 1);
  EXPECT_EQ(one.write(bytes_of(std::string(50, 'x'))), flow::open);  // hysteresis: 99 is below the high mark
  EXPECT_EQ(one.pauses(), 1u);
}

TEST(pipe, never_resumes_above_the_pause_mark_and_never_pauses_without_one) {
  checked_pool pool;
  pipe odd({.pause_bytes = 10, .resume_bytes = 1000}, &*pool);
  EXPECT_EQ(odd.write(bytes_of("0123456789ab")), flow::paused);
  EXPECT_TRUE(odd.consume(2));
  EXPECT_EQ(odd.state(), flow::paused);
  EXPECT_TRUE(odd.consume(1));
  EXPECT_EQ(odd.state(), flow::open);
  pipe free({.pause_bytes = 0, .pause_segments = 0}, &*pool);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(free.write(bytes_of(std::string(2000, 'x'))), flow::open);
}

TEST(pipe, does_not_count_examined_bytes) {
  checked_pool pool;
  pipe one({.pause_bytes = 100, .resume_bytes = 50}, &*pool);
  one.write(bytes_of(std::string(90, 'x')));
  EXPECT_TRUE(one.advance_to(0, 90));
  EXPECT_EQ(one.accounted(), 0u);
  EXPECT_EQ(one.write(bytes_of(std::string(99, 'x'))), flow::open);
  EXPECT_EQ(one.write(bytes_of("x")), flow::paused);
  EXPECT_TRUE(one.advance_to(10, 190));
  EXPECT_EQ(one.state(), flow::open);
  EXPECT_EQ(one.size(), 180u);
}

TEST(pipe, pauses_on_many_small_packets) {
  checked_pool pool;
  pipe one({.pause_bytes = 1000, .resume_bytes = 500, .pause_segments = 8});
  for (int i = 0; i < 7; ++i) EXPECT_EQ(one.append(packet_of(*pool, bytes_of("x"))), flow::open);
  EXPECT_EQ(one.append(packet_of(*pool, bytes_of("x"))), flow::paused);
  EXPECT_TRUE(one.consume(3));
  EXPECT_EQ(one.state(), flow::paused);
  EXPECT_TRUE(one.consume(1));
  EXPECT_EQ(one.state(), flow::open);
}

TEST(pipe, un_pauses_for_a_reader_that_must_wait) {
  checked_pool pool;
  edges seen;
  pipe one({.pause_bytes = 10, .resume_bytes = 5}, &*pool, seen.events());
  EXPECT_EQ(one.write(bytes_of("0123456789")), flow::paused);
  EXPECT_EQ(one.poll(), read_status::data);
  EXPECT_EQ(one.state(), flow::paused);
  // A frame of 30 bytes: nothing can be consumed yet. Without the rule neither side would ever move.
  EXPECT_TRUE(one.advance_to(0, 0));
  EXPECT_EQ(one.poll(), read_status::data);
  EXPECT_TRUE(one.advance_to(0, 10));
  EXPECT_EQ(one.state(), flow::open);
  EXPECT_EQ(one.poll(), read_status::wait);
  EXPECT_EQ(seen.resumes, 1);
  one.write(bytes_of(std::string(20, 'x')));
  EXPECT_EQ(seen.readable, 1);
  EXPECT_EQ(take_text(one, 30), "0123456789" + std::string(20, 'x'));
}

TEST(pipe, un_pauses_a_writer_held_by_segments_when_the_reader_waits) {
  checked_pool pool;
  edges seen;
  pipe one({.pause_segments = 2}, nullptr, seen.events());
  put(one, pool, "a");
  EXPECT_EQ(one.append(packet_of(*pool, bytes_of("b"))), flow::paused);
  EXPECT_TRUE(one.advance_to(0, 2));
  EXPECT_EQ(one.state(), flow::paused);  // two segments still
  EXPECT_EQ(one.poll(), read_status::wait);
  EXPECT_EQ(one.state(), flow::open);
  EXPECT_EQ(seen.resumes, 1);
}

// A writer that writes at once when resumed, as a receive loop does.
struct eager_writer {
  pipe* into = nullptr;
  int left = 0;
  static void resume(void* self) noexcept {
    auto* writer = static_cast<eager_writer*>(self);
    while (writer->left > 0 && writer->into->state() == flow::open) {
      --writer->left;
      writer->into->write(base::as_bytes("0123456789"));
    }
  }
};

TEST(pipe, sees_what_a_resumed_writer_wrote_before_it_waits) {
  checked_pool pool;
  eager_writer writer{.left = 100};
  pipe one({.pause_bytes = 40, .resume_bytes = 20}, &*pool, {.context = &writer, .on_resume = eager_writer::resume});
  writer.into = &one;
  eager_writer::resume(&writer);
  std::string all;
  // A reader that examines everything and consumes 60 bytes at a time.
  while (one.poll() == read_status::data) {
    if (one.size() >= 60)
      all += take_text(one, 60);
    else
      ASSERT_TRUE(one.advance_to(0, one.size()));
  }
  EXPECT_EQ(writer.left, 0);
  EXPECT_EQ(all.size() + one.size(), 1000u);
}

TEST(pipe, calls_readable_once_for_each_wait) {
  checked_pool pool;
  edges seen;
  pipe one({}, &*pool, seen.events());
  one.write(bytes_of("a"));
  EXPECT_EQ(seen.readable, 0);  // nobody waits
  EXPECT_TRUE(one.consume(1));
  EXPECT_EQ(one.poll(), read_status::wait);
  one.write(bytes_of("b"));
  one.write(bytes_of("c"));
  EXPECT_EQ(seen.readable, 1);
  EXPECT_TRUE(one.advance_to(0, 2));
  EXPECT_EQ(one.poll(), read_status::wait);
  one.cancel_wait();
  one.write(bytes_of("d"));
  EXPECT_EQ(seen.readable, 1);
  EXPECT_TRUE(one.consume(3));
  EXPECT_EQ(one.poll(), read_status::wait);
  one.complete_writer();
  EXPECT_EQ(seen.readable, 2);
  EXPECT_EQ(one.poll(), read_status::ended);
}

TEST(pipe, refuses_positions_that_do_not_exist) {
  checked_pool pool;
  pipe one({}, &*pool);
  one.write(bytes_of("abc"));
  EXPECT_FALSE(one.advance_to(2, 1));
  EXPECT_FALSE(one.advance_to(0, 4));
  EXPECT_FALSE(one.consume(4));
  chain frame;
  EXPECT_FALSE(one.take(4, frame));
  EXPECT_EQ(text_of(one.window()), "abc");
}

TEST(pipe, commits_what_was_advanced_when_the_writer_completes) {
  checked_pool pool;
  pipe one({}, &*pool);
  one.get_span()[0] = 'z';
  ASSERT_TRUE(one.advance(1));
  one.complete_writer();
  EXPECT_EQ(one.poll(), read_status::ended);
  EXPECT_EQ(text_of(one.window()), "z");
  EXPECT_TRUE(one.get_span().empty());
  EXPECT_EQ(one.write(bytes_of("more")), flow::closed);
  EXPECT_EQ(one.commit(), flow::closed);
}

TEST(pipe, keeps_an_error_apart_from_an_end) {
  checked_pool pool;
  pipe one({}, &*pool);
  one.write(bytes_of("part"));
  one.fail_writer(0x42);
  one.complete_writer();  // too late: the error is kept
  one.fail_writer(0x43);
  EXPECT_EQ(one.poll(), read_status::failed);
  EXPECT_EQ(one.error(), 0x42u);
  EXPECT_EQ(take_text(one, 4), "part");  // what had come is readable
  EXPECT_EQ(one.poll(), read_status::failed);
}

TEST(pipe, frees_all_and_resumes_the_writer_when_the_reader_completes) {
  checked_pool pool;
  edges seen;
  pipe one({.pause_bytes = 4, .resume_bytes = 2}, &*pool, seen.events());
  one.write(bytes_of("12345"));
  one.get_span()[0] = 'u';
  ASSERT_TRUE(one.advance(1));
  EXPECT_EQ(one.state(), flow::paused);
  one.complete_reader();
  EXPECT_EQ(pool->in_use(), 0u);
  EXPECT_EQ(seen.resumes, 1);
  EXPECT_EQ(one.commit(), flow::closed);
  EXPECT_EQ(one.poll(), read_status::closed);
}

TEST(pipe, takes_frames_across_segments_without_memory) {
  checked_pool pool(15);
  pipe one;
  for (const char* text : {"ab", "cdef", "gh"}) put(one, pool, text);
  EXPECT_EQ(pool->in_use(), 3u);
  chain first, second, third;
  ASSERT_TRUE(one.take(3, first));
  ASSERT_TRUE(one.take(2, second));
  ASSERT_TRUE(one.take(3, third));
  EXPECT_EQ(pool->in_use(), 3u);
  EXPECT_EQ(text_of(first.read()) + "|" + text_of(second.read()) + "|" + text_of(third.read()), "abc|de|fgh");
  first.clear();
  EXPECT_EQ(pool->in_use(), 2u);
  third.clear();
  EXPECT_EQ(text_of(second.read()), "de");
}

TEST(pipe, refuses_a_shared_chain_only_when_no_memory_is_left) {
  checked_pool pool(3);
  pipe source, target({}, &*pool);
  put(source, pool, "headtail");
  chain frame;
  ASSERT_TRUE(source.take(4, frame));
  packet others[2] = {packet::alloc(*pool), packet::alloc(*pool)};
  EXPECT_EQ(target.append(std::move(frame)), flow::exhausted);
  EXPECT_EQ(frame.size(), 4u);  // NOLINT: refused, so still the caller's
  others[0] = packet{};
  EXPECT_EQ(target.append(std::move(frame)), flow::open);
  EXPECT_EQ(text_of(target.window()), "head");
  EXPECT_EQ(text_of(source.window()), "tail");
}

TEST(pipe, calls_no_heap) {
  if (!mem::heap_counter_present()) GTEST_SKIP() << "a sanitizer's heap";
  checked_pool pool;
  pipe one({.pause_bytes = 3000, .resume_bytes = 1000}, &*pool);
  const std::vector<std::uint8_t> block(5000, 7);
  mem::heap_tally tally;
  {
    const mem::heap_watch watch(tally);
    for (int i = 0; i < 1000; ++i) {
      one.append(packet::alloc(*pool));
      one.write(block);
      one.write(base::byte_view(block).first(10));
      chain frame;
      if (!one.take(3000, frame) || !one.take(1, frame) || !one.consume(one.size())) FAIL();
      if (one.poll() != read_status::wait) FAIL();
    }
  }
  EXPECT_EQ(tally.calls.get(), 0u);
}

TEST(limited_reader, reads_an_empty_body_as_ended) {
  checked_pool pool;
  pipe one({}, &*pool);
  one.write(bytes_of("next header"));
  limited_reader none{one, 0};
  EXPECT_EQ(none.poll(), read_status::ended);
  EXPECT_TRUE(none.window().empty());
  EXPECT_EQ(none.drain(), 0u);
  EXPECT_EQ(one.size(), 11u);
  EXPECT_EQ(limited_reader{}.poll(), read_status::ended);
}

TEST(limited_reader, delivers_a_body_as_it_arrives_and_stops_at_its_end) {
  checked_pool pool;
  edges seen;
  pipe one({}, &*pool, seen.events());
  limited_reader body{one, 10};
  EXPECT_EQ(body.poll(), read_status::wait);
  one.write(bytes_of("0123"));
  EXPECT_EQ(seen.readable, 1);
  EXPECT_EQ(body.poll(), read_status::data);
  EXPECT_EQ(text_of(body.window()), "0123");
  EXPECT_TRUE(body.consume(4));
  one.write(bytes_of("456789HEADER"));
  EXPECT_EQ(body.poll(), read_status::ended);  // all that is left has arrived
  EXPECT_EQ(text_of(body.window()), "456789");
  EXPECT_FALSE(body.consume(7));
  EXPECT_FALSE(body.advance_to(0, 7));
  chain part;
  EXPECT_FALSE(body.take(7, part));
  EXPECT_TRUE(body.take(6, part));
  EXPECT_EQ(body.poll(), read_status::ended);
  EXPECT_EQ(text_of(one.window()), "HEADER");
}

TEST(limited_reader, drains_what_its_reader_left) {
  checked_pool pool;
  pipe one({}, &*pool);
  one.write(bytes_of("0123"));
  limited_reader body{one, 10};
  EXPECT_TRUE(body.consume(1));
  EXPECT_EQ(body.drain(), 6u);
  EXPECT_EQ(body.poll(), read_status::wait);
  one.write(bytes_of("456789H"));
  EXPECT_EQ(body.drain(), 0u);
  EXPECT_EQ(text_of(one.window()), "H");
}

TEST(limited_reader, tells_a_short_stream_from_an_end) {
  checked_pool pool;
  pipe short_one({}, &*pool);
  short_one.write(bytes_of("0123"));
  short_one.complete_writer();
  limited_reader body{short_one, 5};
  EXPECT_EQ(body.poll(), read_status::truncated);
  EXPECT_EQ(text_of(body.window()), "0123");
  EXPECT_EQ(body.drain(), 1u);
  EXPECT_EQ(body.poll(), read_status::truncated);

  pipe failed_one({}, &*pool);
  failed_one.write(bytes_of("0123"));
  failed_one.fail_writer(7);
  EXPECT_EQ((limited_reader{failed_one, 5}.poll()), read_status::failed);
  EXPECT_EQ((limited_reader{failed_one, 4}.poll()), read_status::ended);  // the body itself is whole

  pipe exact_one({}, &*pool);
  exact_one.write(bytes_of("0123"));
  exact_one.complete_writer();
  EXPECT_EQ((limited_reader{exact_one, 4}.poll()), read_status::ended);
}

}  // namespace
}  // namespace millrace::buf
