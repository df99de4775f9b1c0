// srmp/compatibility.hpp - where the generations of SRMP peers differ, as switches; the defaults are the wire's own
// rules.
//
// Shape    one plain struct for both ends of a conversation; first_generation() is what a v11 peer does.
// Source   the SRMP sheet, 1 to 5. Tests  test/srmp/datagram_server_test.cpp, test/srmp/datagram_client_test.cpp
#pragma once

namespace millrace::srmp {

struct compatibility {
  // Server: a reply says of itself whether it is text (kind 0) or bytes (kind 1); false: it repeats the request's kind.
  // Clients of both generations ignore it.
  bool kind_of_reply = false;
  // Server: one reply a datagram, as v11 sends them; false: as many as fit.
  bool one_frame_a_datagram = false;
  // Both ends: a datagram without a byte is the peer's goodbye; false: it is counted and means nothing.
  bool empty_datagram_closes = true;
  // Client: a request whose sequence the caller set keeps it, and only 0 is numbered, also when that number is waiting
  // for a reply; the newest request of a number is answered first. False: every request gets a number that is free.
  bool caller_numbers = false;
  // Client: say goodbye with an empty datagram when it closes.
  bool goodbye = false;

  [[nodiscard]] static constexpr compatibility first_generation() noexcept {
    return {.kind_of_reply = true,
            .one_frame_a_datagram = true,
            .empty_datagram_closes = true,
            .caller_numbers = true,
            .goodbye = true};
  }
};

}  // namespace millrace::srmp
