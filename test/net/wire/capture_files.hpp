// test/net/wire/capture_files.hpp - capture files written field by field, in either byte order.
#pragma once

#include <optional>

#include "base/endian.hpp"
#include "support/bytes.hpp"

namespace millrace::net::wire::test {

using millrace::test::byte_list;

// Integers in one byte order.
class field_writer {
  byte_list out_;
  bool big_endian_;

 public:
  explicit field_writer(bool big_endian) : big_endian_(big_endian) {}

  field_writer& integer(std::uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i)
      out_.push_back(static_cast<std::uint8_t>(value >> 8 * (big_endian_ ? size - 1 - i : i)));
    return *this;
  }
  field_writer& u16(std::uint64_t value) { return integer(value, 2); }
  field_writer& u32(std::uint64_t value) { return integer(value, 4); }
  field_writer& u64(std::uint64_t value) { return integer(value, 8); }
  field_writer& raw(base::byte_view in) {
    out_.insert(out_.end(), in.begin(), in.end());
    return *this;
  }
  field_writer& pad_to_four() {
    while (out_.size() % 4 != 0) out_.push_back(0);
    return *this;
  }
  [[nodiscard]] bool big_endian() const { return big_endian_; }
  [[nodiscard]] const byte_list& bytes() const { return out_; }
};

struct pcap_file {
  field_writer out;
  bool modified = false;

  explicit pcap_file(bool big_endian, std::uint32_t magic = 0xA1B2C3D4, std::uint32_t link = 1,
                     std::uint32_t snap_length = 65535, unsigned minor = 4, unsigned major = 2)
      : out(big_endian), modified(magic == 0xA1B2CD34) {
    out.u32(magic).u16(major).u16(minor).u32(0).u32(0).u32(snap_length).u32(link);
  }
  pcap_file& record(std::uint32_t seconds, std::uint32_t fraction, base::byte_view data,
                    std::optional<std::uint32_t> original = {}) {
    out.u32(seconds).u32(fraction).u32(data.size()).u32(original.value_or(static_cast<std::uint32_t>(data.size())));
    if (modified) out.u32(3).u16(0x0800).u16(0);
    out.raw(data);
    return *this;
  }
  [[nodiscard]] const byte_list& bytes() const { return out.bytes(); }
};

struct pcapng_file {
  byte_list whole;
  bool big_endian;

  explicit pcapng_file(bool big) : big_endian(big) { section(); }

  [[nodiscard]] field_writer fields() const { return field_writer(big_endian); }

  pcapng_file& block(std::uint32_t type, const byte_list& body) {
    field_writer out(big_endian);
    const std::uint32_t length = static_cast<std::uint32_t>(12 + (body.size() + 3) / 4 * 4);
    out.u32(type).u32(length).raw(body).pad_to_four().u32(length);
    whole.insert(whole.end(), out.bytes().begin(), out.bytes().end());
    return *this;
  }
  pcapng_file& section(unsigned major = 1, unsigned minor = 0) {
    return block(0x0A0D0D0A, fields().u32(0x1A2B3C4D).u16(major).u16(minor).u64(~std::uint64_t{0}).bytes());
  }
  // `options`: written as they are, behind the fixed part.
  pcapng_file& interface(std::uint16_t link, std::uint32_t snap_length = 0, const byte_list& options = {}) {
    return block(1, fields().u16(link).u16(0).u32(snap_length).raw(options).bytes());
  }
  [[nodiscard]] byte_list option(std::uint16_t code, const byte_list& value) const {
    return fields().u16(code).u16(value.size()).raw(value).pad_to_four().bytes();
  }
  pcapng_file& packet(std::uint32_t interface, std::uint64_t ticks, base::byte_view data,
                      std::optional<std::uint32_t> original = {}, std::optional<std::uint32_t> captured = {}) {
    return block(6, fields()
                        .u32(interface)
                        .u32(ticks >> 32)
                        .u32(ticks & 0xFFFFFFFF)
                        .u32(captured.value_or(static_cast<std::uint32_t>(data.size())))
                        .u32(original.value_or(static_cast<std::uint32_t>(data.size())))
                        .raw(data)
                        .bytes());
  }
  pcapng_file& simple_packet(base::byte_view data, std::uint32_t original) {
    return block(3, fields().u32(original).raw(data).bytes());
  }
  pcapng_file& old_packet(std::uint16_t interface, std::uint64_t ticks, base::byte_view data) {
    return block(2, fields()
                        .u16(interface)
                        .u16(0xFFFF)
                        .u32(ticks >> 32)
                        .u32(ticks & 0xFFFFFFFF)
                        .u32(data.size())
                        .u32(data.size())
                        .raw(data)
                        .bytes());
  }
  pcapng_file& secrets(std::uint32_t type, base::byte_view data, std::optional<std::uint32_t> length = {}) {
    return block(10,
                 fields().u32(type).u32(length.value_or(static_cast<std::uint32_t>(data.size()))).raw(data).bytes());
  }
};

}  // namespace millrace::net::wire::test
