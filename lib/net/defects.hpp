// net/defects.hpp - what decoding a frame or reading a capture found wrong, as the program's drop reasons.
//
// Shape    one reason for every defect, and for whole frames that hold nothing to hand on; none only where a transport
//          header was reached.
// Errors   none. Tests  test/net/defects_test.cpp
#pragma once

#include "net/wire/capture.hpp"
#include "net/wire/decode.hpp"
#include "stats/drop_reason.hpp"

namespace millrace::net {

[[nodiscard]] stats::drop_reason to_drop_reason(wire::defect why) noexcept;  // defect::none is drop_reason::none

// For a frame that its stage has no use for, after decode() or decode_fast(): the defect's reason, else what the frame
// is (ARP, ICMP, a fragment, a protocol not looked into). none: UDP or TCP, whole, which only its stage can judge.
[[nodiscard]] stats::drop_reason to_drop_reason(const wire::decoded& frame) noexcept;

// One event of a capture file that is no record: its end in the middle of one, or what cannot be.
[[nodiscard]] stats::drop_reason to_drop_reason(wire::capture_fault fault) noexcept;

}  // namespace millrace::net
