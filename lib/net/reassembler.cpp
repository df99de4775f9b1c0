// A datagram is an address space of 64 KiB, mapped in blocks of 2 KiB as fragments come: data is copied straight to its
// place, and the ranges that came are kept beside it, unordered, to find overlaps. 128 ranges at the most are compared
// a fragment. Nothing overlaps, so the datagram is whole when the bytes that came are as many as the last fragment's
// end.

#include "net/reassembler.hpp"

#include <algorithm>

#include "base/hash.hpp"
#include "net/wire/checksum.hpp"

namespace millrace::net {
namespace {

using base::ip_family;

constexpr std::uint32_t longest_packet = 65535;

}  // namespace

reassembler::reassembler(const host_limits& limits, std::uint64_t seed) noexcept : limits_(limits), seed_(seed) {
  block_count_ = static_cast<std::uint32_t>(std::min<std::size_t>(limits.reassembly_bytes / block_bytes, none));
  datagrams_memory_ = mem::region::make_array<datagram>("net datagrams", limits.reassembly_datagrams);
  tags_memory_ = mem::region::make_array<std::uint32_t>("net datagram tags", limits.reassembly_datagrams);
  blocks_memory_ = mem::region::make("net fragment data", block_count_ * block_bytes);
  links_memory_ = mem::region::make_array<std::uint16_t>("net fragment blocks", block_count_);
  whole_memory_ = mem::region::make("net whole datagram", max_header + longest_packet);
  if (!datagrams_memory_ || !tags_memory_ || !blocks_memory_ || !links_memory_ || !whole_memory_) return;
  datagrams_ = datagrams_memory_.array<datagram>().first(limits.reassembly_datagrams);
  tags_ = tags_memory_.array<std::uint32_t>().first(limits.reassembly_datagrams);
  links_ = links_memory_.array<std::uint16_t>().first(block_count_);
  for (std::uint32_t i = block_count_; i-- > 0;) {
    links_[i] = free_block_;
    free_block_ = static_cast<std::uint16_t>(i);
  }
  ready_ = true;
}

std::uint32_t reassembler::tag_of(const wire::ip_datagram& header) const noexcept {
  const std::uint64_t first = base::hash_bytes(header.src.octets, seed_ ^ header.id);
  return static_cast<std::uint32_t>(base::hash_bytes(header.dst.octets, first)) | 1;
}

reassembler::datagram* reassembler::obtain(const wire::ip_datagram& header, std::uint64_t now) noexcept {
  const std::uint32_t tag = tag_of(header);
  // RFC 791 3.2 keys by protocol too; RFC 8200 4.5 does not, as only the first fragment's next header counts.
  const std::uint8_t protocol = header.src.family == ip_family::v4 ? header.protocol : std::uint8_t{0};
  for (std::size_t i = 0; i < tags_.size(); ++i) {
    datagram& d = datagrams_[i];
    if (tags_[i] == tag && d.id == header.id && d.protocol == protocol && d.src == header.src && d.dst == header.dst)
      return &d;
  }
  if (in_use_ == datagrams_.size()) {
    release(datagrams_[oldest_]);
    ++evicted_;
  }
  const auto i = static_cast<std::uint16_t>(std::find(tags_.begin(), tags_.end(), 0u) - tags_.begin());
  datagram& d = datagrams_[i];
  tags_[i] = tag;
  d.src = header.src;
  d.dst = header.dst;
  d.id = header.id;
  d.protocol = protocol;
  d.poisoned = d.has_first = d.has_last = false;
  d.fragments = d.header_size = d.named_at = 0;
  d.total = d.received = 0;
  d.ends_ns = now + limits_.reassembly_ns;
  d.blocks.fill(none);
  d.newer = none;
  d.older = newest_;
  (newest_ == none ? oldest_ : datagrams_[newest_].newer) = i;
  newest_ = i;
  ++in_use_;
  return &d;
}

void reassembler::release_blocks(datagram& d) noexcept {
  for (std::uint16_t& b : d.blocks) {
    if (b == none) continue;
    links_[b] = free_block_;
    free_block_ = b;
    b = none;
    --blocks_in_use_;
  }
}

void reassembler::release(datagram& d) noexcept {
  release_blocks(d);
  (d.older == none ? oldest_ : datagrams_[d.older].newer) = d.newer;
  (d.newer == none ? newest_ : datagrams_[d.newer].older) = d.older;
  tags_[number_of(d)] = 0;
  --in_use_;
}

// RFC 5722 4: the record stays until its time is over, to refuse what is still under way.
fragment_outcome reassembler::poison(datagram& d, fragment_outcome why) noexcept {
  release_blocks(d);
  d.poisoned = true;
  return why;
}

bool reassembler::provide_blocks(datagram& d, std::uint32_t begin, std::uint32_t size) noexcept {
  for (std::size_t i = begin / block_bytes; i <= (begin + size - 1) / block_bytes; ++i) {
    if (d.blocks[i] != none) continue;
    // The oldest that holds a block gives way; poisoned ones hold none.
    for (std::uint16_t other = oldest_; free_block_ == none && other != none;) {
      datagram& old = datagrams_[other];
      other = old.newer;
      if (&old == &d || old.poisoned) continue;
      release(old);
      ++evicted_;
    }
    if (free_block_ == none) return false;
    d.blocks[i] = free_block_;
    free_block_ = links_[free_block_];
    ++blocks_in_use_;
  }
  return true;
}

bool reassembler::holds(const datagram& d, std::uint32_t begin, base::byte_view data) noexcept {
  for (std::size_t done = 0; done < data.size();) {
    const std::size_t at = begin + done;
    const std::size_t part = std::min(data.size() - done, block_bytes - at % block_bytes);
    if (std::memcmp(block(d.blocks[at / block_bytes]) + at % block_bytes, data.data() + done, part) != 0) return false;
    done += part;
  }
  return true;
}

void reassembler::put(datagram& d, std::uint32_t begin, base::byte_view data) noexcept {
  for (std::size_t done = 0; done < data.size();) {
    const std::size_t at = begin + done;
    const std::size_t part = std::min(data.size() - done, block_bytes - at % block_bytes);
    std::memcpy(block(d.blocks[at / block_bytes]) + at % block_bytes, data.data() + done, part);
    done += part;
  }
}

fragment_outcome reassembler::add(const wire::ip_datagram& header, base::byte_view packet, std::uint64_t now) noexcept {
  const base::byte_view data = packet.subspan(header.payload_offset, header.payload_size());
  const std::uint32_t begin = header.fragment_offset;
  const auto size = static_cast<std::uint32_t>(data.size());
  const std::uint32_t end = begin + size;
  datagram& d = *obtain(header, now);
  if (d.poisoned) return fragment_outcome::refused;

  for (std::size_t i = 0; i < d.fragments; ++i) {
    const range r = d.ranges[i];
    if (begin >= std::uint32_t{r.begin} + r.size || r.begin >= end) continue;
    // RFC 8200 4.5: an exact duplicate may be ignored; the same place with other bytes is an attack.
    if (r.begin == begin && r.size == size && holds(d, begin, data)) return fragment_outcome::duplicate;
    return poison(d, fragment_outcome::overlap);
  }
  if (d.has_last && (end > d.total || !header.more_fragments)) return poison(d, fragment_outcome::overlap);
  if (!header.more_fragments) {
    for (std::size_t i = 0; i < d.fragments; ++i)
      if (std::uint32_t{d.ranges[i].begin} + d.ranges[i].size > end) return poison(d, fragment_outcome::overlap);
  }
  if (d.fragments == limits_.fragments_per_datagram) return poison(d, fragment_outcome::too_many);
  if (begin == 0 && header.payload_offset > max_header) return poison(d, fragment_outcome::too_long);
  if (!provide_blocks(d, begin, size)) {
    if (d.fragments == 0) release(d);
    return fragment_outcome::full;
  }

  put(d, begin, data);
  d.ranges[d.fragments++] = {static_cast<std::uint16_t>(begin), static_cast<std::uint16_t>(size)};
  d.received += size;
  if (begin == 0) {
    d.has_first = true;
    d.header_size = static_cast<std::uint16_t>(header.payload_offset);
    d.named_at = static_cast<std::uint16_t>(header.fragment_named_at);
    std::memcpy(d.header.data(), packet.data(), header.payload_offset);
  }
  if (!header.more_fragments) {
    d.has_last = true;
    d.total = end;
  }
  return d.has_last && d.received == d.total ? finish(d) : fragment_outcome::kept;
}

// RFC 8200 4.5: the part that is not cut, without the fragment header, its last next header that of the first fragment.
// RFC 791 3.2: the first header, with the length of the whole and no trace of fragments.
fragment_outcome reassembler::finish(datagram& d) noexcept {
  const bool v4 = d.src.family == ip_family::v4;
  const std::uint32_t header_size = v4 ? d.header_size : d.header_size - 8u;
  const std::uint32_t length = header_size + d.total - (v4 ? 0 : 40);  // as the header's field says it
  if (length > longest_packet) return poison(d, fragment_outcome::too_long);
  std::uint8_t* const out = whole();
  std::memcpy(out, d.header.data(), header_size);
  if (v4) {
    base::store_be16(out + 2, static_cast<std::uint16_t>(length));
    base::store_be16(out + 6, 0);
    base::store_be16(out + 10, 0);
    base::store_be16(out + 10, wire::internet_checksum({out, header_size}));
  } else {
    base::store_be16(out + 4, static_cast<std::uint16_t>(length));
    out[d.named_at] = d.header[header_size];
  }
  for (std::uint32_t at = 0; at < d.total; at += block_bytes)
    std::memcpy(out + header_size + at, block(d.blocks[at / block_bytes]),
                std::min<std::size_t>(block_bytes, d.total - at));
  whole_ = {out, header_size + d.total};
  release(d);
  return fragment_outcome::complete;
}

bool reassembler::expire(std::uint64_t now) noexcept {
  if (oldest_ == none || datagrams_[oldest_].ends_ns > now) return false;
  datagram& d = datagrams_[oldest_];
  quote_ = {};
  if (d.has_first && !d.poisoned) {
    std::uint32_t first = 0;  // bytes of the first fragment's data
    for (std::size_t i = 0; i < d.fragments; ++i)
      if (d.ranges[i].begin == 0) first = d.ranges[i].size;
    const std::size_t data = std::min<std::size_t>(first, block_bytes);
    std::memcpy(whole(), d.header.data(), d.header_size);
    std::memcpy(whole() + d.header_size, block(d.blocks[0]), data);
    quote_ = {whole(), d.header_size + data};
  }
  release(d);
  return true;
}

std::uint64_t reassembler::due_ns() const noexcept { return oldest_ == none ? never : datagrams_[oldest_].ends_ns; }

}  // namespace millrace::net
