#include "quic/protect/seal.hpp"

#include "quic/protect/sealed_payload.hpp"
#include "quic/wire/packet_number.hpp"

namespace millrace::quic::protect {

seal_errc why_not(const seal_request& r, std::size_t payload_size) noexcept {
  if (r.pn_offset == 0 || r.pn_size == 0 || r.pn_size > pn_size_max || r.packet_number > wire::max_packet_number)
    return seal_errc::bad_header;
  const std::size_t header_size = std::size_t{r.pn_offset} + r.pn_size;
  if (r.out.size() < header_size + payload_size + crypto::aead_tag_size) return seal_errc::no_room;
  if ((r.out[0] & pn_size_mask) != r.pn_size - 1u) return seal_errc::bad_header;
  return seal_errc::too_short;
}

seal_errc seal_packet(crypto::engine& engine, const packet_keys& keys, seal_request& request) noexcept {
  placed_payload payload;
  place_payload(keys.iv, request, payload);
  if (request.code != seal_errc::ok) return request.code;
  seal_placed(engine, keys, request, payload);
  crypto::header_mask_bytes mask;
  crypto::header_mask(keys.header, {sample_of(request), crypto::header_sample_size}, mask);
  add_mask(request, mask.data());
  return request.code;
}

}  // namespace millrace::quic::protect
