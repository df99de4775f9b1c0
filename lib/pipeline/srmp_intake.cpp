#include "pipeline/srmp_intake.hpp"

namespace millrace::pipeline {

using quic::conn::connection;
using quic::conn::live_stream;
namespace wire = srmp::wire;

base::result<std::unique_ptr<intake_store>> intake_store::make(const intake_limits& limits, std::uint32_t blocks) {
  intake_limits l = limits;
  l.whole = std::min(l.whole, wire::max_short_payload);
  l.ceiling = wire::clamp_ceiling(l.ceiling);
  auto pool = mem::object_pool<block>::make("srmp_frames", std::max(blocks, 1u));
  if (!pool) return pool.error();
  mem::region scratch = mem::region::make_array<std::uint8_t>("srmp_scratch", frame_bytes);
  if (!scratch) return base::failure{"no memory for SRMP frames", ""};
  return std::unique_ptr<intake_store>(new intake_store(l, std::move(pool.value()), std::move(scratch)));
}

intake_found srmp_intake::next_slowly(connection& c, live_stream& s, wire::frame& out) noexcept {
  settle(c, s);
  if (block_ != nullptr) return fill(c, s, out);
  const auto readable = static_cast<std::size_t>(s.recv.readable());
  if (readable == 0) return intake_found::wait;
  std::uint8_t opening[wire::long_header_size];
  const base::byte_span seen = base::byte_span(opening).first(std::min(readable, sizeof(opening)));
  s.recv.copy_out(seen);
  wire::frame_header header;
  const wire::header_result got = wire::parse_header(base::byte_view(seen), store_->limits.ceiling, header);
  if (got.outcome == base::progress::malformed) {
    why_ = got.why;
    return intake_found::malformed;
  }
  if (got.outcome != base::progress::done) return intake_found::wait;
  out.header = header;
  if (header.payload_size > store_->limits.whole) return intake_found::large;
  const std::uint32_t size = header.frame_size();
  if (size <= readable) {
    base::byte_view whole = s.recv.front();
    if (size > whole.size()) {
      whole = store_->scratch().first(size);
      s.recv.copy_out(store_->scratch().first(size));
      store_->copied_frames.add(1);
      crossing_ = true;
    }
    out.payload = whole.subspan(header.header_size, header.payload_size);
    used_ = size;
    return intake_found::frame;
  }
  if (size <= store_->limits.keep_bytes) return intake_found::wait;
  block_ = store_->blocks().get();
  if (block_ == nullptr) {
    store_->without_block.add(1);
    return intake_found::wait;
  }
  store_->copied_frames.add(1);
  need_ = size;
  return fill(c, s, out);
}

intake_found srmp_intake::fill(connection& c, live_stream& s, wire::frame& out) noexcept {
  const auto more = static_cast<std::uint32_t>(std::min<std::uint64_t>(s.recv.readable(), need_ - have_));
  if (more != 0) {
    s.recv.copy_out(base::byte_span(block_->bytes).subspan(have_, more));
    c.consume(s, more);
    have_ += more;
  }
  if (have_ != need_) return intake_found::wait;
  const base::byte_view whole = base::byte_view(block_->bytes).first(need_);
  static_cast<void>(wire::parse_header(whole, wire::max_payload, out.header));
  out.payload = whole.subspan(out.header.header_size, out.header.payload_size);
  return intake_found::frame;
}

}  // namespace millrace::pipeline
