#include "port/mailbox.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <vector>

#include "env/lcore.hpp"
#include "support/eal_main.hpp"
#include "support/packets.hpp"

namespace millrace::port {
namespace {

using test::checked_pool;
using test::counting_bytes;
using test::packet_of;

struct note {
  unsigned from = 0;
  unsigned number = 0;
  bool discarded = false;
};

void discard(note* one) noexcept { one->discarded = true; }

mailbox<note> must_make(const std::string& name, unsigned slots, writers who) {
  auto made = mailbox<note>::make(name, slots, who, discard);
  if (!made) ADD_FAILURE() << made.error().what;
  return std::move(made.value());
}

TEST(mailbox, hands_over_bursts_in_order) {
  mailbox<note> box = must_make("order", 16, writers::single);
  mailbox_sender<note> sender = box.open();
  std::array<note, 10> notes;
  std::array<note*, 10> out;
  for (unsigned i = 0; i < 10; ++i) out[i] = &notes[i];
  EXPECT_EQ(sender.put(out), 10u);
  EXPECT_EQ(box.waiting(), 10u);
  std::array<note*, 4> in{};
  unsigned at = 0;
  while (const unsigned got = box.take(in))
    for (unsigned i = 0; i < got; ++i) EXPECT_EQ(in[i], &notes[at++]);
  EXPECT_EQ(at, 10u);
  EXPECT_EQ(box.letters(), 10u);
  EXPECT_EQ(sender.letters(), 10u);
}

TEST(mailbox, answers_what_a_full_box_took_and_counts_the_rest) {
  for (const writers who : {writers::single, writers::many}) {
    mailbox<note> box = must_make(who == writers::single ? "full1" : "full2", 8, who);
    mailbox_sender<note> sender = box.open();
    std::array<note, 10> notes;
    std::array<note*, 10> out;
    for (unsigned i = 0; i < 10; ++i) out[i] = &notes[i];
    EXPECT_EQ(box.capacity(), 7u);
    EXPECT_EQ(sender.put(out), 7u);
    EXPECT_FALSE(sender.put(out[7]));
    EXPECT_EQ(sender.refused(), 4u);
    std::array<note*, 16> in{};
    EXPECT_EQ(box.take(in), 7u);
    EXPECT_EQ(in[6], &notes[6]);
    EXPECT_TRUE(sender.put(out[7]));
    EXPECT_EQ(box.take(in), 1u);
    EXPECT_EQ(box.take(in), 0u);
  }
}

TEST(mailbox, discards_what_nobody_read) {
  std::array<note, 3> notes;
  {
    mailbox<note> box = must_make("left", 8, writers::many);
    mailbox_sender<note> sender = box.open();
    for (note& one : notes) EXPECT_TRUE(sender.put(&one));
    note* first = nullptr;
    EXPECT_EQ(box.take({&first, 1}), 1u);
    mailbox<note> moved = std::move(box);  // the old end has nothing left to discard
  }
  EXPECT_FALSE(notes[0].discarded);
  EXPECT_TRUE(notes[1].discarded);
  EXPECT_TRUE(notes[2].discarded);
}

TEST(mailbox, opens_one_sender_for_a_single_writer_and_any_for_many) {
  mailbox<note> one = must_make("one", 8, writers::single);
  EXPECT_TRUE(one.may_open());
  mailbox_sender<note> first = one.open();
  EXPECT_FALSE(one.may_open());
  EXPECT_EQ(first.letters(), 0u);
  mailbox<note> several = must_make("several", 8, writers::many);
  mailbox_sender<note> a = several.open();
  EXPECT_TRUE(several.may_open());
  mailbox_sender<note> b = several.open();
  note n;
  EXPECT_TRUE(a.put(&n));
  EXPECT_TRUE(b.put(&n));
  std::array<note*, 4> in{};
  EXPECT_EQ(several.take(in), 2u);
}

TEST(mailbox, says_why_it_cannot_be_made) {
  const auto odd = mailbox<note>::make("odd", 12, writers::single, discard);
  ASSERT_FALSE(odd);
  EXPECT_NE(odd.error().what.find("'odd' of 12 slots"), std::string::npos);
  const mailbox<note> taken = must_make("taken", 8, writers::single);
  EXPECT_FALSE(mailbox<note>::make("taken", 8, writers::single, discard));
}

TEST(mailbox, moves_packets_between_bursts_without_losing_one) {
  checked_pool pool;
  auto made = make_packet_mailbox("packets", 8, writers::single);
  ASSERT_TRUE(made);
  packet_mailbox& box = made.value();
  packet_sender sender = box.open();
  buf::burst out;
  for (std::uint8_t i = 0; i < 10; ++i) ASSERT_TRUE(out.push(packet_of(*pool, counting_bytes(20, i))));
  EXPECT_EQ(send(sender, out), 7u);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out.first(0)[0], 7);
  buf::burst in;
  EXPECT_EQ(receive(box, in, 5), 5u);
  EXPECT_EQ(in.size(), 5u);
  EXPECT_EQ(in.first(4)[0], 4);
  EXPECT_EQ(send(sender, out), 3u);
  EXPECT_EQ(receive(box, in, 2), 2u);
  EXPECT_EQ(box.waiting(), 3u);  // freed with the box: the pool is whole at the end
}

struct writer_job {
  mailbox_sender<note>* sender;
  std::vector<note>* notes;
  std::uint64_t waited = 0;
};

int write_all(void* argument) {
  auto& job = *static_cast<writer_job*>(argument);
  std::vector<note*> out;
  for (note& one : *job.notes) out.push_back(&one);
  std::size_t at = 0;
  while (at < out.size()) {
    const std::size_t burst = std::min<std::size_t>(1 + at % 32, out.size() - at);
    const unsigned took = job.sender->put({out.data() + at, burst});
    at += took;
    if (took == 0) {
      ++job.waited;
      env::pause();
    }
  }
  return 0;
}

// Reads until all letters of all writers came, each writer's in order.
void read_all(mailbox<note>& box, std::size_t expected, unsigned senders) {
  std::vector<unsigned> next(senders, 0);
  std::array<note*, 32> in{};
  std::size_t got = 0;
  while (got < expected) {
    const unsigned count = box.take(in);
    if (count == 0) env::pause();
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_LT(in[i]->from, senders);
      ASSERT_EQ(in[i]->number, next[in[i]->from]++);
    }
    got += count;
  }
  EXPECT_EQ(box.take(in), 0u);
}

