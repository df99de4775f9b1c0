// Bytes are added where no run covers them: what overlaps an existing run is cut off, so a byte that was received stays
// what it was (RFC 9000 2.2 lets a receiver take a change for an error; keeping the first is what it would have read).
// Because runs never touch, a frame can at most fill the hole in front of each run it reaches into; filling one joins
// two runs, so the number of runs bounds both the memory for holes and the work of a frame.
#include "quic/stream/reassembly.hpp"

#include <algorithm>

namespace millrace::quic::stream {

buf::slice piece_store::copy(base::byte_view bytes) noexcept {
  base::byte_span room = small_.append(static_cast<std::uint16_t>(bytes.size()));
  if (room.empty()) {
    small_ = buf::packet{packets_.alloc()};
    room = small_.append(static_cast<std::uint16_t>(bytes.size()));
    if (room.empty()) return {};
  }
  std::copy(bytes.begin(), bytes.end(), room.begin());
  return buf::slice::of(small_, room);
}

bool piece_store::grow(buf::slice& before, base::byte_view bytes) noexcept {
  const base::byte_view used = small_.first();
  if (before.bytes().data() + before.size() != used.data() + used.size()) return false;
  const base::byte_span room = small_.append(static_cast<std::uint16_t>(bytes.size()));
  if (room.empty()) return false;
  std::copy(bytes.begin(), bytes.end(), room.begin());
  buf::slice grown = buf::slice::of(small_, {before.bytes().data(), before.size() + room.size()});
  if (grown.empty()) return false;  // the bytes just appended are nobody's
  before = std::move(grown);
  return true;
}

// The last run that begins at or below `offset`; nullptr when all begin above.
piece* reassembly::run_before(std::uint64_t offset) const noexcept {
  if (last_run_ != nullptr && last_run_->offset <= offset) return last_run_;
  piece* before = nullptr;
  for (piece* run = first_; run != nullptr && run->offset <= offset; run = run->next_run) before = run;
  return before;
}

add_status reassembly::add(piece_account& account, const buf::packet& whole, base::byte_view data,
                           std::uint64_t offset) noexcept {
  if (offset < read_) {  // sent again
    const std::uint64_t old = std::min<std::uint64_t>(read_ - offset, data.size());
    data = data.subspan(static_cast<std::size_t>(old));
    offset += old;
  }
  piece* run = run_before(offset);
  while (!data.empty()) {
    if (run != nullptr && run->run_end > offset) {
      const std::uint64_t old = std::min<std::uint64_t>(run->run_end - offset, data.size());
      data = data.subspan(static_cast<std::size_t>(old));
      offset += old;
      continue;
    }
    const piece* above = run == nullptr ? first_ : run->next_run;
    const std::uint64_t hole = above == nullptr ? data.size() : above->offset - offset;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(hole, data.size()));
    const add_status status = insert(account, run, whole, data.first(count), offset);
    if (status != add_status::added) return status;
    data = data.subspan(count);
    offset += count;
    run = run_before(offset);  // the one just grown, and perhaps joined
  }
  return add_status::added;
}

// Nothing covers these bytes. `run` is the last one below them.
add_status reassembly::insert(piece_account& account, piece* run, const buf::packet& whole, base::byte_view data,
                              std::uint64_t offset) noexcept {
  const bool follows = run != nullptr && run->run_end == offset;
  const piece* above = run == nullptr ? first_ : run->next_run;
  const bool touches = above != nullptr && above->offset == offset + data.size();
  const bool next_to_read = is_next_to_read(offset);
  if (!follows && !touches && !next_to_read && runs_ >= most_runs) return add_status::too_fragmented;

  const bool small = data.size() < copy_below;
  if (small && follows && account.store().grow(run->run_last->bytes, data)) {
    held_ += data.size();
    run->run_end += data.size();
    join(run);
    return add_status::added;
  }
  piece* p = account.get(next_to_read);
  if (p == nullptr) return add_status::no_memory;
  p->bytes = small ? account.store().copy(data) : buf::slice::of(whole, data);
  if (p->bytes.empty()) {
    account.give(p);
    return add_status::no_memory;
  }
  p->offset = offset;
  held_ += data.size();
  ++pieces_;
  if (follows) {
    run->run_last->next = p;
    run->run_last = p;
    run->run_end = p->end();
    join(run);
    return add_status::added;
  }
  p->run_end = p->end();
  p->run_last = p;
  piece*& link = run == nullptr ? first_ : run->next_run;
  p->next_run = link;
  link = p;
  if (last_run_ == run) last_run_ = p;
  ++runs_;
  join(p);
  return add_status::added;
}

// Takes in the next run when it begins where this one ends.
void reassembly::join(piece* run) noexcept {
  piece* above = run->next_run;
  if (above == nullptr || above->offset != run->run_end) return;
  run->run_last->next = above;
  run->run_last = above->run_last;
  run->run_end = above->run_end;
  run->next_run = above->next_run;
  if (last_run_ == above) last_run_ = run;
  --runs_;
}

void reassembly::drop_first(piece_account& account) noexcept {
  piece* gone = first_;
  piece* next = gone->next;
  if (next != nullptr) {
    next->run_end = gone->run_end;
    next->run_last = gone->run_last;
    next->next_run = gone->next_run;
    if (last_run_ == gone) last_run_ = next;
    first_ = next;
  } else {
    if (last_run_ == gone) last_run_ = nullptr;
    first_ = gone->next_run;
    --runs_;
  }
  held_ -= gone->bytes.size();
  --pieces_;
  account.give(gone);
}

buf::slice reassembly::take(piece_account& account, std::size_t most) noexcept {
  base::byte_view next = front();
  if (next.empty()) return {};
  const std::size_t at = first_->bytes.size() - next.size();
  next = next.first(std::min(next.size(), most));
  buf::slice out = next.size() == first_->bytes.size() ? first_->bytes.share() : first_->bytes.part(at, next.size());
  if (!out.empty()) consume(account, out.size());
  return out;
}

void reassembly::copy_out(base::byte_span out) const noexcept {
  MILLRACE_ASSERT(out.size() <= readable());
  std::size_t skip = first_ == nullptr ? 0 : static_cast<std::size_t>(read_ - first_->offset);
  for (const piece* p = first_; !out.empty(); p = p->next, skip = 0) {
    const base::byte_view here = p->bytes.bytes().subspan(skip);
    const std::size_t n = std::min(here.size(), out.size());
    std::copy_n(here.begin(), n, out.begin());
    out = out.subspan(n);
  }
}

void reassembly::consume(piece_account& account, std::uint64_t count) noexcept {
  MILLRACE_ASSERT(count <= readable());
  read_ += count;
  while (first_ != nullptr && first_->end() <= read_) drop_first(account);
}

void reassembly::clear(piece_account& account, std::uint64_t offset) noexcept {
  while (first_ != nullptr) drop_first(account);
  read_ = std::max(read_, offset);
}

}  // namespace millrace::quic::stream
