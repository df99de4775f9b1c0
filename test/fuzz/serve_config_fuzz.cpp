// Any bytes as a configuration: what it says of them has a place, and what it takes prints and reads back as the same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "app/config.hpp"

namespace {

using namespace millrace;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_refusal(const base::failure& why) {
  require(why.unusable && !why.what.empty());
  require(why.what.starts_with("f:"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = app::parse_config(text, "f");
  if (!read) {
    check_refusal(read.error());
    return 0;
  }
  const std::string printed = app::to_toml(read.value().config);
  const auto again = app::parse_config(printed, "f");
  require(static_cast<bool>(again));
  require(app::to_toml(again.value().config) == printed);
  const auto sound = app::check_config(read.value().config, read.value().origins);
  if (!sound) check_refusal(sound.error());
  require(static_cast<bool>(sound) ==
          static_cast<bool>(app::check_config(again.value().config, again.value().origins)));
  return 0;
}
