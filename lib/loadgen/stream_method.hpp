// loadgen/stream_method.hpp - the method that stream_load calls: a stream of test bytes, as long as the caller wants.
//
// Shape    table.add("Bench/Stream", answer_stream, &pattern). Arguments {"bytes":N,"item":M}; other members are
//          ignored. Answers ceil(N / M) items of M bytes, the last one of what remains; N is 0: the end alone.
// Errors   error 500 and a message: arguments that are not these, an item larger than a reply. A stream that cannot be
//          sent to its end (the service's max_items, no packet free) ends early.
// Limits   a call answers all of its stream in one go: the service's max_items bounds it.
// Threads  the pattern is only read. Tests  test/loadgen/stream_load_test.cpp
#pragma once

#include "rpc/call.hpp"

namespace millrace::loadgen {

// `pattern`: a const stream_pattern.
void answer_stream(void* pattern, rpc::call& c) noexcept;

}  // namespace millrace::loadgen
