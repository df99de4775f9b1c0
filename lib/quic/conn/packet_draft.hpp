// quic/conn/packet_draft.hpp - one packet while it is written: frames where they go, stream data where it lies.
//
//   out  | header | number | frames ... | (room for stream data) | frames ... | (room) | tag |
//                             inline        a view of the source    inline        view
//
// Shape    frames are written straight into the outgoing buffer; stream data is only named, with its place left free,
//          and the AEAD (or the one copy that is faster below 3 KiB, see protect/seal.hpp) brings it there. What the
//          packet carried is noted in tokens for recovery.
// Limits   protect::payload_parts_max pieces, and the tokens that recovery has a place for; has_place() says whether
//          another frame may come.
// Tests    test/quic/sim/
#pragma once

#include <cstring>

#include "base/byte_writer.hpp"
#include "base/unset_array.hpp"
#include "quic/conn/send_source.hpp"
#include "quic/protect/seal.hpp"
#include "quic/recovery/sent_pool.hpp"
#include "quic/wire/frame_ack.hpp"

namespace millrace::quic::conn {

class packet_draft {
  base::byte_writer out_;
  std::uint8_t* inline_from_;  // where the run of bytes that were written here begins
  unsigned part_count_ = 0;
  unsigned token_count_ = 0;
  unsigned most_tokens_;
  bool eliciting_ = false;
  bool has_padding_ = false;
  bool has_ack_ = false;
  std::uint64_t types_ = 0;  // of its frames: bit n for type n
  // Only the first part_count_ and token_count_ mean anything: zeroing them would cost as much as a frame.
  base::unset_array<base::byte_view, protect::payload_parts_max> parts_;
  base::unset_array<recovery::sent_token, recovery::max_tokens_per_packet> tokens_;

 public:
  // `frames`: the room between the packet number and the tag.
  packet_draft(base::byte_span frames, unsigned most_tokens) noexcept  // NOLINT(cppcoreguidelines-pro-type-member-init)
      : out_(frames), inline_from_(frames.data()), most_tokens_(most_tokens) {}

  [[nodiscard]] std::size_t room() const noexcept { return out_.room(); }
  [[nodiscard]] std::size_t size() const noexcept { return out_.size(); }
  [[nodiscard]] bool is_empty() const noexcept { return out_.size() == 0; }
  // Whether another frame with a token may come.
  [[nodiscard]] bool has_place() const noexcept {
    return token_count_ < most_tokens_ && part_count_ + most_source_parts + 2 < parts_.size();
  }

  // A frame that is written here, and what to remember of it. False: no room, nothing changed.
  template <class Frame>
  [[nodiscard]] bool add(const Frame& f, const recovery::sent_token& token) noexcept {
    if (!has_place() || !write(f)) return false;
    tokens_[token_count_++] = token;
    eliciting_ = true;
    return true;
  }
  // One that need not be remembered, though its packet elicits an ACK.
  template <class Frame>
  [[nodiscard]] bool add(const Frame& f) noexcept {
    if (!write(f)) return false;
    eliciting_ = true;
    return true;
  }
  // CONNECTION_CLOSE: it elicits no ACK (RFC 9002 2).
  template <class Frame>
  [[nodiscard]] bool add_silent(const Frame& f) noexcept {
    return write(f);
  }
  // ACK, which elicits none either; remembered when the packet is.
  [[nodiscard]] bool add_ack(const wire::ack_to_send& ack, const recovery::sent_token& token) noexcept {
    if (!has_place() || !write(ack)) return false;
    tokens_[token_count_++] = token;
    has_ack_ = true;
    return true;
  }

  // A frame with data that lies elsewhere: its header, then the views, `size` bytes in all.
  template <class Header>
  [[nodiscard]] bool add_data(const Header& header, std::span<const base::byte_view> views, std::size_t size,
                              const recovery::sent_token& token) noexcept {
    if (!has_place()) return false;
    const base::byte_writer before = out_;
    base::byte_span data;
    if (!write(header) || !out_.reserve(size, data)) {
      out_ = before;
      return false;
    }
    close_inline(data.data());
    for (const base::byte_view& view : views) parts_[part_count_++] = view;
    inline_from_ = data.data() + size;
    tokens_[token_count_++] = token;
    eliciting_ = true;
    return true;
  }

  // PADDING up to `bytes` of frames.
  void pad_to(std::size_t bytes) noexcept {
    if (bytes <= out_.size()) return;
    base::byte_span zeros;
    if (!out_.reserve(std::min(bytes - out_.size(), out_.room()), zeros) || zeros.empty()) return;
    std::memset(zeros.data(), 0, zeros.size());
    has_padding_ = true;
    types_ |= 1;
  }

  // Something to remember of the packet itself, when there is a place.
  void remember(const recovery::sent_token& token) noexcept {
    if (token_count_ < most_tokens_) tokens_[token_count_++] = token;
  }

  // Nothing of it is kept: neither its tokens nor that it is in flight.
  void make_unkept() noexcept {
    token_count_ = 0;
    eliciting_ = has_padding_ = false;
  }

  // Nothing is added any more. The frames in order, for protect::seal_request.
  [[nodiscard]] std::span<const base::byte_view> finish() noexcept {
    close_inline(out_.written().data() + out_.size());
    return {parts_.data(), part_count_};
  }

  [[nodiscard]] std::span<const recovery::sent_token> tokens() const noexcept { return {tokens_.data(), token_count_}; }
  [[nodiscard]] bool is_eliciting() const noexcept { return eliciting_; }
  [[nodiscard]] bool has_padding() const noexcept { return has_padding_; }
  [[nodiscard]] bool has_ack() const noexcept { return has_ack_; }
  [[nodiscard]] std::uint64_t types() const noexcept { return types_; }

 private:
  template <class Frame>
  [[nodiscard]] bool write(const Frame& f) noexcept {
    const std::uint8_t* const at = out_.written().data() + out_.size();
    if (!emit(out_, f)) return false;
    types_ |= std::uint64_t{1} << (*at & 63);
    return true;
  }
  void close_inline(const std::uint8_t* end) noexcept {
    if (inline_from_ != end) parts_[part_count_++] = {inline_from_, static_cast<std::size_t>(end - inline_from_)};
  }
};

}  // namespace millrace::quic::conn
