// What of a directory is taken, what is left out and counted, and what is refused by name.
#include "service/site_scan.hpp"

#include <gtest/gtest.h>

#include "service/folder.hpp"

namespace {

using namespace millrace;
using service::scan;
using service::site_directory;
using service::site_settings;
using test::folder;

std::vector<std::string> paths(const service::site_scan& found) {
  std::vector<std::string> all;
  for (const service::scanned_file& f : found.files) all.push_back(std::to_string(f.directory) + f.path);
  return all;
}

service::site_scan scan_of(const folder& f, const site_settings& s = {}) {
  const site_directory all[] = {{"/", f.path()}};
  auto found = scan(all, s);
  EXPECT_TRUE(found) << (found ? "" : found.error().what);
  return found ? std::move(found.value()) : service::site_scan{};
}

std::string refusal(const folder& f, const site_settings& s) {
  const site_directory all[] = {{"/", f.path()}};
  const auto found = scan(all, s);
  EXPECT_FALSE(found);
  return found ? std::string{} : found.error().what;
}

TEST(site_scan, takes_regular_files_in_order_with_what_the_disk_says_of_them) {
  const folder one, two;
  one.write("b/c.txt", "12345", 77);
  one.write("a.txt", "");
  one.write("b.txt", std::string(65, 'x'));
  two.write("a.txt", "1");
  const site_directory all[] = {{"/", one.path()}, {"/two", two.path() + "/"}};
  const auto found = scan(all, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(paths(found.value()), (std::vector<std::string>{"0/a.txt", "0/b.txt", "0/b/c.txt", "1/a.txt"}));
  const service::scanned_file& c = found.value().files[2];
  EXPECT_EQ(c.size, 5u);
  EXPECT_EQ(c.modified_ns, 77'000'000'000);
  EXPECT_EQ(c.on_disk, one.path("b/c.txt"));
  EXPECT_EQ(found.value().bytes, 0u + 128 + 64 + 64);
}

TEST(site_scan, leaves_out_what_is_hidden_and_all_below_it) {
  const folder f;
  f.write(".env", "secret");
  f.write(".git/config", "secret");
  f.write("a/.htaccess", "secret");
  f.write("a/b", "");
  const auto found = scan_of(f);
  EXPECT_EQ(paths(found), (std::vector<std::string>{"0/a/b"}));
  EXPECT_EQ(found.omitted.hidden, 3u);
}

TEST(site_scan, follows_links_to_files_of_the_directory_alone) {
  const folder f, other;
  other.write("secret", "secret");
  f.write("a/file", "text");
  f.write(".hidden", "secret");
  f.write(".d/file", "secret");
  f.link("a/good", "file");
  f.link("also", f.path("a/file"));
  f.link("out", other.path("secret"));
  f.link("up", "../../../../../../../../etc/passwd");
  f.link("to_hidden", ".hidden");
  f.link("to_below_hidden", ".d/file");
  f.link("nowhere", "nothing");
  f.link("itself", "itself");
  f.link("folder", "a");
  f.link("loop", ".");
  const auto found = scan_of(f);
  EXPECT_EQ(paths(found), (std::vector<std::string>{"0/a/file", "0/a/good", "0/also"}));
  EXPECT_EQ(found.files[1].on_disk, f.path("a/file"));
  EXPECT_EQ(found.omitted.links, 8u);
  EXPECT_TRUE(found.omitted.first_link.starts_with(f.path() + "/")) << found.omitted.first_link;
}

// A folder whose name begins like the root's is not in it.
TEST(site_scan, a_link_to_a_neighbour_of_the_root_leads_out) {
  const folder f;
  f.write("www/file", "text");
  f.write("www-secret/file", "secret");
  f.link("www/link", f.path("www-secret/file"));
  const site_directory all[] = {{"/", f.path("www")}};
  const auto found = scan(all, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(paths(found.value()), (std::vector<std::string>{"0/file"}));
  EXPECT_EQ(found.value().omitted.links, 1u);
}

TEST(site_scan, leaves_out_what_nobody_can_ask_for_and_what_is_no_file) {
  const folder f;
  for (const char* name : {"a\\b", "a\tb"}) f.write(name, "");
  for (const char* name : {"a b", "a#b", "a%2Fb", "a?b", "\xC3\xA4", "a%", "a+b"}) f.write(name, "");
  ASSERT_EQ(::mkfifo(f.path("pipe").c_str(), 0600), 0);
  const auto found = scan_of(f);
  EXPECT_EQ(paths(found),
            (std::vector<std::string>{"0/a b", "0/a#b", "0/a%", "0/a%2Fb", "0/a+b", "0/a?b", "0/\xC3\xA4"}));
  EXPECT_EQ(found.omitted.unaskable, 2u);
  EXPECT_EQ(found.omitted.special, 1u);
}

TEST(site_scan, names_the_file_that_is_one_too_many) {
  const folder f;
  for (const char* name : {"a", "b", "c"}) f.write(name, "x");
  EXPECT_EQ(scan_of(f, {.most_files = 3}).files.size(), 3u);
  EXPECT_NE(refusal(f, {.most_files = 2}).find("' is one file more than the 2 that"), std::string::npos);
}

TEST(site_scan, names_the_file_that_does_not_fit) {
  const folder f;
  f.write("a", std::string(1000, 'x'));
  EXPECT_EQ(scan_of(f, {.most_bytes = 1024}).bytes, 1024u);
  EXPECT_NE(refusal(f, {.most_bytes = 1023}).find("'" + f.path("a") + "' does not fit"), std::string::npos);
}

TEST(site_scan, names_the_path_that_is_too_long) {
  const folder f;
  f.write("1234/678", "x");
  EXPECT_EQ(scan_of(f, {.most_path_bytes = 9}).files.size(), 1u);
  EXPECT_NE(refusal(f, {.most_path_bytes = 8}).find("'" + f.path("1234/678") + "' has a path"), std::string::npos);
}

TEST(site_scan, names_the_directory_that_is_none) {
  const folder f;
  f.write("file", "");
  for (const char* name : {"nothing", "file"}) {
    const site_directory all[] = {{"/", f.path(name)}};
    const auto found = scan(all, {});
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().what.find("'" + f.path(name) + "' cannot be served: "), std::string::npos);
    EXPECT_TRUE(found.error().unusable);
  }
}

TEST(site_scan, encodes_all_but_unreserved_characters_and_slashes) {
  EXPECT_EQ(service::percent_encoded("/a-Z_0.9~/\xC3\xA4?b%c\r\n"), "/a-Z_0.9~/%C3%A4%3Fb%25c%0D%0A");
}

}  // namespace
