// service/site.hpp - static directories that all lcores serve, and how they are replaced while they do.
//
// Shape    make() loads a tree (site_tree.hpp) on the control thread. Each exchange of an lcore take()s the published
//          tree and gives it back at its end, so that all of one answer comes from one tree. reload() loads
//          another tree and publishes it: exchanges that begin from then on get that one. reap() frees a tree which is
//          not published when no exchange uses it.
// Uses     are counted for each lcore and tree by the lcore alone. An lcore counts first and then looks whether the
//          tree is still published; the control thread publishes first and then reads the counts. Both are sequentially
//          consistent, so one of the two sees the other: a tree whose counts are all 0 after another was published is
//          used by nobody, and is never used again. (Grace periods, as pools have them, would not do: an answer
//          outlives many turns of its loop.)
// Owner    the site outlives the carriers of its exchanges.
// Limits   most_trees in memory: while so many are still being sent, reload() is refused.
// Errors   make(), reload(): what site_tree::load() says; after a refused reload all is as it was. Both outcomes are
//          counted.
// Threads  make(), reload(), reap(), facts(): control thread. take(): the lcore. Counters from anywhere.
// Source   docs/ownership.md. Tests  test/service/site_test.cpp
#pragma once

#include <atomic>

#include "service/site_tree.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::service {

class site {
 public:
  static constexpr std::size_t most_trees = 4;

  // A tree, until give().
  struct use {
    const site_tree* tree = nullptr;
    std::atomic<std::uint32_t>* count = nullptr;
  };

 private:
  struct alignas(64) lcore_uses {
    std::array<std::atomic<std::uint32_t>, most_trees> of{};
  };
  std::vector<site_directory> directories_;
  site_settings settings_;
  std::array<std::unique_ptr<site_tree>, most_trees> trees_;
  std::vector<lcore_uses> uses_;
  alignas(64) std::atomic<std::uint32_t> published_{0};
  stats::counter reloads_, reload_failures_;
  std::atomic<std::uint64_t> files_{0}, bytes_{0}, trees_there_{0};

  site(std::vector<site_directory> directories, site_settings s, std::size_t lcores)
      : directories_(std::move(directories)), settings_(std::move(s)), uses_(lcores) {}
  base::outcome load(std::size_t into);
  void count_trees() noexcept;
  [[nodiscard]] bool is_used(std::size_t tree) const noexcept;

 public:
  // `lcores`: numbered from 0 in take().
  [[nodiscard]] static base::result<std::unique_ptr<site>> make(std::vector<site_directory> directories,
                                                                const site_settings& s, std::size_t lcores);

  [[nodiscard]] use take(std::size_t lcore) noexcept {
    auto& mine = uses_[lcore].of;
    for (;;) {
      const std::uint32_t which = published_.load(std::memory_order_acquire);
      mine[which].store(mine[which].load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
      if (published_.load(std::memory_order_seq_cst) == which) [[likely]]
        return {trees_[which].get(), &mine[which]};
      give(&mine[which]);  // another was published meanwhile
    }
  }
  static void give(std::atomic<std::uint32_t>* count) noexcept {
    count->store(count->load(std::memory_order_relaxed) - 1, std::memory_order_release);
  }

  base::outcome reload();
  // Now and then; never waits. True while only the published tree is there.
  bool reap() noexcept;

  [[nodiscard]] const std::vector<site_directory>& directories() const noexcept { return directories_; }
  // Of the published tree.
  [[nodiscard]] const site_facts& facts() const noexcept { return trees_[published_.load()]->facts(); }
  // For people: files, bytes, and what is not served. Lines, each ended.
  [[nodiscard]] std::string describe() const;

  // --- from any thread ---
  [[nodiscard]] std::uint64_t reloads() const noexcept { return reloads_.get(); }
  [[nodiscard]] std::uint64_t reload_failures() const noexcept { return reload_failures_.get(); }
  [[nodiscard]] std::uint64_t files() const noexcept { return files_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t trees() const noexcept { return trees_there_.load(std::memory_order_relaxed); }
};

}  // namespace millrace::service
