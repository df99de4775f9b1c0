#include "env/profile.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/file_tree.hpp"

namespace millrace::env {
namespace {

using words = std::vector<std::string>;

const std::map<std::string, std::string, std::less<>> variables = {
    {"IFACE", "veth0"}, {"EMPTY", ""}, {"SPACED", "two words"}, {"QUOTES", "'\"$x\\"}};

std::optional<std::string> lookup(std::string_view name) {
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  return found->second;
}

words parsed(std::string_view text) {
  const auto result = parse_profile(text, "p.args", lookup);
  EXPECT_TRUE(result) << text << ": " << result.error().what;
  return result ? result.value() : words{"FAILED"};
}

std::string refusal(std::string_view text) {
  const auto result = parse_profile(text, "p.args", lookup);
  EXPECT_FALSE(result) << text;
  if (result) return {};
  EXPECT_TRUE(result.error().unusable);
  return result.error().what;
}

TEST(profile, reads_words_of_many_lines) {
  EXPECT_EQ(parsed(""), words{});
  EXPECT_EQ(parsed(" \t\r\n\n"), words{});
  EXPECT_EQ(parsed("--vdev=net_ring0\n-l 0,1\r\n  --no-pci"), (words{"--vdev=net_ring0", "-l", "0,1", "--no-pci"}));
}

TEST(profile, takes_a_hash_for_a_comment_only_where_a_word_could_begin) {
  EXPECT_EQ(parsed("# all\n-l 0 # 'tail\n--x=a#b"), (words{"-l", "0", "--x=a#b"}));
  EXPECT_EQ(parsed("a # last line"), words{"a"});
  EXPECT_EQ(parsed("'#a' \\#b"), (words{"#a", "#b"}));
}

TEST(profile, keeps_what_quotes_hold) {
  EXPECT_EQ(parsed("'a b' \"c d\" e' 'f"), (words{"a b", "c d", "e f"}));
  EXPECT_EQ(parsed("'' \"\""), (words{"", ""}));
  EXPECT_EQ(parsed(R"('\n' "\"\\\$" "\n" \' \ x)"), (words{"\\n", "\"\\$", "\\n", "'", " x"}));
  EXPECT_EQ(parsed("'${IFACE}' \"${IFACE}\""), (words{"${IFACE}", "veth0"}));
}

TEST(profile, fills_variables_in_without_reading_what_they_hold) {
  EXPECT_EQ(parsed("--vdev=net_af_packet0,iface=${IFACE},qpairs=1"),
            words{"--vdev=net_af_packet0,iface=veth0,qpairs=1"});
  EXPECT_EQ(parsed("${SPACED} ${QUOTES}"), (words{"two words", "'\"$x\\"}));
  EXPECT_EQ(parsed("a${IFACE}${IFACE}b"), words{"aveth0veth0b"});
}

TEST(profile, uses_the_default_of_a_variable_that_is_absent_or_empty) {
  EXPECT_EQ(parsed("${NONE:-x} ${EMPTY:-y} ${IFACE:-z}"), (words{"x", "y", "veth0"}));
  EXPECT_EQ(parsed("${NONE:-a b}"), words{"a b"});
  EXPECT_EQ(parsed("${NONE:-/dev/null}"), words{"/dev/null"});
}

TEST(profile, makes_no_word_of_an_empty_variable_alone) {
  EXPECT_EQ(parsed("-l 0 ${EMPTY} ${NONE:-}"), (words{"-l", "0"}));
  EXPECT_EQ(parsed("\"${EMPTY}\""), words{""});
}

TEST(profile, says_where_it_stopped_reading) {
  EXPECT_EQ(refusal("-l 0\n  --vdev=x,iface=${NONE}\n"), "p.args:2:18: ${NONE} is not defined and has no default");
  EXPECT_EQ(refusal("a\n\n 'never closed"), "p.args:3:2: a quote that is never closed");
  EXPECT_EQ(refusal("\"x"), "p.args:1:1: a quote that is never closed");
  EXPECT_EQ(refusal("a $b"), "p.args:1:3: '$' begins ${VAR} or ${VAR:-default}");
  EXPECT_EQ(refusal("$"), "p.args:1:1: '$' begins ${VAR} or ${VAR:-default}");
  EXPECT_EQ(refusal("x${}"), "p.args:1:2: ${...} without a variable's name");
  EXPECT_EQ(refusal("${1A}"), "p.args:1:1: ${...} without a variable's name");
  EXPECT_EQ(refusal("${IFACE"), "p.args:1:1: ${IFACE is never closed by }");
  EXPECT_EQ(refusal("${IFACE:-x\n}"), "p.args:1:1: ${IFACE is never closed by }");
  EXPECT_EQ(refusal("${IFACE-x}"), "p.args:1:1: ${IFACE is never closed by }");
  EXPECT_EQ(refusal("${NONE:-${IFACE}}"), "p.args:1:1: ${...} inside a default");
  EXPECT_EQ(refusal("a\\"), "p.args:1:2: a backslash with nothing behind it");
  EXPECT_EQ(refusal("-l 0\n--\nx"), "p.args:2:1: '--' ends the EAL arguments; a profile holds nothing else");
  EXPECT_EQ(refusal(std::string_view("ab\0c", 4)), "p.args:1:3: a control character: this is no text");
  EXPECT_EQ(refusal("${NONE:-a\x01}"), "p.args:1:10: a control character: this is no text");
  EXPECT_EQ(refusal("'a\x01'"), "p.args:1:3: a control character: this is no text");
}

TEST(profile, tells_how_to_define_a_variable) {
  const auto result = parse_profile("${NONE}", "p.args", lookup);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().hint.find("NONE=VALUE millrace"), std::string::npos);
}

TEST(profile, keeps_within_its_limits) {
  EXPECT_EQ(parsed(std::string(profile_cap_word_bytes, 'a')).front().size(), profile_cap_word_bytes);
  EXPECT_NE(refusal(std::string(profile_cap_word_bytes + 1, 'a')).find("more than 4096 bytes"), std::string::npos);
  std::string many;
  for (std::size_t i = 0; i < profile_cap_words; ++i) many += "a ";
  EXPECT_EQ(parsed(many).size(), profile_cap_words);
  EXPECT_NE(refusal(many + "b").find("more than 256 arguments"), std::string::npos);
  EXPECT_NE(refusal(std::string(profile_cap_bytes + 1, ' ')).find("more than 65536 bytes"), std::string::npos);
}

TEST(profile, survives_every_truncation_and_every_changed_byte) {
  const std::string text = "--vdev=x,iface=${IFACE:-a} 'q r' \"s ${EMPTY}\" \\t # c\n-l 0\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto cut = parse_profile(std::string_view(text).substr(0, size), "p", lookup);
    EXPECT_TRUE(cut || cut.error().what.starts_with("p:1:") || cut.error().what.starts_with("p:2:")) << size;
  }
  for (std::size_t at = 0; at < text.size(); ++at)
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[at] = static_cast<char>(byte);
      const auto result = parse_profile(changed, "p", lookup);
      EXPECT_TRUE(result || result.error().what.starts_with("p:")) << changed;
    }
}

class profile_files : public testing::Test {
 protected:
  test::file_tree tree_;
  std::vector<std::string> dirs_ = {tree_.path("/mine"), tree_.path("/installed")};

