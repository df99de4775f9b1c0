// app/command_line.hpp - argv cut into EAL arguments, a role and the role's options; @PROFILE read.
//
// Shape    millrace [@PROFILE] [EAL args] -- ROLE [options].  The `--` may be left out: EAL arguments have no bare
//          words but @PROFILE, so that the first bare word can only be the role (`millrace inspect FILE`). The
//          profile's words stand where @PROFILE stood; what comes later overrides.
// Errors   `unusable`, naming the word: unknown roles (with the nearest name), unknown EAL options, bare words that are
//          no role, a second @PROFILE.
// Tests    test/app/command_line_test.cpp
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/role.hpp"
#include "base/result.hpp"

namespace millrace::app {

enum class wanted : std::uint8_t { role, help, version };

struct command_line {
  wanted what = wanted::role;
  std::string role;  // one of the names, when a role is wanted
  invocation call;
};

// `words` without argv[0]; `profile_dirs` in the order of search.
[[nodiscard]] base::result<command_line> read_command_line(std::span<const std::string> words,
                                                           std::span<const std::string_view> roles,
                                                           std::span<const std::string> profile_dirs);

// $MILLRACE_CONFIG_DIR, the installed data directory, the source tree's drivers-config.
[[nodiscard]] std::vector<std::string> profile_dirs();

// The name most like `word`; empty when none is near.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

}  // namespace millrace::app
