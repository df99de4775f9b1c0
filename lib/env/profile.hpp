// env/profile.hpp - EAL arguments kept in a file: @PROFILE on the command line, PROFILE.args on disk.
//
// Text     words between blanks and line ends; one or more a line.
//          #             begins a comment where a word could begin; it ends with the line
//          '...'         as it stands
//          "..."         as it stands, but for ${...} and \" \\ \$
//          \c            c itself (outside single quotes)
//          ${VAR}        from the environment; not defined is a failure
//          ${VAR:-TEXT}  TEXT (up to the next }) when VAR is not defined or empty; no ${...} inside
//          What a variable holds is never cut into words; a word of nothing but an empty ${...} is no word.
// Errors   every one is `unusable` and says FILE:LINE:COLUMN (both from 1; columns count bytes).
// Limits   64 KiB a file, 256 words, 4096 bytes a word.
// Threads  control code.
// Source   docs/command-line.md. Tests  test/env/profile_test.cpp, test/fuzz/profile_fuzz.cpp
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace millrace::env {

inline constexpr std::size_t profile_cap_bytes = 64 * 1024;
inline constexpr std::size_t profile_cap_words = 256;
inline constexpr std::size_t profile_cap_word_bytes = 4096;

// Answers nullopt for a variable that is not defined.
using variable_lookup = std::function<std::optional<std::string>(std::string_view)>;

[[nodiscard]] std::optional<std::string> environment_variable(std::string_view name);

// `file` only names the source in messages.
[[nodiscard]] base::result<std::vector<std::string>> parse_profile(std::string_view text, std::string_view file,
                                                                   const variable_lookup& variables);

// Where a profile lives: a name with '/' or ending in ".args" is a path (with ".args" added when that is what exists);
// any other is NAME.args in the working directory, then in each of `dirs`. The failure names every place looked at
// and the profiles there are.
[[nodiscard]] base::result<std::string> find_profile(std::string_view name, std::span<const std::string> dirs);
// Names without ".args", sorted, each once.
[[nodiscard]] std::vector<std::string> list_profiles(std::span<const std::string> dirs);

[[nodiscard]] base::result<std::vector<std::string>> read_profile(std::string_view name,
                                                                  std::span<const std::string> dirs,
                                                                  const variable_lookup& variables);

}  // namespace millrace::env
