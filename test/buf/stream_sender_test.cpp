#include "buf/stream_sender.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "buf/content.hpp"
#include "mem/heap_counter.hpp"
#include "support/packets.hpp"
#include "support/seeded.hpp"

namespace millrace::buf {
namespace {

// A pool that must be whole again when the test ends.
struct checked_blocks {
  large_block_pool pool;
  static large_block_pool must_make(std::uint32_t blocks, std::uint32_t mbufs_per_block) {
    static int made = 0;
    std::string name = std::to_string(made++);
    name += ".stream";
    auto pool = large_block_pool::make(
        {.name = name, .blocks_per_mempool = blocks, .cache = 0, .mbufs_per_block = mbufs_per_block});
    if (!pool) {
      std::fprintf(stderr, "%s\n", pool.error().what.c_str());
      std::abort();
    }
    return std::move(pool.value());
  }
  explicit checked_blocks(std::uint32_t blocks = 8, std::uint32_t mbufs_per_block = 2)
      : pool(must_make(blocks, mbufs_per_block)) {}
  ~checked_blocks() { EXPECT_TRUE(pool.is_whole()) << "blocks leaked"; }
};

// Gives `total` bytes, at most `step` at a time, byte i being i modulo 251; then `last`.
struct counting_source {
  std::size_t total;
  std::size_t step = SIZE_MAX;
  read_state last = read_state::end;
  int stalls = 0;  // answers `not_yet` this often before each read
  std::size_t at = 0;
  int stalled = 0;
  static bytes_read read(void* context, base::byte_span into) noexcept {
    auto* self = static_cast<counting_source*>(context);
    if (self->stalled < self->stalls) {
      ++self->stalled;
      return {0, read_state::not_yet};
    }
    self->stalled = 0;
    const std::size_t count = std::min({into.size(), self->step, self->total - self->at});
    for (std::size_t i = 0; i < count; ++i) into[i] = static_cast<std::uint8_t>((self->at + i) % 251);
    self->at += count;
    return {count, self->at == self->total ? self->last : read_state::more};
  }
};

void expect_counting(const packet& block, std::size_t from) {
  std::size_t at = from;
  for (const rte_mbuf* m = block.raw(); m != nullptr; m = m->next)
    for (const std::uint8_t byte : first_segment(m)) ASSERT_EQ(byte, at++ % 251);
  ASSERT_EQ(at - from, block.length());
}

TEST(stream_sender, sends_any_length_in_whole_blocks) {
  checked_blocks blocks;
  for (const std::size_t total : {0u, 1u, 65535u, 65536u, 65537u, 300000u}) {
    for (const bool known : {false, true}) {
      counting_source from{.total = total, .step = 5000};
      block_filler filler(blocks.pool, &from, counting_source::read);
      stream_sender sender(filler.source(), {.length = known ? total : stream_sender_config::to_the_end});
      std::size_t at = 0;
      packet block;
      send_status status;
      while ((status = sender.next(block)) == send_status::block) {
        expect_counting(block, at);
        EXPECT_EQ(block.length(), std::min<std::size_t>(65536, total - at));
        at += block.length();
        sender.grant(block.length());
      }
      EXPECT_EQ(status, send_status::done) << total;
      EXPECT_EQ(at, total);
      EXPECT_EQ(sender.sent(), total);
      EXPECT_EQ(sender.next(block), send_status::done);
    }
  }
}

TEST(stream_sender, makes_its_blocks_no_larger_than_its_credit) {
  checked_blocks blocks;
  counting_source from{.total = 10'000, .step = 5000};
  block_filler filler(blocks.pool, &from, counting_source::read);
  stream_sender sender(filler.source(), {.length = 10'000, .credit_bytes = 1000});
  std::size_t at = 0;
  packet block;
  send_status status;
  while ((status = sender.next(block)) == send_status::block) {
    EXPECT_EQ(block.length(), 1000u);
    at += block.length();
    sender.grant(block.length());
  }
  EXPECT_EQ(status, send_status::done);
  EXPECT_EQ(at, 10'000u);
}

TEST(stream_sender, holds_no_more_blocks_than_its_credit) {
  checked_blocks blocks;
  counting_source from{.total = 1 << 20};
  block_filler filler(blocks.pool, &from, counting_source::read);
  stream_sender sender(filler.source(), {.credit_bytes = 2 * 65536});
  packet first, second, third;
  EXPECT_EQ(sender.next(first), send_status::block);
  EXPECT_EQ(sender.next(second), send_status::block);
  EXPECT_EQ(sender.next(third), send_status::wait_credit);
  EXPECT_EQ(blocks.pool.in_use(), 2u);
  sender.grant(65535);  // not a whole block: nothing crumbles
  EXPECT_EQ(sender.next(third), send_status::wait_credit);
  first = packet{};
  sender.grant(1);
  EXPECT_EQ(sender.next(third), send_status::block);
  EXPECT_EQ(blocks.pool.in_use(), 2u);
}

TEST(stream_sender, tells_the_caller_when_the_source_ends_early) {
  checked_blocks blocks;
  counting_source from{.total = 70000};
  block_filler filler(blocks.pool, &from, counting_source::read);
  stream_sender sender(filler.source(), {.length = 70001});
  packet block;
  EXPECT_EQ(sender.next(block), send_status::block);
  EXPECT_EQ(sender.next(block), send_status::block);
  EXPECT_EQ(block.length(), 70000u - 65536);
  sender.grant(1 << 20);
  EXPECT_EQ(sender.next(block), send_status::short_source);
  EXPECT_EQ(sender.next(block), send_status::short_source);
}

TEST(stream_sender, stops_at_the_promised_length_of_a_longer_source) {
  checked_blocks blocks;
  counting_source from{.total = 1000};
  block_filler filler(blocks.pool, &from, counting_source::read);
  stream_sender sender(filler.source(), {.length = 10});
  packet block;
  EXPECT_EQ(sender.next(block), send_status::block);
  EXPECT_EQ(block.length(), 10u);
  EXPECT_EQ(sender.next(block), send_status::done);
}

TEST(stream_sender, sends_what_came_before_a_failure_and_then_the_failure) {
  checked_blocks blocks;
  counting_source from{.total = 1000, .last = read_state::failed};
  block_filler filler(blocks.pool, &from, counting_source::read);
  stream_sender sender(filler.source());
  packet block;
  EXPECT_EQ(sender.next(block), send_status::block);
  EXPECT_EQ(block.length(), 1000u);
  EXPECT_EQ(sender.next(block), send_status::failed);
  EXPECT_EQ(sender.next(block), send_status::failed);
}

TEST(stream_sender, asks_again_when_the_source_has_nothing_yet) {
  checked_blocks blocks;
  counting_source from{.total = 100, .step = 60, .stalls = 1};
  block_filler filler(blocks.pool, &from, counting_source::read);
  stream_sender sender(filler.source());
  packet block;
  EXPECT_EQ(sender.next(block), send_status::wait_source);
  EXPECT_EQ(blocks.pool.in_use(), 0u);  // waiting holds no block
  EXPECT_EQ(sender.next(block), send_status::block);
  EXPECT_EQ(block.length(), 60u);
  EXPECT_EQ(sender.next(block), send_status::block);
  expect_counting(block, 60);
  EXPECT_EQ(sender.next(block), send_status::done);
}

TEST(stream_sender, does_not_believe_a_source_that_claims_more_than_it_was_given) {
  checked_blocks blocks;
  block_filler liar(blocks.pool, nullptr,
                    [](void*, base::byte_span into) noexcept { return bytes_read{into.size() + 1, read_state::more}; });
  stream_sender sender(liar.source());
  packet block;
  EXPECT_EQ(sender.next(block), send_status::failed);
  block_filler silent(blocks.pool, nullptr, [](void*, base::byte_span) noexcept { return bytes_read{}; });
  stream_sender waits(silent.source());
  EXPECT_EQ(waits.next(block), send_status::wait_source);
}

TEST(stream_sender, survives_a_pool_without_blocks_or_mbufs_and_loses_no_byte) {
  // Two blocks share two mbufs, and a full block needs both.
  checked_blocks blocks(2, 1);
  counting_source from{.total = 200000};
  block_filler filler(blocks.pool, &from, counting_source::read);
  stream_sender sender(filler.source(), {.credit_bytes = UINT64_MAX});
  packet first, second;
  EXPECT_EQ(sender.next(first), send_status::block);
  EXPECT_EQ(sender.next(second), send_status::wait_memory);  // filled, and no mbuf is free
  EXPECT_EQ(sender.next(second), send_status::wait_memory);
  first = packet{};
  EXPECT_EQ(sender.next(second), send_status::block);
  expect_counting(second, 65536);
  EXPECT_EQ(blocks.pool.in_use(), 1u);
  const large_block other = blocks.pool.alloc();
  EXPECT_EQ(sender.next(first), send_status::wait_memory);  // no block
  second = packet{};
  EXPECT_EQ(sender.next(first), send_status::block);
  expect_counting(first, 131072);
}

TEST(stream_sender, feeds_a_pipe_until_it_pauses_and_goes_on_when_it_is_read) {
  checked_blocks blocks;
  counting_source from{.total = 400001};
  block_filler filler(blocks.pool, &from, counting_source::read);
  stream_sender sender(filler.source());
  pipe target({.pause_bytes = 2 * 65536, .resume_bytes = 65536});
  std::size_t at = 0;
  send_status status;
  while ((status = sender.into(target)) == send_status::wait_credit) {
    EXPECT_LE(blocks.pool.in_use(), 2u);
    chain part;
    ASSERT_TRUE(target.take(target.size(), part));
    packet whole;
    ASSERT_TRUE(part.into_packet(whole, {}));
    expect_counting(whole, at);
    at += whole.length();
  }
  EXPECT_EQ(status, send_status::done);
  EXPECT_EQ(at + target.size(), 400001u);
  target.complete_reader();
  EXPECT_EQ(sender.into(target), send_status::closed);
}

TEST(stream_sender, calls_no_heap) {
  if (!mem::heap_counter_present()) GTEST_SKIP() << "a sanitizer's heap";
  checked_blocks blocks;
  counting_source from{.total = 1 << 20};
  block_filler filler(blocks.pool, &from, counting_source::read);
  stream_sender sender(filler.source());
  pipe target({.pause_bytes = 65536, .resume_bytes = 1});
  mem::heap_tally tally;
  {
    const mem::heap_watch watch(tally);
    while (sender.into(target) == send_status::wait_credit)
      if (!target.consume(target.size())) FAIL();
  }
  EXPECT_EQ(tally.calls.get(), 0u);
  EXPECT_EQ(sender.sent(), 1u << 20);
}

TEST(content, is_sent_from_where_it_lies) {
  checked_blocks blocks;
  const std::vector<std::uint8_t> bytes = test::seeded(7).bytes(150000);
  auto loaded = content::load(blocks.pool, bytes);
  ASSERT_TRUE(loaded);
  content& held = loaded.value();
  EXPECT_EQ(held.size(), 150000u);
  EXPECT_EQ(blocks.pool.in_use(), 3u);
  content_source from(held, 1000);
  stream_sender sender(from.source(), {.length = 140000, .credit_bytes = UINT64_MAX});
  chain all;
  packet block;
  send_status status;
  while ((status = sender.next(block)) == send_status::block) ASSERT_TRUE(all.append(std::move(block)));
  EXPECT_EQ(status, send_status::done);
  EXPECT_EQ(blocks.pool.in_use(), 3u);  // no block but the content's own
  std::vector<std::uint8_t> out(all.size());
  all.copy_out(0, out);
  EXPECT_EQ(out, std::vector<std::uint8_t>(bytes.begin() + 1000, bytes.begin() + 141000));
  held = content{};
  EXPECT_EQ(blocks.pool.in_use(), 3u);  // packets are out
  all.clear();
  EXPECT_EQ(blocks.pool.in_use(), 0u);
}

TEST(content, answers_no_range_outside_itself) {
  checked_blocks blocks;
  auto loaded = content::load(blocks.pool, test::counting_bytes(100));
  ASSERT_TRUE(loaded);
  EXPECT_FALSE(loaded.value().share(100, 1));
  EXPECT_FALSE(loaded.value().share(UINT64_MAX, 1));
  EXPECT_FALSE(loaded.value().share(0, 0));
  EXPECT_EQ(loaded.value().share(99, 1000).length(), 1u);
  content_source from(loaded.value());
  stream_sender sender(from.source(), {.length = 101});
  packet block;
  EXPECT_EQ(sender.next(block), send_status::block);
  EXPECT_EQ(sender.next(block), send_status::short_source);
}

TEST(content, loads_a_file_or_says_why_not) {
  checked_blocks blocks(2);
  const std::string path = (std::filesystem::temp_directory_path() / (std::to_string(getpid()) + ".content")).string();
  for (const std::size_t size : {0u, 1u, 65536u, 100000u, 131072u}) {
    const std::vector<std::uint8_t> bytes = test::seeded(size).bytes(size);
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(size));
    auto loaded = content::load_file(blocks.pool, path);
    ASSERT_TRUE(loaded) << loaded.error().what;
    EXPECT_EQ(loaded.value().size(), size);
    chain all;
    for (std::size_t at = 0; at < size; at = all.size()) ASSERT_TRUE(all.append(loaded.value().share(at, 70000)));
    std::vector<std::uint8_t> out(size);
    EXPECT_EQ(all.copy_out(0, out), size);
    EXPECT_EQ(out, bytes);
  }
  std::ofstream(path, std::ios::binary) << std::string(131073, 'x');
  EXPECT_FALSE(content::load_file(blocks.pool, path));
  EXPECT_FALSE(content::load(blocks.pool, std::vector<std::uint8_t>(131073)));
  std::filesystem::remove(path);
  EXPECT_FALSE(content::load_file(blocks.pool, path));
  EXPECT_FALSE(content::load_file(blocks.pool, std::filesystem::temp_directory_path().string()));
}

}  // namespace
}  // namespace millrace::buf
