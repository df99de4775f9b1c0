// One pass over the bytes, no recursion: what a word is made of is appended as it is read, and a word ends at a blank
// outside quotes. `quoted` remembers that a word had quotes, for "" is a word and an empty ${VAR} is none.
#include "env/profile.hpp"

#include <algorithm>
#include <cstdlib>

#include "env/text_file.hpp"

namespace millrace::env {
namespace {

constexpr std::string_view suffix = ".args";
constexpr std::string_view control_character = "a control character: this is no text";

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 && !is_blank(c); }
bool is_name_start(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) noexcept { return is_name_start(c) || (c >= '0' && c <= '9'); }

struct place {
  std::size_t line = 1;
  std::size_t column = 1;
};

class profile_reader {
  std::string_view text_;
  std::string_view file_;
  const variable_lookup& variables_;
  std::size_t at_ = 0;
  place here_;
  std::string word_;
  std::vector<std::string> words_;
  std::optional<base::failure> failed_;

 public:
  profile_reader(std::string_view text, std::string_view file, const variable_lookup& variables)
      : text_(text), file_(file), variables_(variables) {}

  base::result<std::vector<std::string>> read() {
    while (!failed_) {
      skip_blanks_and_comments();
      if (done()) return std::move(words_);
      read_word();
    }
    return *failed_;
  }

 private:
  [[nodiscard]] bool done() const noexcept { return at_ == text_.size(); }
  [[nodiscard]] char peek() const noexcept { return text_[at_]; }

  char take() noexcept {
    const char c = text_[at_++];
    if (c == '\n')
      here_ = {here_.line + 1, 1};
    else
      ++here_.column;
    return c;
  }

  void fail(place where, std::string_view what, std::string hint = {}) {
    if (failed_) return;  // the first trouble is the one to mend
    failed_ = base::failure{std::string(file_) + ':' + std::to_string(where.line) + ':' + std::to_string(where.column) +
                                ": " + std::string(what),
                            std::move(hint), true};
  }

  void append(place where, std::string_view piece) {
    if (word_.size() + piece.size() > profile_cap_word_bytes)
      fail(where, "an argument of more than " + std::to_string(profile_cap_word_bytes) + " bytes");
    else
      word_ += piece;
  }

  void skip_blanks_and_comments() noexcept {
    bool comment = false;
    while (!done() && (comment || is_blank(peek()) || peek() == '#')) {
      const char c = take();
      comment = c == '#' || (comment && c != '\n');
    }
  }

  void read_word() {
    const place start = here_;
    word_.clear();
    bool quoted = false;
    while (!failed_ && !done() && !is_blank(peek())) {
      const place where = here_;
      const char c = take();
      if (c == '\'' || c == '"') {
        quoted = true;
        read_quoted(where, c);
      } else if (c == '\\') {
        read_escaped(where);
        quoted = true;
      } else if (c == '$') {
        read_variable(where);
      } else {
        append_plain(where, c);
      }
    }
    if (failed_ || (word_.empty() && !quoted)) return;
    if (word_ == "--") return fail(start, "'--' ends the EAL arguments; a profile holds nothing else", "delete it");
    if (words_.size() == profile_cap_words)
      return fail(start, "more than " + std::to_string(profile_cap_words) + " arguments");
    words_.push_back(word_);
  }

  void append_plain(place where, char c) {
    if (is_control(c)) return fail(where, control_character);
    append(where, std::string_view(&c, 1));
  }

  void read_quoted(place open, char quote) {
    while (!failed_) {
      if (done()) return fail(open, "a quote that is never closed");
      const place where = here_;
      const char c = take();
      if (c == quote) return;
      if (quote == '"' && c == '\\' && !done() && (peek() == '"' || peek() == '\\' || peek() == '$')) {
        append_plain(where, take());
      } else if (quote == '"' && c == '$') {
        read_variable(where);
      } else {
        append_plain(where, c);
      }
    }
  }

  void read_escaped(place where) {
    if (done()) return fail(where, "a backslash with nothing behind it");
    append_plain(where, take());
  }

  // Behind the '$'.
  void read_variable(place where) {
    if (done() || peek() != '{')
      return fail(where, "'$' begins ${VAR} or ${VAR:-default}", "write \\$ for the character itself");
    take();
    const std::size_t begin = at_;
    while (!done() && is_name(peek())) take();
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty() || !is_name_start(name.front())) return fail(where, "${...} without a variable's name");
    std::optional<std::string_view> otherwise;
    if (text_.substr(at_).starts_with(":-")) {
      const std::size_t from = at_ + 2;
      while (!done() && peek() != '}' && peek() != '\n') {
        const place inside = here_;
        if (is_control(take())) return fail(inside, control_character);
      }
      otherwise = text_.substr(from, at_ - from);
      if (otherwise->find("${") != std::string_view::npos) return fail(where, "${...} inside a default");
    }
    if (done() || peek() != '}') return fail(where, "${" + std::string(name) + " is never closed by }");
    take();
    expand(where, name, otherwise);
  }

  void expand(place where, std::string_view name, std::optional<std::string_view> otherwise) {
    const auto value = variables_(name);
    if (value && (!value->empty() || !otherwise)) return append(where, *value);
    if (otherwise) return append(where, *otherwise);
    fail(where, "${" + std::string(name) + "} is not defined and has no default",
         "set it: " + std::string(name) + "=VALUE millrace ...");
  }
};

std::string join(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) add_item(text, piece);
  return text;
}

}  // namespace

std::optional<std::string> environment_variable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

base::result<std::vector<std::string>> parse_profile(std::string_view text, std::string_view file,
                                                     const variable_lookup& variables) {
  if (text.size() > profile_cap_bytes)
    return base::failure{
        std::string(file) + ":1:1: a profile of more than " + std::to_string(profile_cap_bytes) + " bytes", "", true};
  return profile_reader(text, file, variables).read();
}

std::vector<std::string> list_profiles(std::span<const std::string> dirs) {
  std::vector<std::string> names;
  for (const std::string& dir : dirs)
    for (const std::string& name : list_dir(dir))
      if (name.size() > suffix.size() && name.ends_with(suffix))
        names.push_back(name.substr(0, name.size() - suffix.size()));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

base::result<std::string> find_profile(std::string_view name, std::span<const std::string> dirs) {
  if (name.empty())
    return base::failure{"'@' without a profile's name", "profiles there are: " + join(list_profiles(dirs)), true};
  const std::string base(name);
  const std::string file = base + std::string(suffix);
  std::vector<std::string> places;
  if (name.find('/') != std::string_view::npos || name.ends_with(suffix)) {
    places = {base, file};
  } else {
    places = {file};
    for (const std::string& dir : dirs) places.push_back(dir + '/' + file);
  }
  for (const std::string& path : places)
    if (is_regular_file(path)) return path;
  const std::vector<std::string> known = list_profiles(dirs);
  return base::failure{"no profile @" + base + ": looked for " + join(places),
                       known.empty() ? "set MILLRACE_CONFIG_DIR to the folder with the .args files"
                                     : "profiles there are: " + join(known),
                       true};
}

base::result<std::vector<std::string>> read_profile(std::string_view name, std::span<const std::string> dirs,
                                                    const variable_lookup& variables) {
  const auto path = find_profile(name, dirs);
  if (!path) return path.error();
  const auto text = read_text(path.value(), profile_cap_bytes);
  if (!text)
    return base::failure{
        path.value() + ":1:1: cannot be read, or holds more than " + std::to_string(profile_cap_bytes) + " bytes",
        "ls -l " + path.value(), true};
  return parse_profile(*text, path.value(), variables);
}

}  // namespace millrace::env
