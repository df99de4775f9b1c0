// env/eal_args.hpp - an EAL argument vector, understood: which words are options, what they mean together.
//
// Shape    scan_eal_word() cuts one option, operand or "--" off a vector, by getopt_long's rules (attached and separate
//          values, unambiguous beginnings of long names). eal_vector holds options under one name each ("--allow" is
//          "-a") and settles repeats: of a single-valued option, and of options that say the same thing in different
//          words (-l -c --lcores; -m --socket-mem; -s -S), the last counts; a vdev or device given again replaces the
//          first in its place, because the order of devices is the order of ports.
// Errors   `unusable`, naming the argument: unknown options, missing values, stray operands, which EAL drops silently.
// Limits   the caller's argv. Threads  control code.
// Source   DPDK 22.11 EAL parameters. Tests  test/env/eal_args_test.cpp
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace millrace::env {

struct eal_option {
  std::string_view name;  // canonical, of static storage: "-l", "--vdev"
  std::string value;      // empty for options without one
};

enum class eal_word_kind : std::uint8_t { option, operand, separator };

struct eal_word {
  eal_word_kind kind = eal_word_kind::operand;
  eal_option option;      // of an option
  std::size_t words = 1;  // how many words of the vector it took
};

// Reads the word at the front of `args`, which must not be empty.
[[nodiscard]] base::result<eal_word> scan_eal_word(std::span<const std::string> args);

class eal_vector {
  std::vector<eal_option> options_;

 public:
  [[nodiscard]] static base::result<eal_vector> parse(std::span<const std::string> args);

  // `name` is canonical. A repeat is settled as above.
  void set(std::string_view name, std::string value = {});
  void remove(std::string_view name);

  [[nodiscard]] bool has(std::string_view name) const noexcept;
  // Of the last option of that name; nullopt when there is none. The view lives until the vector changes.
  [[nodiscard]] std::optional<std::string_view> value(std::string_view name) const noexcept;
  [[nodiscard]] std::vector<std::string_view> values(std::string_view name) const;
  [[nodiscard]] const std::vector<eal_option>& options() const noexcept { return options_; }

  // As EAL takes it: "-l" "0,1", "--vdev=net_ring0", "--no-pci".
  [[nodiscard]] std::vector<std::string> args() const;
};

// Two options of the vector that exclude each other, as a failure that says which and why.
[[nodiscard]] std::optional<base::failure> find_conflict(const eal_vector& given);

// "net_af_packet0" of "net_af_packet0,iface=veth0"
[[nodiscard]] std::string_view device_name(std::string_view devargs) noexcept;
// The values of `key` in devargs, in order: net_pcap takes several rx_pcap, one a queue.
[[nodiscard]] std::vector<std::string_view> device_arguments(std::string_view devargs, std::string_view key);

// "0000:03:00.0" of "03:00.0" or "pci:0000:03:00.0"; empty for what else -a takes ("auxiliary:...", a vdev's name).
[[nodiscard]] std::string full_pci_address(std::string_view device);

// Quoted for a shell where that is needed, words separated by blanks.
[[nodiscard]] std::string shell_line(std::span<const std::string> words);

// The memory amount asked with -m or --socket-mem (summed over nodes), in bytes; 0 when none is given or it is no
// number.
[[nodiscard]] std::uint64_t asked_memory_bytes(const eal_vector& given);

}  // namespace millrace::env
