#include "app/command_line.hpp"

#include <algorithm>
#include <cstdlib>

#include "env/eal_args.hpp"
#include "env/profile.hpp"
#include "env/text_file.hpp"

namespace millrace::app {
namespace {

std::string join(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) env::add_item(text, name);
  return text;
}

bool is_role(std::string_view word, std::span<const std::string_view> roles) {
  return std::find(roles.begin(), roles.end(), word) != roles.end();
}

base::failure no_role(std::span<const std::string_view> roles) {
  return {"no role given: millrace [EAL args] -- ROLE [options]", "roles are: " + join(roles) + "; see millrace --help",
          true};
}

base::failure unknown_role(const std::string& word, std::span<const std::string_view> roles) {
  const std::string_view near = nearest(word, roles);
  return {"no role '" + word + "'",
          near.empty() ? "roles are: " + join(roles) : "did you mean '" + std::string(near) + "'?", true};
}

base::failure stray(const std::string& word, std::span<const std::string_view> roles) {
  const std::string_view near = nearest(word, roles);
  return {"'" + word + "' is neither an EAL option nor a role",
          near.empty() ? "devices are given with -a ADDRESS or --vdev=NAME; roles are: " + join(roles)
                       : "did you mean '" + std::string(near) + "'?",
          true};
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

// `rest` begins with what should be the role.
base::result<command_line> finish(command_line line, std::span<const std::string> rest,
                                  std::span<const std::string_view> roles) {
  if (rest.empty()) return no_role(roles);
  if (is_one_of(rest.front(), {"-h", "--help", "help"})) {
    line.what = wanted::help;
    return line;
  }
  if (is_one_of(rest.front(), {"-v", "--version"})) {
    line.what = wanted::version;
    return line;
  }
  if (!is_role(rest.front(), roles)) return unknown_role(rest.front(), roles);
  line.role = rest.front();
  line.call.role_args.insert(line.call.role_args.end(), rest.begin() + 1, rest.end());
  return line;
}

}  // namespace

base::result<command_line> read_command_line(std::span<const std::string> words,
                                             std::span<const std::string_view> roles,
                                             std::span<const std::string> profile_dirs) {
  command_line line;
  while (!words.empty()) {
    // A word of the roles that EAL has no use for: many type it in front, where EAL's own switches stand.
    if (words.front() == "--verbose") {
      line.call.role_args = {words.front()};
      words = words.subspan(1);
      continue;
    }
    const auto scanned = env::scan_eal_word(words);
    if (!scanned) return scanned.error();
    const env::eal_word& word = scanned.value();
    if (word.kind == env::eal_word_kind::separator) return finish(std::move(line), words.subspan(1), roles);
    if (word.kind == env::eal_word_kind::option) {
      if (is_one_of(word.option.name, {"-h", "-v"})) {
        line.what = word.option.name == "-h" ? wanted::help : wanted::version;
        return line;
      }
      line.call.eal_args.insert(line.call.eal_args.end(), words.begin(), words.begin() + word.words);
    } else if (words.front().starts_with('@')) {
      if (!line.call.profile.empty())
        return base::failure{"a second profile, " + words.front() + ": one is read", "add its words as EAL args", true};
      line.call.profile = words.front().substr(1);
      const auto read = env::read_profile(line.call.profile, profile_dirs, env::environment_variable);
      if (!read) return read.error();
      line.call.eal_args.insert(line.call.eal_args.end(), read.value().begin(), read.value().end());
    } else if (is_role(words.front(), roles) || words.front() == "help") {
      return finish(std::move(line), words, roles);
    } else {
      return stray(words.front(), roles);
    }
    words = words.subspan(word.words);
  }
  return no_role(roles);
}

std::vector<std::string> profile_dirs() {
  std::vector<std::string> dirs;
  if (const char* chosen = std::getenv("MILLRACE_CONFIG_DIR"); chosen != nullptr && *chosen != '\0')
    dirs.emplace_back(chosen);
  dirs.emplace_back(MILLRACE_DATA_DIR "/drivers-config");
  dirs.emplace_back(MILLRACE_SOURCE_DIR "/drivers-config");
  return dirs;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  if (word.size() > 64) return {};
  std::string_view best;
  std::size_t best_distance = 3;  // two slips of the finger
  for (const std::string_view name : names) {
    // Levenshtein's distance, one row at a time.
    std::vector<std::size_t> row(name.size() + 1);
    for (std::size_t j = 0; j <= name.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= name.size(); ++j) {
        const std::size_t substituted = diagonal + (word[i - 1] == name[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
      }
    }
    if (row[name.size()] < best_distance && row[name.size()] < name.size()) {
      best_distance = row[name.size()];
      best = name;
    }
  }
  return best;
}

}  // namespace millrace::app
