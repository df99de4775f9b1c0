#include "buf/packet.hpp"

namespace millrace::buf {

base::byte_view flatten(const rte_mbuf* m, base::byte_span scratch) noexcept {
  if (m->nb_segs == 1) return first_segment(m);
  if (m->pkt_len > scratch.size()) return {};
  std::size_t done = 0;
  for (const rte_mbuf* part = m; part != nullptr; part = part->next) {
    const base::byte_view bytes = first_segment(part);
    // The segments of a driver that counts wrongly must not run over: the sum of data_len is what is copied.
    if (bytes.size() > scratch.size() - done) return {};
    std::memcpy(scratch.data() + done, bytes.data(), bytes.size());
    done += bytes.size();
  }
  return scratch.first(done);
}

}  // namespace millrace::buf