  void SetUp() override {
    tree_.put("/mine/one.args", "-l 1");
    tree_.put("/installed/one.args", "-l 2");
    tree_.put("/installed/two.args", "-l ${IFACE}");
    tree_.put("/installed/notes.txt", "");
    tree_.folder("/mine/two.args");  // a folder is no profile
  }
};

TEST_F(profile_files, are_found_in_the_first_folder_that_has_them) {
  EXPECT_EQ(find_profile("one", dirs_).value(), tree_.path("/mine/one.args"));
  EXPECT_EQ(find_profile("two", dirs_).value(), tree_.path("/installed/two.args"));
  EXPECT_EQ(list_profiles(dirs_), (words{"one", "two"}));
}

TEST_F(profile_files, are_taken_by_path_with_and_without_the_ending) {
  EXPECT_EQ(find_profile(tree_.path("/installed/one"), dirs_).value(), tree_.path("/installed/one.args"));
  EXPECT_EQ(find_profile(tree_.path("/installed/one.args"), dirs_).value(), tree_.path("/installed/one.args"));
  EXPECT_FALSE(find_profile(tree_.path("/installed/three"), dirs_));
}

TEST_F(profile_files, that_are_absent_are_named_with_those_there_are) {
  const auto absent = find_profile("three", dirs_);
  ASSERT_FALSE(absent);
  EXPECT_TRUE(absent.error().unusable);
  EXPECT_TRUE(absent.error().what.starts_with("no profile @three")) << absent.error().what;
  EXPECT_NE(absent.error().what.find(tree_.path("/installed/three.args")), std::string::npos);
  EXPECT_NE(absent.error().hint.find("one, two"), std::string::npos);
  EXPECT_FALSE(find_profile("", dirs_));
}

TEST_F(profile_files, are_read_with_their_path_in_every_refusal) {
  EXPECT_EQ(read_profile("two", dirs_, lookup).value(), (words{"-l", "veth0"}));
  const auto refused = read_profile("two", dirs_, [](std::string_view) { return std::nullopt; });
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().what.starts_with(tree_.path("/installed/two.args") + ":1:4: ")) << refused.error().what;
}

TEST_F(profile_files, that_are_too_large_are_refused) {
  tree_.put("/mine/big.args", std::string(profile_cap_bytes + 1, ' '));
  EXPECT_FALSE(read_profile("big", dirs_, lookup));
}

// Those we deliver are read with nothing defined but what they say has no default.
TEST(delivered_profiles, are_all_readable_and_explain_themselves) {
  const char* source = std::getenv("MILLRACE_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "MILLRACE_SOURCE is not set";
  const std::vector<std::string> dirs = {std::string(source) + "/drivers-config"};
  const words names = list_profiles(dirs);
  for (const char* name : {"loopback", "null", "ring", "tap", "af_packet", "pcap", "vfio-pci", "mlx5", "virtio-user"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  for (const std::string& name : names) {
    const auto read = read_profile(name, dirs, [](std::string_view variable) -> std::optional<std::string> {
      if (variable == "MILLRACE_IFACE" || variable == "MILLRACE_PCI" || variable == "MILLRACE_PCAP_IN") return "x";
      return std::nullopt;
    });
    ASSERT_TRUE(read) << read.error().what;
    EXPECT_FALSE(read.value().empty()) << name;
    std::ifstream file(dirs.front() + '/' + name + ".args");
    std::string first;
    std::getline(file, first);
    EXPECT_TRUE(first.starts_with("# " + name + ": ")) << first;
  }
}

}  // namespace
}  // namespace millrace::env
