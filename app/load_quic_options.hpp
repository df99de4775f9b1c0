// app/load_quic_options.hpp - the options of `load` that only a target over QUIC has a use for (hq://, h3://,
// srmp+quic://).
//
// Shape    plain values; add_quic_options() binds them, settle_quic() checks and completes them once the target is
// known.
//          What both schemes have is in `asked`; `messages` is made of it where the scheme is srmp+quic.
// Units    as each option says. Errors  refusals name the option; exit status 2.
// Tests    test/app/load_options_test.cpp
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "loadgen/fetch_settings.hpp"
#include "loadgen/srmp_quic_settings.hpp"

namespace CLI {
class App;
}

namespace millrace::app {

struct load_quic_options {
  loadgen::fetch_settings asked;  // of all generators together, and without what is made at start: TLS, fitted pools
  loadgen::srmp_quic_settings messages;  // the same
  std::string ca;                        // PEM file; empty: none
  std::string pin;                       // SHA-256 of the server's SPKI, base64; empty: none
  bool insecure = false;                 // said aloud; it is so as well when neither ca nor pin is given
  std::string data;                      // a file that is the body of every request; empty: none
  std::uint64_t data_bytes = 0;          // or a body of so many bytes
  std::string keylog;                    // empty: SSLKEYLOGFILE, else nowhere
  tls::algorithms offered;
  std::uint32_t max_datagram = 0;  // UDP payload that is tried at most; 0: what the MTU carries
  double migrate_every_s = 0;
};

// Names of the options that add_quic_options() adds.
[[nodiscard]] std::span<const std::string_view> quic_option_names() noexcept;
void add_quic_options(CLI::App& options, load_quic_options& out);
// Reads what --data names, into out.asked.body.
[[nodiscard]] base::outcome settle_data(load_quic_options& out);
// `mtu`: of our link. The target and the numbers that all schemes share are in `out.asked` already.
[[nodiscard]] base::outcome settle_quic(std::uint16_t mtu, load_quic_options& out);

}  // namespace millrace::app
