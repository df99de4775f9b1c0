// Any bytes as a remoting payload: what is read lies inside them, and written again it reads the same.
//
// Input    byte 0: bit 0 says whether it is an error reply; the rest: the payload.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "rpc/wire/payload.hpp"

namespace {

using namespace millrace;

void require(bool holds) {
  if (!holds) std::abort();
}

bool inside(base::byte_view whole, const void* at, std::size_t size) {
  const auto* begin = static_cast<const std::uint8_t*>(at);
  return size == 0 || (begin >= whole.data() && begin + size <= whole.data() + whole.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto what = (data[0] & 1) != 0 ? rpc::wire::form::error : rpc::wire::form::plain;
  const base::byte_view in(data + 1, size - 1);
  rpc::wire::payload got;
  const base::parse_status status = parse(in, what, got);
  require(status.at <= in.size());
  if (!status) {
    require(got.name.empty() && got.data.empty());
    return 0;
  }
  require(!got.name.empty() && inside(in, got.name.data(), got.name.size()));
  require(inside(in, got.data.data(), got.data.size()));
  require(got.has_data == !got.data.empty());
  require(what == rpc::wire::form::error || got.code == 0);

  std::vector<std::uint8_t> room(encoded_size(got.name.size(), what, got.has_data, got.data.size()));
  const rpc::wire::payload_writer out(room, got.name, what, got.code);
  require(out.fits() == (got.name.size() <= rpc::wire::max_name_size));
  if (!out.fits()) return 0;
  std::ranges::copy(got.data, out.data_room().begin());
  require((got.has_data ? out.finish(got.data.size()) : out.finish_without_data()) == room.size());
  rpc::wire::payload again;
  require(static_cast<bool>(parse(room, what, again)));
  require(again.name == got.name && again.code == got.code && again.ignored == 0);
  require(again.has_data == got.has_data && std::ranges::equal(again.data, got.data));
  return 0;
}
