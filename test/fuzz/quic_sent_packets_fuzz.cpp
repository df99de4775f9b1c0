// Any history of sending, acknowledging and losing packets, beside a model that keeps everything.
#include "quic/recovery/sent_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto pick = [&](std::uint64_t below) -> std::uint64_t {
    std::uint64_t value = 0;
    for (int i = 0; i < 2 && size != 0; ++i, ++data, --size) value = value << 8 | *data;
    return value % below;
  };
  millrace::test::sent_model model(1 + pick(16));
  for (int step = 0; step < 300 && size != 0 && model.ok(); ++step) model.step(pick);
  model.finish();
  if (!model.ok()) __builtin_trap();
  return 0;
}
