#include "crypto/sha256_stream.hpp"

#include <algorithm>

#include "crypto/hash_jobs.hpp"

namespace millrace::crypto {

void sha256_stream::update(base::byte_view piece) noexcept {
  if (rest_bytes_ != 0) {
    const std::size_t more = std::min(piece.size(), rest_.size() - rest_bytes_);
    std::copy_n(piece.begin(), more, rest_.begin() + static_cast<std::ptrdiff_t>(rest_bytes_));
    rest_bytes_ += more;
    piece = piece.subspan(more);
    if (rest_bytes_ < rest_.size()) return;
    engine_.sha256_blocks(state_, rest_.data(), 1);
    done_bytes_ += rest_.size();
    rest_bytes_ = 0;
  }
  const std::size_t blocks = piece.size() / sha256_block_size;
  engine_.sha256_blocks(state_, piece.data(), blocks);
  done_bytes_ += blocks * sha256_block_size;
  piece = piece.subspan(blocks * sha256_block_size);
  std::copy(piece.begin(), piece.end(), rest_.begin());
  rest_bytes_ = piece.size();
}

void sha256_stream::finish(sha256_digest& out) noexcept {
  sha256_finish(engine_, state_, done_bytes_, base::byte_view(rest_).first(rest_bytes_), out);
}

}  // namespace millrace::crypto
