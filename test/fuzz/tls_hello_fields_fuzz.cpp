// What a server reads of a hello agrees with what inspection reads of it, wherever both read it.
#include <cstdlib>

#include "tls/wire/client_hello.hpp"
#include "tls/wire/hello_fields.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::tls::wire;
  const millrace::base::byte_view message(data, size);
  new_session_ticket ticket;
  static_cast<void>(parse_new_session_ticket(message, ticket));
  hello_fields fields;
  if (!scan_client_hello(message, fields)) return 0;
  static_cast<void>(is_protocol_list(fields.alpn));
  client_hello hello;
  if (!parse_client_hello(message, hello)) return 0;
  if (hello.session_id.size() != fields.session_id.size()) std::abort();
  if (hello.sni != fields.sni) std::abort();
  if (fields.has_transport_parameters && fields.transport_parameters.data() != hello.transport_parameters.data() &&
      !hello.has_transport_parameters)
    std::abort();
  return 0;
}
