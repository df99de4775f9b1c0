// h3/qpack/encoder.hpp - our field sections, made as small as the peer's decoder allows.
//
// Shape    encode() writes one section, and the instructions for the peer's table that it wants to go before it.
//          on_decoder_stream() takes what the peer's decoder stream brings, in any pieces.
// Table    a field that may come again is inserted (see encoder.cpp); instructions are written only where the room the
//          caller has for them holds each whole. What was inserted in a section's own call stands behind its base.
//          Nothing that an unacknowledged section refers to, or whose insertion is not acknowledged, is evicted.
// Blocking no more sections than the peer allows blocked streams refer to entries not acknowledged.
// Limits   sections that refer to the table and are not acknowledged: max_unacked_sections; while there are as many,
//          only the static table is used.
// Never    fields with never_index, Authorization, and Cookie and Set-Cookie below 20 bytes (RFC 9204 7.1.3: few
//          enough to guess) go as literals marked so, and never into the table.
// Owner    memory is the caller's. Errors  error: the connection ends with that code. Threads  one.
// Source   RFC 9204 2.1, 4.3, 4.4, 4.5, 7.1. Tests  test/h3/qpack/encoder_test.cpp, test/fuzz/qpack_encoder_fuzz.cpp
#pragma once

#include "base/bytes.hpp"
#include "h3/qpack/dynamic_table.hpp"
#include "h3/qpack/entry_finder.hpp"
#include "h3/qpack/error.hpp"
#include "h3/qpack/field.hpp"
#include "h3/qpack/integer.hpp"
#include "h3/qpack/unacked_sections.hpp"

namespace millrace::h3::qpack {

struct encoder_settings {
  std::uint64_t max_table_capacity = 4096;   // what we use of the peer's, at most
  std::uint16_t max_unacked_sections = 128;  // with references to the table
  std::uint64_t hash_seed = 0;               // random, where field values come from outside
  bool use_huffman = true;                   // where it is shorter; without it, strings go as they are
};

struct [[nodiscard]] encoded {
  bool is_written = false;       // false: section_out has no max_section_size() bytes; nothing was done
  std::size_t section = 0;       // bytes
  std::size_t instructions = 0;  // bytes; they go on the encoder stream, before or after the section
};

class encoder {
  friend class section_writer;

  encoder_settings settings_;
  dynamic_table table_;
  entry_finder finder_;
  unacked_sections unacked_;
  integer_tail integer_;
  std::uint64_t known_ = 0;       // RFC 9204 2.1.4: Known Received Count
  std::uint64_t capacity_ = 0;    // to be told to the peer
  std::uint64_t full_range_ = 0;  // RFC 9204 4.5.1.1: twice the peer's MaxEntries
  std::uint64_t peer_capacity_ = 0;
  std::uint64_t peer_blocked_ = 0;
  std::uint8_t instruction_ = 0;  // first byte of the decoder instruction whose integer is coming in
  bool is_inside_ = false;
  bool has_failed_ = false;

 public:
  [[nodiscard]] static std::size_t storage_size(const encoder_settings& settings) noexcept;
  // `storage` has storage_size() bytes.
  encoder(const encoder_settings& settings, std::span<std::byte> storage) noexcept;

  // Before it, only the static table is used. Again, after 0-RTT: false when the capacity is another although the table
  // is in use (RFC 9204 3.2.3: H3_SETTINGS_ERROR).
  [[nodiscard]] bool set_peer_settings(std::uint64_t capacity, std::uint64_t blocked_streams) noexcept;

  // No section of these fields is longer.
  [[nodiscard]] static std::size_t max_section_size(std::span<const field> fields) noexcept;

  // `encoder_stream_out` is what may be sent on the encoder stream now, perhaps nothing; all that is written there must
  // be sent, whatever becomes of the section.
  encoded encode(std::uint64_t stream_id, std::span<const field> fields, base::byte_span section_out,
                 base::byte_span encoder_stream_out) noexcept;

  [[nodiscard]] error on_decoder_stream(base::byte_view in) noexcept;

  // No byte of the stream's sections was sent, nor will be. After a reset of what was sent, the peer says when it has
  // let go of them (RFC 9204 2.2.2.2): until then they count.
  void cancel(std::uint64_t stream_id) noexcept { unacked_.remove_all(stream_id); }

  [[nodiscard]] std::uint64_t insert_count() const noexcept { return table_.inserted(); }
  [[nodiscard]] std::uint64_t known_received_count() const noexcept { return known_; }
  [[nodiscard]] std::size_t unacked_sections_count() const noexcept { return unacked_.count(); }
  [[nodiscard]] const dynamic_table& table() const noexcept { return table_; }

 private:
  [[nodiscard]] bool on_instruction(std::uint64_t value) noexcept;
};

}  // namespace millrace::h3::qpack
