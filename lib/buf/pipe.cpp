// The block being filled. write() and get_span() fill one mbuf of the pool at a time. As soon as a part of it is
// committed, the mbuf lies in data_ and is held by the pipe as well; later commits only lengthen the last segment. The
// reader may meanwhile take or free that segment: the block then enters data_ anew, as a segment that begins further
// in. It is given up ("sealed") when it is full, when a packet follows it, and at the end. Bytes behind the last commit
// are invisible because every holder of the mbuf has a range of its own (buf/segment.hpp).
//
// What could go wrong: two chains that both believe they own the block's link. data_ owns it while the block is its
// last segment; when the reader takes that segment whole, the taken chain gives the link up (disown_open_block).
#include "buf/pipe.hpp"

#include <cstring>
#include <limits>

namespace millrace::buf {
namespace {

// "No mark": beyond any size, and examined_ can still be added to it.
constexpr std::size_t never = std::numeric_limits<std::size_t>::max() / 2;
constexpr std::uint32_t never_segments = std::numeric_limits<std::uint32_t>::max();

}  // namespace

pipe::pipe(const pipe_limits& limits, const mbuf_source& blocks, const pipe_events& events) noexcept
    : blocks_(blocks),
      block_bytes_(blocks.data_room()),
      pause_bytes_(limits.pause_bytes == 0 ? never : limits.pause_bytes),
      resume_bytes_(std::max<std::size_t>(1, std::min(limits.resume_bytes, pause_bytes_))),
      pause_segments_(limits.pause_segments == 0 ? never_segments : limits.pause_segments),
      events_(events) {
  set_alerts();
}

pipe::~pipe() { drop_uncommitted(); }

void pipe::set_alerts() noexcept {
  const bool open = state_ == flow::open;
  alert_bytes_ = waiting_ ? 0 : open ? pause_bytes_ + examined_ : never;
  alert_segments_ = open ? pause_segments_ : never_segments;
}

flow pipe::append(chain&& more) noexcept {
  if (state_ == flow::closed) {
    more.clear();
    return flow::closed;
  }
  if (more.empty()) return commit();
  if (!more.make_growable(blocks_)) return flow::exhausted;
  seal_before_append();
  const bool taken = data_.append(std::move(more));
  MILLRACE_ASSERT(taken);
  static_cast<void>(taken);
  after_growth();
  return state_;
}

// Fills the rest of the open block, then whole new ones; the last of them becomes the open block. Nothing visible
// changes before every mbuf is there.
flow pipe::write_long(base::byte_view bytes) noexcept {
  constexpr unsigned at_once = 32;
  if (state_ == flow::closed) return flow::closed;
  if (block_bytes_ == 0) return flow::exhausted;
  const auto room = static_cast<std::size_t>(room_end_ - fill_);
  base::byte_view rest = bytes.subspan(room);
  chain fresh;
  rte_mbuf* last = nullptr;
  while (!rest.empty()) {
    rte_mbuf* made[at_once];
    const auto count =
        static_cast<unsigned>(std::min<std::size_t>((rest.size() + block_bytes_ - 1) / block_bytes_, at_once));
    if (!blocks_.alloc_bulk(made, count)) return flow::exhausted;
    for (unsigned i = 0; i < count; ++i) {
      last = made[i];
      const std::size_t take = std::min(rest.size(), block_bytes_);
      std::memcpy(rte_pktmbuf_mtod(last, void*), rest.data(), take);
      last->data_len = static_cast<std::uint16_t>(take);
      fresh.append_owned(last, {own_begin(last), take});
      rest = rest.subspan(take);
    }
  }
  if (room != 0) {
    std::memcpy(fill_, bytes.data(), room);
    note_advance(room);
  }
  if (uncommitted_ != 0) publish();
  seal_open();
  const bool taken = data_.append(std::move(fresh));
  MILLRACE_ASSERT(taken);
  static_cast<void>(taken);
  if (last->data_len < block_bytes_ && hold(last)) {
    open_ = last;
    fill_ = rte_pktmbuf_mtod(last, std::uint8_t*) + last->data_len;
    room_end_ = rte_pktmbuf_mtod(last, std::uint8_t*) + block_bytes_;
  }
  after_growth();
  return state_;
}

base::byte_span pipe::new_block(std::size_t wanted) noexcept {
  if (state_ == flow::closed || wanted > block_bytes_ || block_bytes_ == 0) return {};
  rte_mbuf* made = blocks_.alloc();
  if (made == nullptr) return {};
  seal_open();
  open_ = made;
  fill_ = rte_pktmbuf_mtod(made, std::uint8_t*);
  room_end_ = fill_ + block_bytes_;
  return {fill_, block_bytes_};
}

// The pipe lets go of the block; what was advanced in it and is not committed is kept in order.
void pipe::seal_open() noexcept {
  if (open_ == nullptr) return;
  const base::byte_view waiting{fill_ - advanced_, advanced_};
  rte_mbuf* block = std::exchange(open_, nullptr);
  fill_ = room_end_ = nullptr;
  advanced_ = 0;
  if (waiting.empty()) {
    release(block);
  } else if (is_held_once(block)) {
    pending_.append_owned(block, waiting);
  } else {
    // Only the first block since the last commit can hold committed bytes: all later ones are new.
    MILLRACE_ASSERT(first_.empty() && pending_.empty());
    first_ = slice::adopt_held(block, waiting);
  }
}

void pipe::publish() noexcept {
  if (!first_.empty()) {
    const base::byte_view bytes = first_.bytes();
    rte_mbuf* block = first_.release_held();
    if (data_.tail() == block) {
      data_.grow_tail(bytes.size());
      release(block);
    } else {
      data_.append_owned(block, bytes);
    }
  }
  if (!pending_.empty()) {
    const bool taken = data_.append(std::move(pending_));
    MILLRACE_ASSERT(taken);
    static_cast<void>(taken);
  }
  if (advanced_ != 0) {
    const base::byte_view bytes{fill_ - advanced_, advanced_};
    advanced_ = 0;
    if (data_.tail() == open_) {
      data_.grow_tail(bytes.size());
    } else if (hold(open_)) {
      data_.append_owned(open_, bytes);
    } else {  // 65535 frames of this block are still held: the pipe's own reference goes into data_
      data_.append_owned(std::exchange(open_, nullptr), bytes);
      fill_ = room_end_ = nullptr;
    }
  }
  uncommitted_ = 0;
}

void pipe::disown_open_block(chain& taken) noexcept {
  if (taken.empty()) return;
  if (taken.tail() == open_ || (!first_.empty() && taken.tail() == first_.raw())) taken.disown_tail_link();
}

void pipe::on_alert() noexcept {
  // With nothing new the reader waits for more than it has seen: a pause would let both wait for each other.
  const bool over = data_.size() > examined_ && (accounted() >= pause_bytes_ || data_.segments() >= pause_segments_);
  const bool pausing = over && state_ == flow::open;
  if (pausing) {
    state_ = flow::paused;
    ++pauses_;
  }
  set_alerts();
  if (pausing && events_.on_pause != nullptr) events_.on_pause(events_.context);
  if (waiting_ && data_.size() > examined_) wake_reader();
}

void pipe::wake_reader() noexcept {
  waiting_ = false;
  set_alerts();
  if (events_.on_readable != nullptr) events_.on_readable(events_.context);
}

void pipe::resume_if_low() noexcept {
  if (accounted() < resume_bytes_ && data_.segments() <= pause_segments_ / 2) resume();
}

void pipe::resume() noexcept {
  state_ = flow::open;
  set_alerts();
  if (events_.on_resume != nullptr) events_.on_resume(events_.context);
}

read_status pipe::poll_slowly() noexcept {
  // The starvation rule: the writer may be paused by bytes the reader cannot use before more arrive. on_resume may
  // write at once, so only what holds afterwards counts.
  if (state_ == flow::paused && data_.size() <= examined_) resume();
  if (reader_done_) return read_status::closed;
  if (end_ != read_status::data) return end_;
  if (data_.size() > examined_) return read_status::data;
  waiting_ = true;
  set_alerts();
  return read_status::wait;
}

void pipe::cancel_wait() noexcept {
  waiting_ = false;
  set_alerts();
}

void pipe::finish(read_status how, std::uint64_t code) noexcept {
  if (reader_done_ || end_ != read_status::data) return;
  if (uncommitted_ != 0) publish();
  drop_uncommitted();
  end_ = how;
  error_ = code;
  state_ = flow::closed;
  if (waiting_) wake_reader();
}

void pipe::drop_uncommitted() noexcept {
  if (open_ != nullptr) release(std::exchange(open_, nullptr));
  fill_ = room_end_ = nullptr;
  advanced_ = uncommitted_ = 0;
  first_.reset();
  pending_.clear();
}

void pipe::complete_reader() noexcept {
  if (reader_done_) return;
  const bool was_paused = state_ == flow::paused;
  reader_done_ = true;
  waiting_ = false;
  state_ = flow::closed;
  drop_uncommitted();
  data_.clear();
  examined_ = 0;
  set_alerts();
  if (was_paused && events_.on_resume != nullptr) events_.on_resume(events_.context);
}

}  // namespace millrace::buf
