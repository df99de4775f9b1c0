#include "buf/chain.hpp"

#include <gtest/gtest.h>
#include <sys/uio.h>

#include <string>

#include "buf/block_pool.hpp"
#include "buf/pipe.hpp"
#include "support/packets.hpp"

namespace millrace::buf {
namespace {

using test::checked_pool;
using test::packet_of;

base::byte_view bytes_of(std::string_view text) { return base::as_bytes(text); }

std::string text_of(const chain& from) {
  std::string out(from.size(), '\0');
  EXPECT_EQ(from.copy_out(0, {reinterpret_cast<std::uint8_t*>(out.data()), out.size()}), out.size());
  return out;
}

chain chain_of(checked_pool& pool, std::initializer_list<const char*> parts) {
  chain made;
  for (const char* part : parts) EXPECT_TRUE(made.append(packet_of(*pool, bytes_of(part))));
  return made;
}

TEST(chain, is_harmless_when_empty) {
  chain none;
  chain out;
  EXPECT_TRUE(none.front().empty());
  EXPECT_TRUE(none.cut(0, out));
  EXPECT_FALSE(none.cut(1, out));
  EXPECT_TRUE(none.read().empty());
  EXPECT_EQ(none.copy_out(0, {}), 0u);
  none.consume(5);
  none.truncate(0);
  none.clear();
  packet nothing;
  EXPECT_TRUE(none.into_packet(nothing, {}));
  EXPECT_FALSE(nothing);
  EXPECT_TRUE(none.share_slice(0, 1).empty());
  EXPECT_TRUE(none.append(std::move(out)));
  EXPECT_TRUE(none.append(packet{}));
  EXPECT_TRUE(none.empty());
}

TEST(chain, gives_what_it_owns_back_once) {
  checked_pool pool;
  chain one = chain_of(pool, {"ab", "cd"});
  chain two = std::move(one);
  EXPECT_TRUE(one.empty());  // NOLINT: the moved-from state is the contract
  one.clear();
  EXPECT_EQ(pool->in_use(), 2u);
  two = chain_of(pool, {"x"});
  EXPECT_EQ(pool->in_use(), 1u);
}

TEST(chain, is_cut_at_every_byte_without_memory) {
  checked_pool pool(7);
  for (std::size_t at = 0; at <= 9; ++at) {
    chain whole = chain_of(pool, {"abc", "d", "efghi"});
    chain front;
    ASSERT_TRUE(whole.cut(at, front));
    EXPECT_EQ(pool->in_use(), 3u);
    EXPECT_EQ(text_of(front), std::string("abcdefghi").substr(0, at));
    EXPECT_EQ(text_of(whole), std::string("abcdefghi").substr(at));
    EXPECT_FALSE(whole.cut(whole.size() + 1, front));
    // In either order of freeing, and joined again.
    if (at % 2 == 0) front.clear();
    whole.clear();
  }
}

TEST(chain, grows_behind_a_cut_only_when_alone_or_with_an_mbuf_to_spare) {
  checked_pool pool(3);
  chain back = chain_of(pool, {"abcd"});
  chain front;
  ASSERT_TRUE(back.cut(2, front));
  EXPECT_TRUE(back.can_grow());
  EXPECT_FALSE(front.can_grow());
  packet more = packet_of(*pool, bytes_of("xy"));
  EXPECT_FALSE(front.append(std::move(more)));
  EXPECT_TRUE(more);  // NOLINT: refused, so still ours
  EXPECT_TRUE(front.make_growable(*pool));
  EXPECT_TRUE(front.append(std::move(more)));
  EXPECT_EQ(text_of(front), "abxy");
  EXPECT_EQ(text_of(back), "cd");
  back.clear();
  EXPECT_EQ(text_of(front), "abxy");
}

TEST(chain, may_hold_one_mbuf_twice) {
  checked_pool pool;
  chain back = chain_of(pool, {"abcd"});
  chain front;
  ASSERT_TRUE(back.cut(2, front));
  ASSERT_TRUE(back.append(std::move(front)));  // "cd" + "ab": the same mbuf
  EXPECT_EQ(back.segments(), 2u);
  EXPECT_EQ(pool->in_use(), 1u);
  EXPECT_EQ(text_of(back), "cdab");
  EXPECT_EQ(back.read().run().size(), 2u);
  packet whole;
  ASSERT_TRUE(back.into_packet(whole, *pool));
  EXPECT_EQ(whole.segments(), 2u);
  EXPECT_EQ(text_of(chain(std::move(whole))), "cdab");
}

TEST(chain, is_shared_without_memory_inside_one_segment) {
  checked_pool pool;
  const chain whole = chain_of(pool, {"abc", "defg"});
  chain part;
  ASSERT_TRUE(whole.share(4, 2, part, {}));
  EXPECT_EQ(text_of(part), "ef");
  EXPECT_EQ(pool->in_use(), 2u);
  EXPECT_FALSE(whole.share(2, 2, part, {}));  // two segments need an mbuf
  ASSERT_TRUE(whole.share(2, 2, part, *pool));
  EXPECT_EQ(text_of(part), "cd");
  EXPECT_EQ(pool->in_use(), 3u);
  EXPECT_FALSE(whole.share(6, 2, part, *pool));
  EXPECT_TRUE(whole.share(7, 0, part, {}));
  EXPECT_TRUE(part.empty());
}

TEST(chain, outlives_what_it_was_shared_from) {
  checked_pool pool;
  chain whole = chain_of(pool, {"abc", "def", "ghi"});
  chain part;
  ASSERT_TRUE(whole.share(1, 7, part, *pool));
  slice middle = whole.share_slice(4, 2);
  EXPECT_TRUE(whole.share_slice(2, 2).empty());  // crosses a boundary
  whole.consume(4);
  EXPECT_EQ(text_of(part), "bcdefgh");
  whole.clear();
  EXPECT_EQ(text_of(part), "bcdefgh");
  EXPECT_EQ(base::as_text(middle.bytes()), "ef");
  part.clear();
  EXPECT_EQ(base::as_text(middle.bytes()), "ef");
  middle.reset();
  EXPECT_EQ(pool->in_use(), 0u);
}

TEST(chain, puts_a_header_in_front_in_place_or_as_a_packet) {
  checked_pool pool;
  chain body = chain_of(pool, {"body", "more"});
  const base::byte_span room = body.prepend_in_place(2);
  ASSERT_EQ(room.size(), 2u);
  room[0] = 'H';
  room[1] = ':';
  EXPECT_EQ(text_of(body), "H:bodymore");
  EXPECT_EQ(body.segments(), 2u);
  EXPECT_TRUE(body.prepend_in_place(RTE_PKTMBUF_HEADROOM).empty());  // two bytes of it are used
  chain rest;
  ASSERT_TRUE(body.cut(3, rest));
  EXPECT_TRUE(body.prepend_in_place(1).empty());  // somebody reads what stands there
  body.prepend(packet_of(*pool, bytes_of("B")));
  EXPECT_EQ(text_of(body), "Bodymore");
  EXPECT_EQ(text_of(rest), "H:b");
}

TEST(chain, becomes_a_packet_a_port_can_send) {
  checked_pool pool;
  chain whole = chain_of(pool, {"abcd", "efgh", "ijkl"});
  chain front;
  ASSERT_TRUE(whole.cut(6, front));
  packet sent;
  EXPECT_FALSE(whole.into_packet(sent, {}));  // "gh" lies in a shared mbuf
  EXPECT_EQ(text_of(whole), "ghijkl");
  ASSERT_TRUE(whole.into_packet(sent, *pool));
  EXPECT_EQ(sent.length(), 6u);
  EXPECT_EQ(sent.segments(), 2u);
  EXPECT_EQ(base::as_text(sent.first()), "gh");
  EXPECT_EQ(base::as_text(first_segment(sent.raw()->next)), "ijkl");
  EXPECT_EQ(sent.raw()->next->next, nullptr);
  rte_pktmbuf_free(sent.release());  // as a driver does it
  EXPECT_EQ(text_of(front), "abcdef");
}

TEST(chain, gathers_views_and_iovecs_of_all_segments) {
  checked_pool pool;
  const chain whole = chain_of(pool, {"ab", "cde", "f"});
  base::byte_view parts[3];
  ASSERT_EQ(whole.gather(parts), 3u);
  const base::segments all{parts};
  EXPECT_EQ(all.size(), whole.size());
  EXPECT_EQ(base::as_text(all.contiguous(2, 3)), "cde");
  EXPECT_EQ(whole.gather(std::span(parts).first(2)), 2u);
  iovec vectors[4];
  ASSERT_EQ(whole.gather_iovec(std::span<iovec>(vectors)), 3u);
  EXPECT_EQ(vectors[1].iov_base, parts[1].data());
  EXPECT_EQ(vectors[2].iov_len, 1u);
}

TEST(chain, copies_out_from_any_offset) {
  checked_pool pool;
  const chain whole = chain_of(pool, {"ab", "cde", "f"});
  for (std::size_t at = 0; at <= 7; ++at) {
    std::string out(4, '-');
    const std::size_t count = whole.copy_out(at, {reinterpret_cast<std::uint8_t*>(out.data()), 4});
    EXPECT_EQ(out.substr(0, count), at < 6 ? std::string("abcdef").substr(at, 4) : "");
  }
}

TEST(chain, refuses_the_holder_that_would_overflow_the_count) {
  checked_pool pool;
  chain whole = chain_of(pool, {"abcdef"});
  rte_mbuf_refcnt_set(const_cast<rte_mbuf*>(whole.tail()), UINT16_MAX);
  chain part;
  EXPECT_FALSE(whole.cut(1, part));
  EXPECT_FALSE(whole.share(0, 1, part, *pool));
  EXPECT_TRUE(whole.share_slice(0, 1).empty());
  EXPECT_EQ(text_of(whole), "abcdef");
  rte_mbuf_refcnt_set(const_cast<rte_mbuf*>(whole.tail()), 1);
}

TEST(chain, frees_the_empty_segments_of_a_packet) {
  checked_pool pool;
  packet head = packet_of(*pool, {});
  for (const char* part : {"a", "", "b", ""}) {
    packet tail = packet_of(*pool, bytes_of(part));
    ASSERT_TRUE(head.append_chain(tail));
  }
  const chain made{std::move(head)};
  EXPECT_EQ(text_of(made), "ab");
  EXPECT_EQ(pool->in_use(), 2u);
}

TEST(cursor, reads_across_segments_what_byte_reader_reads_in_one) {
  checked_pool pool;
  const std::vector<std::uint8_t> bytes = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a,
                                           0x9d, 0x7f, 0x3e, 0x7d, 0x7b, 0xbd, 0x25, 0xc2, 0x19, 0x7c,
                                           0x5e, 0xff, 0x14, 0xe8, 0x8c, 0x11, 0x22, 0x33, 0x44};
  for (std::size_t segment = 1; segment <= bytes.size(); ++segment) {
    chain all;
    for (std::size_t at = 0; at < bytes.size(); at += segment)
      ASSERT_TRUE(
          all.append(packet_of(*pool, base::byte_view(bytes).subspan(at, std::min(segment, bytes.size() - at)))));
    cursor in = all.read();
    std::uint8_t u8 = 0;
    std::uint16_t u16 = 0;
    std::uint32_t u24 = 0;
    std::uint32_t u32 = 0;
    std::uint64_t varint = 0;
    std::uint64_t u64 = 0;
    base::byte_view run;
    std::uint8_t scratch[4];
    ASSERT_TRUE(in.u8(u8) && in.u16(u16) && in.u24(u24) && in.u32(u32));
    EXPECT_EQ(u8, 0x01);
    EXPECT_EQ(u16, 0x0203);
    EXPECT_EQ(u24, 0x040506u);
    EXPECT_EQ(u32, 0x0708090au);
    ASSERT_TRUE(in.varint(varint));
    EXPECT_EQ(varint, 494878333u);  // RFC 9000 A.1
    cursor again = in;
    ASSERT_TRUE(in.skip(2) && in.varint(varint));
    EXPECT_EQ(varint, 0x25u);
    ASSERT_TRUE(again.skip(3) && again.varint(varint));
    EXPECT_EQ(varint, 151288809941952652u);  // RFC 9000 A.1
    EXPECT_EQ(again.offset(), 25u);
    ASSERT_TRUE(again.bytes(4, run, scratch));
    EXPECT_EQ(std::vector<std::uint8_t>(run.begin(), run.end()), (std::vector<std::uint8_t>{0x11, 0x22, 0x33, 0x44}));
    EXPECT_TRUE(again.empty());
    EXPECT_FALSE(again.u8(u8) || again.u64(u64) || again.varint(varint) || again.skip(1) || again.peek(u8));
    EXPECT_EQ(again.offset(), bytes.size());
  }
}

TEST(cursor, leaves_all_as_it_was_when_a_read_fails) {
  checked_pool pool;
  const chain all = chain_of(pool, {"\xc0", "bc"});
  cursor in = all.read();
  std::uint32_t number = 7;
  std::uint64_t varint = 7;
  base::byte_view run;
  std::uint8_t scratch[2];
  EXPECT_FALSE(in.u32(number) || in.varint(varint) || in.bytes(4, run, scratch) || in.bytes(3, run, scratch));
  EXPECT_FALSE(in.skip(4));
  EXPECT_EQ(in.offset(), 0u);
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(varint, 7u);
  EXPECT_TRUE(run.empty());
}

TEST(cursor, sees_nothing_beyond_its_limit) {
  checked_pool pool;
  const chain all = chain_of(pool, {"abc", "def"});
  for (std::size_t count = 0; count <= 7; ++count) {
    cursor in = all.read();
    in.limit(count);
    EXPECT_EQ(in.remaining(), std::min<std::size_t>(count, 6));
    std::string out(in.remaining(), '\0');
    ASSERT_TRUE(in.copy({reinterpret_cast<std::uint8_t*>(out.data()), out.size()}));
    EXPECT_EQ(out, std::string("abcdef").substr(0, count));
    EXPECT_TRUE(in.empty());
    std::uint8_t byte = 0;
    EXPECT_FALSE(in.u8(byte));
  }
}

TEST(chain, makes_a_packet_of_a_node_that_was_the_head_of_another) {
  checked_pool pool;
  packet inner = packet_of(*pool, bytes_of("b"));
  packet last = packet_of(*pool, bytes_of("c"));
  ASSERT_TRUE(inner.append_chain(last));  // its head says two segments from now on
  packet head = packet_of(*pool, bytes_of("a"));
  ASSERT_TRUE(head.append_chain(inner));
  chain all(std::move(head));
  all.consume(1);
  chain one;
  ASSERT_TRUE(all.cut(1, one));
  packet out;
  ASSERT_TRUE(one.into_packet(out, {}));
  EXPECT_EQ(out.segments(), 1u);
  const char* why = "";
  EXPECT_EQ(rte_mbuf_check(out.raw(), 1, &why), 0) << why;
}

TEST(slice, keeps_the_packet_it_came_from_alive) {
  checked_pool pool;
  packet whole = packet_of(*pool, bytes_of("payload"));
  slice part = slice::of(whole, whole.first().subspan(3));
  EXPECT_TRUE(whole.is_shared());
  whole = packet{};
  EXPECT_EQ(pool->in_use(), 1u);
  slice copy = part.share();
  part.reset();
  EXPECT_EQ(base::as_text(copy.bytes()), "load");
  EXPECT_EQ(base::as_text(copy.part(1, 2).bytes()), "oa");
  EXPECT_TRUE(copy.part(3, 2).empty());
  EXPECT_TRUE(copy.part(5, 0).empty());
}

TEST(slice, leaves_a_clean_mbuf_when_it_outlives_a_chained_packet) {
  checked_pool pool;
  auto made = block_pool::make({.name = "slices", .size = block_size::kib_1, .blocks_per_mempool = 7});
  ASSERT_TRUE(made);
  block_pool& blocks = made.value();
  for (const bool given_to_pool : {false, true}) {
    packet whole = blocks.alloc_packet();
    packet tail = packet_of(*pool, bytes_of("tail"));
    ASSERT_TRUE(whole.append_copy(bytes_of("head")) && whole.append_chain(tail));
    slice part = slice::of(whole, whole.first());
    const rte_mbuf* block = part.raw();
    if (given_to_pool)
      blocks.put(whole.release());
    else
      whole = packet{};
    EXPECT_EQ(blocks.in_use(), 1u);
    EXPECT_EQ(pool->in_use(), 0u);
    EXPECT_EQ(base::as_text(part.bytes()), "head");
    EXPECT_EQ(block->next, nullptr);
    EXPECT_EQ(block->nb_segs, 1u);
    part.reset();
    EXPECT_TRUE(blocks.is_whole());
  }
}

TEST(slice, refuses_bytes_that_are_not_the_packets) {
  checked_pool pool;
  const packet whole = packet_of(*pool, bytes_of("payload"));
  const std::uint8_t elsewhere[4] = {};
  EXPECT_TRUE(slice::of(whole, elsewhere).empty());
  EXPECT_TRUE(slice::of(whole, {whole.first().data() + 4, 4}).empty());
  EXPECT_TRUE(slice::of(packet{}, elsewhere).empty());
  EXPECT_FALSE(whole.is_shared());
}

// Every point at which memory is taken fails in turn, until the whole scenario passes; nothing may stay behind.
bool scenario(checked_pool& pool) {
  pipe one({}, *pool);
  pipe other({}, *pool);
  const std::vector<std::uint8_t> bytes = test::counting_bytes(300);
  chain frame, part, copy;
  packet sent;
  const base::byte_span room = one.get_span(10);
  if (room.empty() || !one.advance(10)) return false;
  if (one.write(bytes) == flow::exhausted) return false;
  packet header = packet::alloc(*pool);
  if (!header || header.append(8).empty()) return false;
  one.append(std::move(header));
  if (!one.take(100, frame) || !one.take(5, part)) return false;
  if (!frame.share(10, 80, copy, *pool)) return false;
  if (other.append(std::move(part)) == flow::exhausted) return false;
  if (other.append(std::move(copy)) == flow::exhausted) return false;
  if (!frame.append_copy(bytes, *pool)) return false;
  if (!frame.into_packet(sent, *pool)) return false;
  packet tail = packet::alloc(*pool);
  return static_cast<bool>(tail);
}

TEST(exhaustion, leaks_nothing_wherever_it_strikes) {
  bool passed = false;
  std::uint32_t failures = 0;
  for (std::uint32_t size = 1; size < 64 && !passed; ++size) {
    checked_pool pool(size, 64);
    passed = scenario(pool);
    failures += passed ? 0 : 1;
    EXPECT_EQ(pool->in_use(), 0u) << "with " << size << " mbufs";
  }
  EXPECT_TRUE(passed);
  EXPECT_GT(failures, 10u);
}

}  // namespace
}  // namespace millrace::buf
