#include "env/eal_args.hpp"

#include <algorithm>
#include <array>

#include "env/text_file.hpp"

namespace millrace::env {
namespace {

enum class takes : std::uint8_t { nothing, maybe, value };

// Options of one group say the same thing: the last of them counts. `own` is a group of one, `many` may repeat, and
// `device` may repeat with different device names.
enum class group : std::uint8_t { own, many, device, cores, services, memory };

struct option_row {
  std::string_view name;       // canonical
  std::string_view long_name;  // without dashes; empty when there is only the letter
  char letter;                 // 0 when there is only the long name
  takes argument;
  group kind;
};

// DPDK 22.11's options, and those of the later releases up to 24.11 (EAL itself refuses what it does not have yet).
constexpr std::array rows = std::to_array<option_row>({
    {"-a", "allow", 'a', takes::value, group::device},
    {"-b", "block", 'b', takes::value, group::device},
    {"-c", "", 'c', takes::value, group::cores},
    {"-d", "", 'd', takes::value, group::many},
    {"-h", "help", 'h', takes::nothing, group::own},
    {"-l", "", 'l', takes::value, group::cores},
    {"-m", "", 'm', takes::value, group::memory},
    {"-n", "", 'n', takes::value, group::own},
    {"-r", "", 'r', takes::value, group::own},
    {"-s", "", 's', takes::value, group::services},
    {"-S", "", 'S', takes::value, group::services},
    {"-v", "version", 'v', takes::nothing, group::own},  // --version is ours; EAL has the letter only
    {"--base-virtaddr", "base-virtaddr", 0, takes::value, group::own},
    {"--create-uio-dev", "create-uio-dev", 0, takes::nothing, group::own},
    {"--file-prefix", "file-prefix", 0, takes::value, group::own},
    {"--force-max-simd-bitwidth", "force-max-simd-bitwidth", 0, takes::value, group::own},
    {"--huge-dir", "huge-dir", 0, takes::value, group::own},
    {"--huge-unlink", "huge-unlink", 0, takes::maybe, group::own},
    {"--huge-worker-stack", "huge-worker-stack", 0, takes::maybe, group::own},
    {"--in-memory", "in-memory", 0, takes::nothing, group::own},
    {"--iova-mode", "iova-mode", 0, takes::value, group::own},
    {"--lcores", "lcores", 0, takes::value, group::cores},
    {"--legacy-mem", "legacy-mem", 0, takes::nothing, group::own},
    {"--log-color", "log-color", 0, takes::maybe, group::own},
    {"--log-level", "log-level", 0, takes::value, group::many},
    {"--log-timestamp", "log-timestamp", 0, takes::maybe, group::own},
    {"--main-lcore", "main-lcore", 0, takes::value, group::own},
    {"--match-allocations", "match-allocations", 0, takes::nothing, group::own},
    {"--mbuf-pool-ops-name", "mbuf-pool-ops-name", 0, takes::value, group::own},
    {"--no-hpet", "no-hpet", 0, takes::nothing, group::own},
    {"--no-huge", "no-huge", 0, takes::nothing, group::own},
    {"--no-pci", "no-pci", 0, takes::nothing, group::own},
    {"--no-shconf", "no-shconf", 0, takes::nothing, group::own},
    {"--no-telemetry", "no-telemetry", 0, takes::nothing, group::own},
    {"--proc-type", "proc-type", 0, takes::value, group::own},
    {"--single-file-segments", "single-file-segments", 0, takes::nothing, group::own},
    {"--socket-limit", "socket-limit", 0, takes::value, group::own},
    {"--socket-mem", "socket-mem", 0, takes::value, group::memory},
    {"--syslog", "syslog", 0, takes::value, group::own},
    {"--telemetry", "telemetry", 0, takes::nothing, group::own},
    {"--trace", "trace", 0, takes::value, group::many},
    {"--trace-bufsz", "trace-bufsz", 0, takes::value, group::own},
    {"--trace-dir", "trace-dir", 0, takes::value, group::own},
    {"--trace-mode", "trace-mode", 0, takes::value, group::own},
    {"--vdev", "vdev", 0, takes::value, group::device},
    {"--vfio-intr", "vfio-intr", 0, takes::value, group::own},
    {"--vfio-vf-token", "vfio-vf-token", 0, takes::value, group::own},
    {"--vmware-tsc-map", "vmware-tsc-map", 0, takes::nothing, group::own},
});

const option_row* find_row(std::string_view canonical) noexcept {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const option_row& r) { return r.name == canonical; });
  return row == rows.end() ? nullptr : &*row;
}

