#include "loadgen/load_messages.hpp"

#include <gtest/gtest.h>

#include "rpc/client.hpp"
#include "support/guard_page.hpp"

namespace millrace::loadgen {
namespace {

using srmp::wire::frame_kind;

load_settings asking(load_ask ask, std::uint32_t size) {
  load_settings s;
  s.target = {base::ip_address::parse("198.18.0.1").value(), 5500};
  s.ask = ask;
  s.size = size;
  return s;
}

std::vector<std::uint8_t> written(const load_messages& m, load_stamp stamp) {
  std::vector<std::uint8_t> out(m.size());
  m.write(out, stamp);
  return out;
}

load_verdict judged(const load_messages& m, base::byte_view payload, load_stamp asked,
                    frame_kind kind = frame_kind::reply) {
  const auto flags = srmp::wire::make_flags(kind, srmp::wire::data_kind::packet);
  const srmp::wire::frame f{{flags, 1, 4, static_cast<std::uint32_t>(payload.size())}, payload};
  return m.judge(f, asked);
}

const load_stamp asked = load_stamp::of(123'456'789, 42);
const load_stamp earlier = load_stamp::of(123'456'788, 41);
const load_stamp later = load_stamp::of(123'456'789, 43);

TEST(load_stamp, tells_time_number_and_order) {
  EXPECT_EQ(asked.meant_ns(), 123'456'789u);
  EXPECT_EQ(asked.age_ns(123'456'999), 210u);
  EXPECT_TRUE(earlier.is_older_than(asked));
  EXPECT_FALSE(asked.is_older_than(earlier));
  EXPECT_FALSE(asked.is_older_than(asked));
  EXPECT_TRUE(asked.is_older_than(later));
  EXPECT_FALSE(asked.is_knock());
  EXPECT_TRUE(load_stamp::of(1, 1, true).is_knock());
  EXPECT_FALSE(load_stamp::of(1, 1, true).is_older_than(asked)) << "another kind has no order";
}

TEST(load_stamp, goes_round_after_39_hours) {
  const std::uint64_t turn = load_stamp::time_mask + 1;
  const load_stamp before = load_stamp::of(turn - 100, 1);
  EXPECT_EQ(before.age_ns(turn + 50), 150u);
  EXPECT_TRUE(before.is_older_than(load_stamp::of(turn + 50, 2)));
}

TEST(load_messages, takes_its_own_echo_and_no_other) {
  for (const std::uint32_t size : {1u, 2u, 7u, 8u, 9u, 28u, 1400u}) {
    const load_messages m(asking(load_ask::echo, size));
    auto reply = written(m, asked);
    ASSERT_EQ(reply.size(), size);
    EXPECT_EQ(judged(m, reply, asked), load_verdict::right) << size;
    EXPECT_EQ(judged(m, reply, asked, frame_kind::error_reply), load_verdict::error);
    for (std::size_t i = 0; i < reply.size(); ++i) {
      reply[i] ^= 0x10;
      EXPECT_NE(judged(m, reply, asked), load_verdict::right) << "byte " << i << " of " << size;
      reply[i] ^= 0x10;
    }
    EXPECT_EQ(judged(m, base::byte_view(reply).first(size - 1), asked), load_verdict::wrong);
    reply.push_back(0);
    EXPECT_EQ(judged(m, reply, asked), load_verdict::wrong);
  }
}

TEST(load_messages, of_no_bytes_have_no_stamp) {
  const load_messages m(asking(load_ask::echo, 0));
  EXPECT_EQ(judged(m, {}, asked), load_verdict::right);
  EXPECT_EQ(judged(m, std::vector<std::uint8_t>(1), asked), load_verdict::wrong);
}

TEST(load_messages, tell_a_late_reply_from_a_wrong_one) {
  for (const load_ask ask : {load_ask::echo, load_ask::rpc_echo}) {
    const load_messages m(asking(ask, 28));
    EXPECT_EQ(judged(m, written(m, asked), asked), load_verdict::right);
    EXPECT_EQ(judged(m, written(m, earlier), asked), load_verdict::stale);
    EXPECT_EQ(judged(m, written(m, later), asked), load_verdict::wrong);
  }
}

TEST(load_messages, call_echo_with_a_json_object_of_the_wanted_size) {
  for (const std::uint32_t size : {24u, 25u, 28u, 100u}) {
    const load_messages m(asking(load_ask::rpc_echo, size));
    const auto call = written(m, asked);
    rpc::wire::payload got;
    ASSERT_TRUE(parse(call, rpc::wire::form::plain, got));
    EXPECT_EQ(got.name, "Echo");
    ASSERT_EQ(got.data.size(), size);
    const std::string_view text = base::as_text(got.data);
    EXPECT_TRUE(text.starts_with(R"({"n":")") && text.ends_with(R"("})")) << text;
    EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopx", 6), size - 2) << text;
  }
}

TEST(load_messages, judge_an_echoed_call_by_its_arguments_alone) {
  const load_messages m(asking(load_ask::rpc_echo, 28));
  const auto call = written(m, asked);
  rpc::wire::payload got;
  ASSERT_TRUE(parse(call, rpc::wire::form::plain, got));
  std::vector<std::uint8_t> renamed(64);
  renamed.resize(rpc::wire::emit(renamed, "ECHO/elsewhere", got.data));
  EXPECT_EQ(judged(m, renamed, asked), load_verdict::right) << "a reply's name is not compared";
  renamed.back() ^= 1;
  EXPECT_EQ(judged(m, renamed, asked), load_verdict::wrong);
  std::vector<std::uint8_t> empty(64);
  empty.resize(rpc::wire::emit(empty, "Echo", {}));
  EXPECT_EQ(judged(m, empty, asked), load_verdict::wrong);
}

TEST(load_messages, judge_calls_by_their_outcome) {
  const load_messages call(asking(load_ask::rpc_call, 0));
  const load_messages stream(asking(load_ask::rpc_stream, 0));
  std::vector<std::uint8_t> room(64);
  const std::uint8_t data[] = {'1'};
  const std::size_t with_data = rpc::wire::emit(room, "Echo", data);
  EXPECT_EQ(judged(call, base::byte_view(room).first(with_data), asked), load_verdict::right);
  EXPECT_EQ(judged(stream, base::byte_view(room).first(with_data), asked), load_verdict::item);
  const std::size_t without = rpc::wire::emit(room, "Echo", {});
  EXPECT_EQ(judged(stream, base::byte_view(room).first(without), asked), load_verdict::right);
  const rpc::wire::payload_writer failed(room, "Echo", rpc::wire::form::error, 404);
  EXPECT_EQ(judged(call, base::byte_view(room).first(failed.finish_without_data()), asked, frame_kind::error_reply),
            load_verdict::error);
  EXPECT_EQ(judged(call, {}, asked), load_verdict::wrong) << "no name";
  EXPECT_EQ(judged(call, base::byte_view(room).first(6), asked, frame_kind::error_reply), load_verdict::wrong);
}

TEST(load_messages, read_no_byte_behind_a_reply) {
  for (const load_ask ask : {load_ask::echo, load_ask::rpc_echo}) {
    const load_messages m(asking(ask, 28));
    const auto whole = written(m, asked);
    test::guard_page guard(whole.size() + 1);
    for (std::size_t size = 0; size <= whole.size(); ++size) {
      const base::byte_span room = guard.room(size);
      std::copy_n(whole.begin(), size, room.begin());
      EXPECT_EQ(judged(m, room, asked) == load_verdict::right, size == whole.size()) << size;
    }
  }
}

}  // namespace
}  // namespace millrace::loadgen
