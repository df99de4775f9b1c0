// app/version.hpp - the version of the project, as its meson.build has it.
#pragma once

#include <string_view>

namespace millrace::app {

[[nodiscard]] std::string_view version() noexcept;  // "0.1.0"

}  // namespace millrace::app
