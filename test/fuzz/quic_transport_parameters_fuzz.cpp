// Any extension body, from either side, in both encodings.
//
// Holds    what is accepted can be written, is canonical when written, and reads as the same values; shuffled and with
//          grease, too.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "quic/wire/transport_parameters.hpp"
#include "support/view.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

std::vector<std::uint8_t> written(const transport_parameters& p, sender from) {
  std::vector<std::uint8_t> room(encoded_size(p));
  base::byte_writer out(room);
  require(emit(out, p, from));
  require(out.room() == 0);
  return room;
}

// Drafts before 25 allowed a limit below 2, which the RFC's form cannot say.
bool speaks_rfc(const transport_parameters& p) { return p.active_connection_id_limit >= 2; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::byte_view in(data, size);
  for (const sender from : {sender::client, sender::server})
    for (const parameter_encoding encoding : {parameter_encoding::varints, parameter_encoding::sixteen_bits}) {
      transport_parameters p;
      const base::parse_status status = parse(in, from, encoding, p);
      require(status.at <= size);
      if (!status) continue;
      require(test::lies_in(p.initial_source_connection_id, in) && test::lies_in(p.stateless_reset_token, in));
      require(p.ids.size() >= p.unknown_count + p.reserved_count);
      if (!speaks_rfc(p)) continue;
      const std::vector<std::uint8_t> canonical = written(p, from);
      transport_parameters again;
      require(static_cast<bool>(parse(canonical, from, parameter_encoding::varints, again)));
      require(again.present == p.present && again.initial_max_data == p.initial_max_data);
      require(written(again, from) == canonical);
      const parameter_shuffle shuffle{.seed = size == 0 ? 0u : data[0] * 251u + size, .grease = size % 2 == 0};
      std::vector<std::uint8_t> shuffled(encoded_size(p, shuffle));
      base::byte_writer out(shuffled);
      require(emit(out, p, from, shuffle) && out.room() == 0);
      transport_parameters last;
      require(static_cast<bool>(parse(shuffled, from, parameter_encoding::varints, last)));
      require(last.reserved_count == (shuffle.grease ? 1u : 0u) && written(last, from) == canonical);
    }
  return 0;
}
