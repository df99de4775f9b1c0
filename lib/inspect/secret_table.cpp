#include "inspect/secret_table.hpp"

#include <algorithm>

namespace millrace::inspect {

secret_table::added secret_table::add(const tls::wire::key_log_line& line) noexcept {
  if (records_.empty()) return added::no_room;
  const std::uint32_t random_hash = hash(line.random);
  std::uint32_t i = find_number(line.random, random_hash);
  if (i == nil) {
    if (in_use_ == records_.size()) return added::no_room;
    i = in_use_++;
    records_[i] = {};
    records_[i].random = line.random;
    index_.insert(random_hash, i);
  }
  handshake_secrets& record = records_[i];
  const auto label = static_cast<std::size_t>(line.label);
  const bool repeated = record.sizes[label] != 0;
  record.bytes[label] = line.secret;
  record.sizes[label] = line.secret_size;
  generation_ = std::max(generation_ + 1, 1u);  // never 0 again
  return repeated ? added::repeated : added::ok;
}

void secret_table::wipe() noexcept {
  if (in_use_ == 0) return;
  crypto::wipe({reinterpret_cast<std::uint8_t*>(records_.data()), in_use_ * sizeof(handshake_secrets)});
  records_ = {};
  in_use_ = 0;
}

}  // namespace millrace::inspect
