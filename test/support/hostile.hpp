// test/support/hostile.hpp - what every parser test does to a good message: cut it everywhere, change every byte.
//
// Shape    each() gets a view that ends at a guard page. What it must hold up is the caller's to check.
#pragma once

#include <vector>

#include "base/bytes.hpp"
#include "support/guard_page.hpp"
#include "support/view.hpp"

namespace millrace::test {

// each(view) for every proper prefix, from nothing to all but one byte.
template <class Each>
void for_every_truncation(base::byte_view good, Each each) {
  guard_page guard(good.size() + 1);
  for (std::size_t size = 0; size < good.size(); ++size) each(base::byte_view(guard.place(good.first(size))));
}

// each(view) for every other value of every byte. `step` above 1 takes only every step-th of the 255 values.
template <class Each>
void for_every_byte_change(base::byte_view good, Each each, unsigned step = 1) {
  guard_page guard(good.size() + 1);
  const base::byte_span copy = guard.place(good);
  for (std::size_t i = 0; i < copy.size(); ++i) {
    const std::uint8_t was = copy[i];
    for (unsigned by = 1; by < 256; by += step) {
      copy[i] = static_cast<std::uint8_t>(was ^ by);
      each(base::byte_view(copy));
    }
    copy[i] = was;
  }
}

}  // namespace millrace::test
