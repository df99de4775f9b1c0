// Any bytes as a ClientHello; also with the outer length put right, so that the inner ones are reached more often.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/endian.hpp"
#include "support/view.hpp"
#include "tls/wire/client_hello.hpp"
#include "tls/wire/extension_type.hpp"

namespace {

using namespace millrace;
using namespace millrace::tls::wire;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(base::byte_view in) {
  client_hello h;
  const base::parse_status status = parse_client_hello(in, h);
  require(status.at <= in.size());
  if (!status) {
    require(h.cipher_suites.empty() && h.random.empty());
    return;
  }
  require(h.random.size() == hello_random_size && test::lies_in(h.random, in));
  require(h.session_id.size() <= max_session_id_size && test::lies_in(h.session_id, in));
  require(test::lies_in(base::as_bytes(h.sni), in) && h.has_sni == !h.sni.empty());
  require(test::lies_in(h.transport_parameters, in));
  for (const std::string_view name : h.alpn) require(!name.empty() && test::lies_in(base::as_bytes(name), in));
  for (const std::uint16_t type : h.extensions) require(std::ranges::count(h.extensions, type) == 1);
  bool is_hello = false;
  require(handshake_message_size(in, is_hello) == in.size() && is_hello);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::byte_view in(data, size);
  check(in);
  if (size < handshake_header_size || size - handshake_header_size > 0xFF'FFFF) return 0;
  std::vector<std::uint8_t> whole(in.begin(), in.end());
  whole[0] = handshake_client_hello;
  base::store_be24(whole.data() + 1, static_cast<std::uint32_t>(size - handshake_header_size));
  check(whole);
  return 0;
}
