// h3/qpack/decoder.hpp - field sections of one connection's peer, made into fields.
//
// Shape    on_encoder_stream() takes what the peer's encoder stream brings, in any pieces. decode() takes one whole
//          section. poll_decoder_stream() writes what our decoder stream has to say.
// Blocked  a section may need entries that have not come: decode() answers `blocked`, the caller keeps the bytes, reads
//          nothing further of that stream, and decodes again, with the same stream id, once is_ready() says so. More
//          such streams than allowed are an error (RFC 9204 2.1.2).
// Owner    memory is the caller's. `scratch` holds what one field's Huffman code says; decoders of one lcore may
//          share it. Fields live until the sink returns.
// Limits   all in decoder_settings. A field section's size is checked behind each field, before the sink sees it.
//          Acknowledgments wait in a queue of max_pending; while it is full, a section that would add to it is not
//          begun (`busy`) and cancel() answers false: poll, then ask again. Nothing is lost.
// Errors   error: the connection ends with that code. section_outcome: what became of a section.
// Threads  one.
// Source   RFC 9204 2.2, 4.3, 4.4, 4.5; RFC 9114 4.2.2.
// Tests    test/h3/qpack/decoder_test.cpp, test/fuzz/qpack_decoder_fuzz.cpp
#pragma once

#include "base/bytes.hpp"
#include "h3/qpack/error.hpp"
#include "h3/qpack/field.hpp"
#include "h3/qpack/table_updates.hpp"

namespace millrace::h3::qpack {

struct decoder_settings {
  std::uint64_t max_table_capacity = 4096;        // SETTINGS_QPACK_MAX_TABLE_CAPACITY
  std::uint16_t max_blocked_streams = 16;         // SETTINGS_QPACK_BLOCKED_STREAMS
  std::uint64_t max_field_section_bytes = 65536;  // SETTINGS_MAX_FIELD_SECTION_SIZE
  std::uint16_t max_pending = 64;                 // acknowledgments and cancellations waiting for poll_decoder_stream
};

enum class section_outcome : std::uint8_t {
  done,       // every field was told
  blocked,    // nothing was told: keep the bytes until is_ready(required_insert_count)
  busy,       // nothing was told: poll_decoder_stream() has to make room first
  too_large,  // the fields told before are within the limit; the section is acknowledged
  stopped,    // the sink said so; the section is acknowledged
  malformed,  // the connection ends with QPACK_DECOMPRESSION_FAILED
};

struct [[nodiscard]] section_result {
  section_outcome outcome = section_outcome::done;
  std::uint64_t required_insert_count = 0;  // when blocked
  std::uint64_t size_bytes = 0;             // RFC 9114 4.2.2, of the fields told

  [[nodiscard]] error code() const noexcept {
    return outcome == section_outcome::malformed ? error::decompression_failed : error::none;
  }
};

class decoder {
  struct pending {
    std::uint64_t stream_id_and_kind;  // the low bit: a cancellation
  };
  struct blocked_stream {
    std::uint64_t stream_id;
    std::uint64_t required;
  };

  decoder_settings settings_;
  table_updates updates_;  // and the table
  std::span<pending> pending_;
  std::span<blocked_stream> blocked_;
  std::span<char> scratch_;
  std::uint64_t known_ = 0;  // the insert count that the peer knows we have, once pending_ is written
  std::uint32_t pending_first_ = 0;
  std::uint32_t pending_count_ = 0;
  std::uint32_t blocked_count_ = 0;  // some of them may be ready by now

 public:
  [[nodiscard]] static std::size_t storage_size(const decoder_settings& settings) noexcept;
  // What `scratch` needs for every field within the limit to be decoded; with less, longer ones are too_large.
  [[nodiscard]] static std::size_t scratch_size(const decoder_settings& settings) noexcept {
    return static_cast<std::size_t>(settings.max_field_section_bytes);
  }

  // `storage` has storage_size() bytes.
  decoder(const decoder_settings& settings, std::span<std::byte> storage, std::span<char> scratch) noexcept;

  [[nodiscard]] error on_encoder_stream(base::byte_view in) noexcept { return updates_.add(in); }
  [[nodiscard]] section_result decode(std::uint64_t stream_id, base::byte_view section, field_sink& to) noexcept;

  // The stream was reset or will not be read: no section of it will be decoded. False: the queue is full, poll and ask
  // again. With a capacity of 0 there is nothing to say (RFC 9204 2.2.2.2).
  [[nodiscard]] bool cancel(std::uint64_t stream_id) noexcept;

  // Writes whole instructions into `out`, as many as fit; answers the bytes written.
  [[nodiscard]] std::size_t poll_decoder_stream(base::byte_span out) noexcept;
  [[nodiscard]] bool has_decoder_stream() const noexcept { return pending_count_ != 0 || insert_count() > known_; }

  [[nodiscard]] std::uint64_t insert_count() const noexcept { return updates_.table().inserted(); }
  [[nodiscard]] bool is_ready(std::uint64_t required_insert_count) const noexcept {
    return required_insert_count <= insert_count();
  }
  // Streams that wait for entries now.
  [[nodiscard]] std::size_t blocked_streams() const noexcept;
  [[nodiscard]] const dynamic_table& table() const noexcept { return updates_.table(); }

 private:
  [[nodiscard]] bool block(std::uint64_t stream_id, std::uint64_t required) noexcept;
  void unblock(std::uint64_t stream_id) noexcept;
  void push(std::uint64_t stream_id, bool is_cancellation) noexcept;
};

}  // namespace millrace::h3::qpack
