// service/site_tree.hpp - the files of static directories as they were at one moment: their bytes, what is said of
// them, and a table to find them by path.
//
// Shape    load() reads everything scan() found into one content, each file beginning on a cache line. find() answers
//          the entry of a path without allocation. An entry is a file with its stored forms (plain, and what lies
//          beside it as name.gz, name.br, name.zst), or a redirect from "/dir" to "/dir/"; "/dir/" is its index.html.
//          Forms are files too, by their own names.
// Tag      of a form: the first 128 bits of the SHA-256 of its bytes, so that the same bytes have the same strong tag
//          wherever and whenever they are served (RFC 9110 8.8.1).
// Owner    the tree has its own pool. Errors  load(): scan()'s; a file that cannot be read, or changed meanwhile; no
//          memory; each names the file.
// Limits   site_settings. Threads  load(), empty_out() and the end: control thread; const calls: any.
// Source   RFC 9110 8.4 8.8. Tests  test/service/site_test.cpp      Bench  bench/service/site_bench.cpp
#pragma once

#include <array>
#include <memory>

#include "buf/content.hpp"
#include "http/wire/content_coding.hpp"
#include "http/wire/date.hpp"
#include "service/site_scan.hpp"

namespace millrace::service {

inline constexpr std::size_t site_tag_size = 2 + 32;  // 128 bits in hexadecimal, in quotes

struct site_form {
  std::uint64_t offset = 0;  // in the tree's content
  std::uint64_t size = 0;
  std::int64_t modified_s = 0;  // since 1970
  std::array<char, site_tag_size> tag{};
  http::wire::date_text modified{};

  [[nodiscard]] std::string_view tag_text() const noexcept { return {tag.data(), tag.size()}; }
  [[nodiscard]] std::string_view modified_text() const noexcept { return {modified.data(), modified.size()}; }
};

struct site_entry {
  std::uint32_t directory = 0;
  std::string path;                  // below its directory: "/js/app.js"
  std::string location{};            // of a redirect; empty: a file
  std::string_view type{};           // media type
  http::wire::stored_codings has{};  // forms
  std::array<const site_form*, http::wire::content_coding_count> forms{};

  [[nodiscard]] bool has_variants() const noexcept { return has[1] || has[2] || has[3]; }
};

struct site_facts {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;   // of the files
  std::uint64_t blocks = 0;  // of 64 KiB
  site_omissions omitted;
};

class site_tree {
  struct place {
    std::uint32_t hash = 0;
    std::uint32_t entry = UINT32_MAX;  // none
  };
  buf::large_block_pool pool_;
  buf::content bytes_;
  std::vector<site_form> forms_;
  std::vector<site_entry> entries_;
  std::vector<place> table_;  // a power of two, at most half full
  site_facts facts_;

  explicit site_tree(buf::large_block_pool pool) noexcept : pool_(std::move(pool)) {}
  base::outcome read(const site_scan& from);
  void make_entries(const site_scan& from, std::span<const site_directory> directories);
  void make_table();

 public:
  // `name`: of its pool; unique in the process while the tree is there.
  [[nodiscard]] static base::result<std::unique_ptr<site_tree>> load(std::span<const site_directory> directories,
                                                                     const site_settings& s, const std::string& name);
  site_tree(const site_tree&) = delete;
  site_tree& operator=(const site_tree&) = delete;

  // `path` begins with a slash, or is empty: the directory itself, without one. nullptr: nothing is there.
  [[nodiscard]] const site_entry* find(std::uint32_t directory, std::string_view path) const noexcept;
  [[nodiscard]] const buf::content& bytes() const noexcept { return bytes_; }
  [[nodiscard]] const site_facts& facts() const noexcept { return facts_; }

  // When nobody looks at the tree any more: gives up its bytes. True once no packet holds any of them either, and the
  // tree may go.
  [[nodiscard]] bool empty_out() noexcept {
    bytes_ = buf::content{};
    return pool_.is_whole();
  }
};

// EAL memory of a tree with so many bytes (site_scan::bytes), a little above the truth.
[[nodiscard]] std::size_t tree_memory_bytes(std::uint64_t bytes) noexcept;

}  // namespace millrace::service
