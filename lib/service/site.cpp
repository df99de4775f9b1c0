#include "service/site.hpp"

#include <algorithm>

namespace millrace::service {
namespace {

using base::failure;
using base::outcome;

std::string counted(std::uint64_t n, std::string_view what) {
  return std::to_string(n) + " " + std::string(what) + (n == 1 ? "" : "s");
}

}  // namespace

base::result<std::unique_ptr<site>> site::make(std::vector<site_directory> directories, const site_settings& s,
                                               std::size_t lcores) {
  std::unique_ptr<site> made(new site(std::move(directories), s, lcores));
  if (auto loaded = made->load(0); !loaded) return loaded.error();
  return made;
}

outcome site::load(std::size_t into) {
  auto loaded = site_tree::load(directories_, settings_, settings_.name + "_" + std::to_string(into));
  if (!loaded) return loaded.error();
  trees_[into] = std::move(loaded.value());
  published_.store(static_cast<std::uint32_t>(into), std::memory_order_seq_cst);
  files_.store(facts().files, std::memory_order_relaxed);
  bytes_.store(facts().bytes, std::memory_order_relaxed);
  count_trees();
  return base::done{};
}

void site::count_trees() noexcept {
  const auto there = std::count_if(trees_.begin(), trees_.end(), [](const auto& t) { return t != nullptr; });
  trees_there_.store(static_cast<std::uint64_t>(there), std::memory_order_relaxed);
}

outcome site::reload() {
  static_cast<void>(reap());
  const auto free = std::find(trees_.begin(), trees_.end(), nullptr);
  outcome done = free == trees_.end()
                     ? failure{std::to_string(most_trees - 1) + " former states of the files are still being sent",
                               "try again when those answers have ended"}
                     : load(static_cast<std::size_t>(free - trees_.begin()));
  (done ? reloads_ : reload_failures_).add(1);
  return done;
}

bool site::is_used(std::size_t tree) const noexcept {
  return std::any_of(uses_.begin(), uses_.end(),
                     [tree](const lcore_uses& u) { return u.of[tree].load(std::memory_order_seq_cst) != 0; });
}

bool site::reap() noexcept {
  bool is_alone = true;
  for (std::size_t i = 0; i < trees_.size(); ++i) {
    if (trees_[i] == nullptr || i == published_.load()) continue;
    if (!is_used(i) && trees_[i]->empty_out())
      trees_[i].reset();
    else
      is_alone = false;
  }
  count_trees();
  return is_alone;
}

std::string site::describe() const {
  const site_facts& f = facts();
  std::string text = "files:";
  for (const site_directory& d : directories_)
    text += (&d == directories_.data() ? " " : ", ") + d.path + " from '" + d.root + "'";
  text += "; " + counted(f.files, "file") + " of " + counted(f.bytes, "byte") + " in " + counted(f.blocks, "block") +
          " of 64 KiB\n";
  const auto omitted = [&](std::uint64_t n, std::string_view what, const std::string& first) {
    if (n == 0) return;
    text += "not served: " + std::string(what) + ": " + std::to_string(n);
    if (!first.empty()) text += ", the first is '" + first + "'";
    text += '\n';
  };
  omitted(f.omitted.hidden, "hidden", {});
  omitted(f.omitted.links, "symbolic links that lead out, to a directory or nowhere", f.omitted.first_link);
  omitted(f.omitted.special, "neither file nor directory", {});
  omitted(f.omitted.unaskable, "names that no request can have", f.omitted.first_unaskable);
  return text;
}

}  // namespace millrace::service
