// quic/wire/sender.hpp - which side of a connection bytes come from: some things only one of them may say.
//
// Source   RFC 9000 12.4 18.2 19.7 19.20. Tests  test/quic/wire/frame_type_test.cpp
#pragma once

#include <cstdint>

namespace millrace::quic::wire {

enum class sender : std::uint8_t { client, server };

}  // namespace millrace::quic::wire
