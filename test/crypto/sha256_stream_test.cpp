#include "crypto/sha256_stream.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace {

using namespace millrace;

TEST(sha256_stream, pieces_have_the_digest_of_the_whole) {
  auto engine = crypto::engine::make();
  ASSERT_TRUE(engine);
  std::vector<std::uint8_t> message(1000);
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::uint8_t>(i * 7);
  for (std::size_t size = 0; size <= message.size(); size += size < 200 ? 1 : 97)
    for (const std::size_t piece : {1u, 3u, 63u, 64u, 65u, 128u, 1000u}) {
      const base::byte_view all = base::byte_view(message).first(size);
      crypto::sha256_stream stream(*engine);
      for (std::size_t at = 0; at < size; at += piece) stream.update(all.subspan(at, std::min(piece, size - at)));
      crypto::sha256_digest once, streamed;
      engine->sha256(all, once);
      stream.finish(streamed);
      EXPECT_EQ(once, streamed) << size << " bytes by " << piece;
    }
}

}  // namespace
