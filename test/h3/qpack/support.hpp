// test/h3/qpack/support.hpp - what the QPACK tests and benches share: decoders and encoders with their memory, field
// lists, QIF files and the interoperability format.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "h3/qpack/decoder.hpp"
#include "h3/qpack/encoder.hpp"
#include "h3/qpack/instruction.hpp"

namespace millrace::test {

using bytes = std::vector<std::uint8_t>;
namespace qpack = h3::qpack;

struct owned_field {
  std::string name;
  std::string value;
  bool never_index = false;
  bool operator==(const owned_field&) const = default;
};
using field_list = std::vector<owned_field>;

inline std::vector<qpack::field> views(const field_list& list) {
  std::vector<qpack::field> out;
  for (const owned_field& f : list) out.push_back({f.name, f.value, f.never_index});
  return out;
}

// A list without its never_index marks: what QIF files can say.
inline field_list plain(field_list list) {
  for (owned_field& f : list) f.never_index = false;
  return list;
}

class recording_sink : public qpack::field_sink {
 public:
  field_list fields;
  std::size_t most = SIZE_MAX;  // stops behind so many
  qpack::sink_answer on_field(const qpack::field& f) noexcept override {
    fields.push_back({std::string(f.name), std::string(f.value), f.never_index});
    return fields.size() >= most ? qpack::sink_answer::stop : qpack::sink_answer::go_on;
  }
};

// A decoder and its memory, which is exactly as much as was asked for (so that AddressSanitizer sees the end).
class decoder_box {
  std::unique_ptr<std::byte[]> storage_;
  std::vector<char> scratch_;

 public:
  qpack::decoder d;
  explicit decoder_box(const qpack::decoder_settings& s = {})
      : storage_(std::make_unique<std::byte[]>(qpack::decoder::storage_size(s))),
        scratch_(qpack::decoder::scratch_size(s)),
        d(s, {storage_.get(), qpack::decoder::storage_size(s)}, scratch_) {}

  [[nodiscard]] bytes poll() {
    bytes out(4096);
    out.resize(d.poll_decoder_stream(out));
    return out;
  }
};

struct encoded_section {
  bytes section;
  bytes instructions;
};

class encoder_box {
  std::unique_ptr<std::byte[]> storage_;

 public:
  qpack::encoder e;
  explicit encoder_box(const qpack::encoder_settings& s = {})
      : storage_(std::make_unique<std::byte[]>(qpack::encoder::storage_size(s))),
        e(s, {storage_.get(), qpack::encoder::storage_size(s)}) {}

  encoded_section encode(std::uint64_t stream, const field_list& list, std::size_t credit = 1 << 16) {
    const std::vector<qpack::field> fields = views(list);
    encoded_section out{bytes(qpack::encoder::max_section_size(fields)), bytes(credit)};
    const qpack::encoded r = e.encode(stream, fields, out.section, out.instructions);
    if (!r.is_written) std::abort();
    out.section.resize(r.section);
    out.instructions.resize(r.instructions);
    return out;
  }
};

// Lists of "name TAB value" lines, an empty line behind each; lines with # in front say nothing.
inline std::vector<field_list> read_qif(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<field_list> lists;
  field_list list;
  std::string line;
  while (std::getline(in, line)) {
    if (line.empty()) {
      if (!list.empty()) lists.push_back(std::move(list));
      list.clear();
      continue;
    }
    if (line[0] == '#') continue;
    const std::size_t tab = line.find('\t');
    list.push_back({line.substr(0, tab), tab == std::string::npos ? "" : line.substr(tab + 1)});
  }
  if (!list.empty()) lists.push_back(std::move(list));
  return lists;
}

struct interop_record {
  std::uint64_t stream = 0;  // 0: the encoder stream
  bytes data;
};

// What an encoder says first. The interoperability files do not say it: when they were made, a table's capacity began
// at its limit.
inline bytes set_capacity(std::uint64_t capacity) {
  bytes out(qpack::max_integer_size);
  out.resize(
      static_cast<std::size_t>(qpack::emit_integer(out.data(), qpack::set_capacity_pattern, capacity) - out.data()));
  return out;
}

inline std::vector<interop_record> read_interop(const bytes& file) {
  std::vector<interop_record> records;
  std::size_t at = 0;
  while (at + 12 <= file.size()) {
    const std::uint64_t stream = base::load_be64(&file[at]);
    const std::size_t size = std::min<std::size_t>(base::load_be32(&file[at + 8]), file.size() - at - 12);
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at + 12);
    records.push_back({stream, bytes(begin, begin + static_cast<std::ptrdiff_t>(size))});
    at += 12 + size;
  }
  return records;
}

}  // namespace millrace::test