base::failure unknown(std::string_view word) {
  return {"EAL has no option " + std::string(word),
          "a role's own options stand behind its name: millrace [EAL args] -- ROLE [options]", true};
}

base::failure no_value(std::string_view word) {
  return {"EAL option " + std::string(word) + " needs a value", "", true};
}

base::result<eal_word> finish(const option_row& row, std::string_view spelling, std::optional<std::string> attached,
                              std::span<const std::string> args) {
  eal_word found{eal_word_kind::option, {row.name, {}}, 1};
  if (row.argument == takes::nothing) {
    if (attached) return base::failure{"EAL option " + std::string(spelling) + " takes no value", "", true};
    return found;
  }
  if (attached) {
    found.option.value = std::move(*attached);
  } else if (row.argument == takes::value) {
    if (args.size() < 2) return no_value(spelling);
    found.option.value = args[1];
    found.words = 2;
  }
  if (row.argument == takes::value && found.option.value.empty()) return no_value(spelling);
  return found;
}

base::result<eal_word> scan_long(std::span<const std::string> args) {
  const std::string& word = args.front();
  const auto equals = word.find('=');
  const std::string spelling = word.substr(0, equals);
  const std::string_view name = std::string_view(spelling).substr(2);
  const option_row* found = nullptr;
  std::string candidates;
  for (const option_row& row : rows) {
    if (row.long_name.empty() || !row.long_name.starts_with(name)) continue;
    candidates += (candidates.empty() ? "--" : ", --") + std::string(row.long_name);
    if (row.long_name == name) {
      found = &row;
      candidates.clear();
      break;
    }
    found = found == nullptr ? &row : found;
  }
  if (found == nullptr) return unknown(spelling);
  if (candidates.find(',') != std::string::npos)
    return base::failure{"EAL option " + spelling + " is ambiguous: " + candidates, "", true};
  std::optional<std::string> attached;
  if (equals != std::string::npos) attached = word.substr(equals + 1);
  return finish(*found, spelling, std::move(attached), args);
}

base::result<eal_word> scan_short(std::span<const std::string> args) {
  const std::string& word = args.front();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const option_row& r) { return r.letter == word[1]; });
  if (row == rows.end()) return unknown(word);
  std::optional<std::string> attached;
  if (word.size() > 2) attached = word.substr(2);
  return finish(*row, word.substr(0, 2), std::move(attached), args);
}

bool same_subject(const option_row& mine, std::string_view my_value, const eal_option& other) noexcept {
  const option_row* row = find_row(other.name);
  switch (mine.kind) {
    case group::own:
      return row == &mine;
    case group::many:
      return false;
    case group::device:
      return row == &mine && device_name(my_value) == device_name(other.value);
    case group::cores:
    case group::services:
    case group::memory:
      return row->kind == mine.kind;
  }
  return false;
}

}  // namespace

base::result<eal_word> scan_eal_word(std::span<const std::string> args) {
  const std::string& word = args.front();
  if (word == "--") return eal_word{eal_word_kind::separator, {}, 1};
  if (word.size() < 2 || word[0] != '-') return eal_word{eal_word_kind::operand, {}, 1};
  return word[1] == '-' ? scan_long(args) : scan_short(args);
}

