// app/load_target.hpp - whom `load` asks, and how: the URL behind --target.
//
// Errors   refusals name --target, its value and what is wrong with it; exit status 2.
// Tests    test/app/load_options_test.cpp
#pragma once

#include <string>

#include "base/ip_address.hpp"
#include "base/result.hpp"

namespace millrace::app {

enum class load_scheme : std::uint8_t { srmp_udp, srmp_quic, hq, h3 };
[[nodiscard]] constexpr std::string_view to_string(load_scheme scheme) noexcept {
  switch (scheme) {
    case load_scheme::srmp_udp:
      return "srmp+udp";
    case load_scheme::srmp_quic:
      return "srmp+quic";
    case load_scheme::hq:
      return "hq";
    case load_scheme::h3:
      return "h3";
  }
  return "srmp+udp";
}
[[nodiscard]] constexpr bool is_over_quic(load_scheme scheme) noexcept { return scheme != load_scheme::srmp_udp; }

// Bodies are asked for, not messages exchanged.
[[nodiscard]] constexpr bool is_fetch(load_scheme scheme) noexcept {
  return scheme == load_scheme::hq || scheme == load_scheme::h3;
}

struct load_target {
  load_scheme scheme = load_scheme::srmp_udp;
  base::endpoint where;
  std::string method;  // of srmp; empty: raw frames
  std::string path;    // of hq and h3, with its slash, kept as it was given
};

// "srmp+udp://HOST:PORT[/METHOD]", "srmp+quic://HOST:PORT[/METHOD]", "hq://HOST:PORT[/PATH]", "h3://..." likewise; HOST
// is an IPv4 address or an IPv6 one in brackets, PORT may be left out (5500; over QUIC 443).
[[nodiscard]] base::result<load_target> parse_load_target(const std::string& text);

}  // namespace millrace::app
