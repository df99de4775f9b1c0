// Random operations on a pipe, and on the frames taken from it, against a flat model: strings. No EAL, each mbuf a heap
// block of its own: under AddressSanitizer a use after give-back is seen.
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "buf/limited_reader.hpp"
#include "buf/pipe.hpp"
#include "support/plain_pool.hpp"
#include "support/seeded.hpp"

namespace millrace::buf {
namespace {

using test::plain_pool;
using test::seeded;

std::string text_of(const chain& from) {
  std::string out(from.size(), '\0');
  EXPECT_EQ(from.copy_out(0, {reinterpret_cast<std::uint8_t*>(out.data()), out.size()}), out.size());
  return out;
}

std::string text_of(cursor in) {
  std::string out(in.remaining(), '\0');
  EXPECT_TRUE(in.copy({reinterpret_cast<std::uint8_t*>(out.data()), out.size()}));
  return out;
}

struct taken_frame {
  chain bytes;
  std::string model;
};

struct walk {
  seeded random;
  plain_pool pool{2047, 96};
  pipe under_test{{.pause_bytes = 3000, .resume_bytes = 1000, .pause_segments = 60}, pool};
  std::string committed;
  std::string advanced;
  std::deque<taken_frame> frames;
  unsigned char counter = 0;

  explicit walk(std::uint64_t seed) : random(seed) {}

  std::string some(std::size_t limit) {
    std::string out;
    for (std::size_t n = random.below(limit); out.size() < n;) out.push_back(static_cast<char>(counter++));
    return out;
  }
  packet random_packet(std::string& model) {
    packet whole;
    for (std::size_t n = 1 + random.below(4); n != 0; --n) {
      const std::string part = some(random.below(3) == 0 ? 2 : 90);
      packet one{pool.alloc()};
      EXPECT_TRUE(one.append_copy(base::as_bytes(part)));
      model += part;
      if (!whole)
        whole = std::move(one);
      else
        EXPECT_TRUE(whole.append_chain(one));
    }
    return whole;
  }
  void commit_model() {
    committed += advanced;
    advanced.clear();
  }
  void write_something() {
    switch (random.below(5)) {
      case 0: {
        std::string text;
        packet whole = random_packet(text);
        under_test.append(std::move(whole));
        commit_model();
        committed += text;
        break;
      }
      case 1: {
        const std::string text = some(random.below(4) == 0 ? 700 : 40);
        EXPECT_NE(under_test.write(base::as_bytes(text)), flow::exhausted);
        commit_model();
        committed += text;
        break;
      }
      case 2: {
        const base::byte_span room = under_test.get_span(1 + random.below(90));
        ASSERT_FALSE(room.empty());
        const std::string text = some(room.size() + 1);
        std::copy(text.begin(), text.end(), room.begin());
        ASSERT_TRUE(under_test.advance(text.size()));
        ASSERT_FALSE(under_test.advance(room.size() - text.size() + 1));
        advanced += text;
        break;
      }
      case 3:
        under_test.commit();
        commit_model();
        break;
      default:
        if (!frames.empty()) {
          EXPECT_NE(under_test.append(std::move(frames.front().bytes)), flow::exhausted);
          commit_model();
          committed += frames.front().model;
          frames.pop_front();
        }
    }
  }
  void read_something() {
    const std::size_t count = random.below(std::min<std::size_t>(committed.size(), 400) + 1);
    switch (random.below(4)) {
      case 0: {
        taken_frame frame;
        ASSERT_TRUE(under_test.take(count, frame.bytes));
        frame.model = committed.substr(0, count);
        committed.erase(0, count);
        frames.push_back(std::move(frame));
        break;
      }
      case 1: {
        const std::size_t examined = count + random.below(committed.size() - count + 1);
        ASSERT_TRUE(under_test.advance_to(count, examined));
        committed.erase(0, count);
        break;
      }
      case 2: {
        limited_reader body{under_test, count};
        EXPECT_EQ(text_of(body.window()), committed.substr(0, count));
        EXPECT_FALSE(body.consume(count + 1));
        EXPECT_EQ(body.drain(), 0u);
        committed.erase(0, count);
        break;
      }
      default:
        if (under_test.poll() == read_status::wait) {
          EXPECT_NE(under_test.state(), flow::paused);
        }
    }
  }
  void touch_frames() {
    if (frames.size() < 2) return;
    taken_frame& one = frames[random.below(frames.size())];
    taken_frame& two = frames[random.below(frames.size())];
    const std::size_t at = random.below(one.model.size() + 1);
    switch (random.below(8)) {
      case 0:
        if (&one != &two) {
          ASSERT_TRUE(one.bytes.append(std::move(two.bytes), pool));
          one.model += two.model;
          two.model.clear();
        }
        break;
      case 1:
        if (&one != &two) {
          ASSERT_TRUE(one.bytes.cut(at, two.bytes));
          two.model = one.model.substr(0, at);
          one.model.erase(0, at);
        }
        break;
      case 2:
        one.bytes.truncate(at);
        one.model.resize(at);
        break;
      case 3: {
        taken_frame copy;
        const std::size_t count = random.below(one.model.size() - at + 1);
        ASSERT_TRUE(one.bytes.share(at, count, copy.bytes, pool));
        copy.model = one.model.substr(at, count);
        frames.push_back(std::move(copy));
        break;
      }
      case 4: {
        std::string text;
        one.bytes.prepend(random_packet(text));
        one.model.insert(0, text);
        break;
      }
      case 5: {
        packet whole;
        ASSERT_TRUE(one.bytes.into_packet(whole, pool));
        EXPECT_EQ(whole.length(), one.model.size());
        one.bytes = chain(std::move(whole));
        break;
      }
      case 6: {
        const base::byte_span room = one.bytes.prepend_in_place(random.below(5));
        std::fill(room.begin(), room.end(), 'p');
        one.model.insert(0, room.size(), 'p');
        break;
      }
      default:
        one.bytes.consume(at);
        one.model.erase(0, at);
    }
  }
  void check() {
    ASSERT_EQ(under_test.size(), committed.size());
    ASSERT_EQ(text_of(under_test.window()), committed);
    for (const taken_frame& frame : frames) ASSERT_EQ(text_of(frame.bytes), frame.model);
  }
};

TEST(pipe_model, equals_a_string_whatever_is_done_to_it) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    walk one(seed);
    for (int step = 0; step < 600; ++step) {
      if (one.pool.in_use() < 1200) one.write_something();
      if (one.random.below(3) != 0) one.read_something();
      one.touch_frames();
      while (one.frames.size() > 6 || (one.pool.in_use() > 1200 && !one.frames.empty())) one.frames.pop_front();
      one.check();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace millrace::buf