void cross(writers who, unsigned senders, unsigned count, const char* name) {
  const std::vector<unsigned> lcores = env::worker_lcores();
  ASSERT_GE(lcores.size(), senders);
  mailbox<note> box = must_make(name, 64, who);
  std::vector<std::vector<note>> notes(senders);
  std::vector<std::unique_ptr<mailbox_sender<note>>> ends;
  std::vector<writer_job> jobs(senders);
  for (unsigned s = 0; s < senders; ++s) {
    for (unsigned i = 0; i < count; ++i) notes[s].push_back({.from = s, .number = i});
    ends.emplace_back(new mailbox_sender<note>(box.open()));
    jobs[s] = {ends[s].get(), &notes[s]};
  }
  for (unsigned s = 0; s < senders; ++s) ASSERT_TRUE(env::launch(lcores[s], write_all, &jobs[s]));
  read_all(box, std::size_t{count} * senders, senders);
  std::uint64_t put = 0;
  for (unsigned s = 0; s < senders; ++s) {
    EXPECT_EQ(env::wait(lcores[s]), 0);
    put += ends[s]->letters();
  }
  EXPECT_EQ(put, std::uint64_t{count} * senders);
  EXPECT_EQ(box.letters(), put);
}

TEST(mailbox, crosses_two_lcores_in_order) { cross(writers::single, 1, 200'000, "cross1"); }
TEST(mailbox, keeps_every_letter_of_two_writing_lcores) { cross(writers::many, 2, 100'000, "cross2"); }

}  // namespace
}  // namespace millrace::port

MILLRACE_EAL_TEST_MAIN("-m", "64", "--lcores", "(0-2)@(0-1)")
