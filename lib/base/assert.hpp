// base/assert.hpp - MILLRACE_ASSERT: our own bugs, never what a peer, a NIC or an operator can cause.
//
// Shape    aborts with the expression in debug and test builds; compiled out where NDEBUG is set, where the caller
//          must still drop and count whatever the broken invariant touched.
#pragma once

#include <cassert>

#define MILLRACE_ASSERT(expression) assert(expression)