base::result<eal_vector> eal_vector::parse(std::span<const std::string> args) {
  eal_vector vector;
  while (!args.empty()) {
    const auto word = scan_eal_word(args);
    if (!word) return word.error();
    if (word.value().kind != eal_word_kind::option)
      return base::failure{"'" + args.front() + "' is no EAL option",
                           "devices are given with -a ADDRESS or --vdev=NAME", true};
    vector.set(word.value().option.name, word.value().option.value);
    args = args.subspan(word.value().words);
  }
  return vector;
}

void eal_vector::set(std::string_view name, std::string value) {
  const option_row* row = find_row(name);
  if (row == nullptr) return;  // our own code spells names as the table does
  const auto same =
      std::find_if(options_.begin(), options_.end(), [&](const eal_option& o) { return same_subject(*row, value, o); });
  if (same == options_.end())
    options_.push_back({row->name, std::move(value)});
  else
    *same = {row->name, std::move(value)};
}

void eal_vector::remove(std::string_view name) {
  std::erase_if(options_, [&](const eal_option& o) { return o.name == name; });
}

bool eal_vector::has(std::string_view name) const noexcept {
  return std::any_of(options_.begin(), options_.end(), [&](const eal_option& o) { return o.name == name; });
}

std::optional<std::string_view> eal_vector::value(std::string_view name) const noexcept {
  std::optional<std::string_view> last;
  for (const eal_option& option : options_)
    if (option.name == name) last = option.value;
  return last;
}

std::vector<std::string_view> eal_vector::values(std::string_view name) const {
  std::vector<std::string_view> all;
  for (const eal_option& option : options_)
    if (option.name == name) all.push_back(option.value);
  return all;
}

std::vector<std::string> eal_vector::args() const {
  std::vector<std::string> words;
  for (const eal_option& option : options_) {
    const bool is_letter = option.name.size() == 2;
    if (is_letter) {
      words.emplace_back(option.name);
      if (find_row(option.name)->argument != takes::nothing) words.push_back(option.value);
    } else {
      words.push_back(std::string(option.name) + (option.value.empty() ? "" : "=" + option.value));
    }
  }
  return words;
}

std::string_view device_name(std::string_view devargs) noexcept { return devargs.substr(0, devargs.find(',')); }

std::vector<std::string_view> device_arguments(std::string_view devargs, std::string_view key) {
  std::vector<std::string_view> values;
  for (const std::string_view pair : split(devargs, ',')) {
    const auto equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == key) values.push_back(pair.substr(equals + 1));
  }
  return values;
}

std::string full_pci_address(std::string_view device) {
  if (device.starts_with("pci:")) device.remove_prefix(4);
  constexpr std::string_view hex = "0123456789abcdefABCDEF";
  const auto is_hex = [&](std::string_view text, std::size_t least, std::size_t most) {
    return text.size() >= least && text.size() <= most && text.find_first_not_of(hex) == std::string_view::npos;
  };
  const auto dot = device.rfind('.');
  if (dot == std::string_view::npos || !is_hex(device.substr(dot + 1), 1, 1)) return {};
  auto numbers = split(device.substr(0, dot), ':');  // domain, bus, device; the domain may be left out
  if (numbers.size() == 2) numbers.insert(numbers.begin(), "0000");
  if (numbers.size() != 3 || !is_hex(numbers[0], 4, 8) || !is_hex(numbers[1], 2, 2) || !is_hex(numbers[2], 2, 2))
    return {};
  std::string address(numbers[0]);
  for (const std::string_view part : {numbers[1], numbers[2]}) add_item(address, part, ":");
  return address += device.substr(dot);
}

std::string shell_line(std::span<const std::string> words) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+,./:@%^";
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::uint64_t asked_memory_bytes(const eal_vector& given) {
  std::uint64_t megabytes = 0;
  for (const std::string_view name : {"-m", "--socket-mem"})
    for (const std::string_view node : split(given.value(name).value_or(""), ','))
      megabytes += std::min<std::uint64_t>(parse_number(node).value_or(0), 1u << 24);
  return megabytes << 20;
}

}  // namespace millrace::env
