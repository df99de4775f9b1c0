// h3/message_source.hpp - the bytes of one message on its stream: heads and frame headers, bodies where they lie.
//
//   stream   | HEADERS | DATA header | body of a chain, or written ...               | DATA header | ... | HEADERS |
//            | HEADERS | DATA header | content, read from its blocks                 | HEADERS (trailers)
//            | HEADERS | DATA header | pulled block | pulled block ...             | HEADERS (trailers)
//            | HEADERS | DATA header | pulled block | DATA header | pulled block ... | HEADERS (trailers)
//
// Shape    a pipe of what was written, with at most one range of content between two bytes of it; a pulled body's
//          blocks join the pipe as they can go: of a body whose size is known all in one DATA frame, of others each in
//          one of its own. Nothing of a body is copied, but for a small one behind its head, which is one run of bytes
//          then.
// Memory   of a pulled body: what was sent and is not acknowledged, `unacked` and one block at most. A stream without
//          credit holds nothing of it.
// Owner    its message. Blocks go back with their acknowledgement. Content is borrowed.
// Threads  one lcore. Tests  test/h3/body_test.cpp, content_test.cpp
#pragma once

#include "http/message.hpp"
#include "quic/conn/chain_source.hpp"

namespace millrace::h3 {

class message;

class message_source final : public quic::conn::send_source {
 public:
  enum class trouble : std::uint8_t {
    none,
    no_source,  // it had nothing; go_on() when it has
    no_memory,  // go_on() later
    unacked,    // go_on() when something was acknowledged
    failed,     // the source did, or ended before its size
  };

 private:
  quic::conn::chain_source chain_;
  const buf::content* content_ = nullptr;
  std::uint64_t content_from_ = 0;  // in the content
  std::uint64_t content_size_ = 0;
  std::uint64_t content_at_ = UINT64_MAX;  // in the stream
  message* owner_;
  buf::pull_source from_;
  buf::packet held_;           // pulled, and the DATA header before it found no block
  std::uint64_t left_ = 0;     // of the pulled body; UINT64_MAX: to its end
  std::uint64_t unacked_ = 0;  // see settings
  std::uint32_t pull_bytes_ = 0;
  trouble trouble_ = trouble::none;
  bool is_pulling_ = false;
  bool is_framed_ = false;  // the DATA header of all that is left is written

 public:
  message_source(message& owner, const buf::mbuf_source& blocks, const buf::pipe_limits& limits) noexcept
      : chain_(blocks, limits), owner_(&owner) {}

  [[nodiscard]] buf::pipe& pipe() noexcept { return chain_.pipe(); }
  [[nodiscard]] quic::conn::chain_source& chain() noexcept { return chain_; }
  [[nodiscard]] const quic::conn::chain_source& chain() const noexcept { return chain_; }

  // Behind what was committed so far, all of which was submitted. Once a message.
  void set_content(const http::content_range& r, std::uint64_t written) noexcept {
    content_ = r.from;
    content_from_ = r.offset;
    content_size_ = r.size;
    content_at_ = written;
  }
  void set_pulled(const http::pulled_body& b, std::uint64_t unacked, std::uint32_t pull_bytes) noexcept {
    from_ = b.from;
    left_ = b.size.value_or(UINT64_MAX);
    unacked_ = unacked;
    pull_bytes_ = pull_bytes;
    is_pulling_ = true;
  }
  [[nodiscard]] bool is_pulling() const noexcept { return is_pulling_; }
  // Why pull() said `later`.
  [[nodiscard]] trouble why() const noexcept { return trouble_; }
  [[nodiscard]] bool may_go_on() const noexcept { return is_pulling_ && chain_.waiting_bytes() < unacked_; }

  [[nodiscard]] unsigned borrow(std::uint64_t offset, std::size_t size,
                                std::span<base::byte_view, quic::conn::most_source_parts> parts) noexcept override;
  [[nodiscard]] quic::conn::pulled pull(std::uint64_t most) noexcept override;
  void released(std::uint64_t below) noexcept override;

 private:
  [[nodiscard]] quic::conn::pulled wait(trouble why) noexcept;
};

}  // namespace millrace::h3
