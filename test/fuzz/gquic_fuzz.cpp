// Any payload as a gQUIC public header or the IETF-like one of Q044 to Q049.
#include <cstdlib>

#include "quic/wire/gquic.hpp"
#include "quic/wire/header.hpp"
#include "support/view.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  using namespace millrace::quic::wire;
  const base::byte_view in(data, size);
  gquic_header h;
  const base::parse_status status = parse_gquic(in, h);
  require(status.at <= size);
  require(test::lies_in(h.cid, in) && test::lies_in(h.versions, in));
  require(h.versions.size() % 4 == 0);
  require(h.header_size + h.pn_size <= size);
  require(status || h.header_size == 0);
  if (classify(in) == datagram_kind::gquic) require(status ? h.names_itself() : (data[0] & 0x80) != 0);
  return 0;
}
