// buf/pipe.hpp - a byte stream between one writer and one reader of one lcore: packets in, bytes out, nothing copied.
//
// Shape    the writer appends packets it owns, or writes copies, or fills spans and commits them; the reader looks at
//          the window of committed bytes, says how far it consumed and examined it, takes whole frames as chains, or
//          hands out a limited_reader for one body. No thread, no coroutine: poll() says what there is, callbacks say
//          when that changed. They are called last, on an edge only, and may call the pipe again; they must not destroy
//          it.
// Units    bytes of payload. Accounted = unconsumed - examined: what the reader is waiting for does not count.
// Flow     paused when accounted >= pause_bytes (or too many segments), open again when accounted < min(resume_bytes,
//          pause_bytes). A reader about to wait un-pauses the pipe, so a frame longer than the mark cannot deadlock.
//          The writer is asked to stop, not forced: append() takes everything, what it does with `paused` is its duty.
// Owner    append() owns the packet whatever it answers (also when closed: freed). append(chain) and write() take
//          nothing when they answer `exhausted`. take() hands its bytes over. The pipe frees the rest on destruction.
// Errors   flow for the writer, read_status for the reader; bad lengths are `false` and change nothing.
// Limits   pause_segments bounds mbufs held by small packets; what is pinned beyond the marks is what the writer adds
//          after being told `paused`.
// Threads  one lcore. To cross lcores use a ring of port.
// Source   docs/flow-control.md.      Tests  test/buf/pipe_test.cpp      Bench  bench/buf/pipe_bench.cpp
#pragma once

#include "buf/chain.hpp"

namespace millrace::buf {

// What the writer may do now.
enum class flow : std::uint8_t {
  open,
  paused,     // taken, but hold back until on_resume
  closed,     // one side is done: packets are freed, nothing more will be read
  exhausted,  // no memory in the pool: nothing was taken, try again later
};

// What the reader finds.
enum class read_status : std::uint8_t {
  data,       // bytes it has not examined yet
  wait,       // none; on_readable will be called once
  ended,      // no more will come; the window holds the rest, perhaps nothing
  failed,     // no more will come, and what there is is not the whole: error() says why. The rest is readable
  truncated,  // limited_reader only: the stream ended inside the body. What came is readable
  closed,     // the reader itself is done
};

struct pipe_limits {
  std::size_t pause_bytes = std::size_t{1} << 20;  // 0: never paused
  std::size_t resume_bytes = std::size_t{512} << 10;
  std::uint32_t pause_segments = 4096;  // 0: any number; open again at half
};

// Any may be null. `context` is theirs.
struct pipe_events {
  void* context = nullptr;
  void (*on_readable)(void* context) noexcept = nullptr;  // after poll() answered `wait`: bytes, or an end
  void (*on_pause)(void* context) noexcept = nullptr;
  void (*on_resume)(void* context) noexcept = nullptr;  // open again, or closed while it was paused
};

class pipe {
  chain data_;                   // committed and not consumed
  std::size_t examined_ = 0;     // of data_, from its front
  std::size_t alert_bytes_ = 0;  // growth to this size has to be looked at: a mark, or a reader that waits
  std::uint32_t alert_segments_ = 0;
  flow state_ = flow::open;
  bool waiting_ = false;  // the reader was told `wait`
  bool reader_done_ = false;
  read_status end_ = read_status::data;  // ended or failed once the writer is done
  std::size_t uncommitted_ = 0;          // bytes in first_, pending_ and the last advanced_ of the open block

  // The block being filled, held by the pipe besides data_ and whatever was taken: bytes are only added to it.
  rte_mbuf* open_ = nullptr;
  std::uint8_t* fill_ = nullptr;
  std::uint8_t* room_end_ = nullptr;
  std::size_t advanced_ = 0;
  slice first_;    // uncommitted end of a full block that begins with committed bytes
  chain pending_;  // blocks of uncommitted bytes alone

  mbuf_source blocks_;
  std::size_t block_bytes_;
  std::size_t pause_bytes_;
  std::size_t resume_bytes_;
  std::uint32_t pause_segments_;
  pipe_events events_;
  std::uint64_t error_ = 0;
  std::uint64_t pauses_ = 0;

 public:
  // `blocks` feeds write() and get_span() and outlives the pipe; not needed when only packets are appended.
  explicit pipe(const pipe_limits& limits = {}, const mbuf_source& blocks = {},
                const pipe_events& events = {}) noexcept;
  pipe(const pipe&) = delete;
  pipe& operator=(const pipe&) = delete;
  ~pipe();

  // --- writer ---
  // Commits what was advanced, then the packet behind it. `closed`: freed.
  flow append(packet&& whole) noexcept {
    if (state_ == flow::closed) [[unlikely]] {
      packet dropped{std::move(whole)};
      return flow::closed;
    }
    seal_before_append();
    const bool taken = data_.append(std::move(whole));
    MILLRACE_ASSERT(taken);  // the pipe always owns the link of its last segment
    static_cast<void>(taken);
    after_growth();
    return state_;
  }
  // The same for a chain. `exhausted`, and the chain kept, when its last segment is shared and the pool cannot help.
  flow append(chain&& more) noexcept;
  // Copies and commits. A write takes all or nothing.
  flow write(base::byte_view bytes) noexcept {
    if (bytes.size() > static_cast<std::size_t>(room_end_ - fill_)) [[unlikely]]
      return write_long(bytes);
    if (bytes.empty()) return commit();
    std::memcpy(fill_, bytes.data(), bytes.size());
    note_advance(bytes.size());
    return commit();
  }
  // At least `wanted` (>= 1) bytes to write into, as many as the block has; empty when closed, exhausted, or larger
  // than a block. The span is good until the next call of the writer.
  [[nodiscard]] base::byte_span get_span(std::size_t wanted = 1) noexcept {
    if (static_cast<std::size_t>(room_end_ - fill_) < wanted || fill_ == room_end_) [[unlikely]]
      return new_block(wanted);
    return {fill_, static_cast<std::size_t>(room_end_ - fill_)};
  }
  // `count` bytes of the span are written; invisible to the reader until commit(). False beyond the span.
  [[nodiscard]] bool advance(std::size_t count) noexcept {
    if (count > static_cast<std::size_t>(room_end_ - fill_)) return false;
    note_advance(count);
    return true;
  }
  // Makes advanced bytes visible and says whether to go on.
  flow commit() noexcept {
    if (uncommitted_ != 0) {
      publish();
      after_growth();
    }
    return state_;
  }
  [[nodiscard]] flow state() const noexcept { return state_; }
  // Gives up the block being filled when nothing in it waits to be read: who rests for long does not keep it.
  void rest() noexcept {
    if (uncommitted_ == 0 && data_.empty()) seal_open();
  }
  // No more will be written; advanced bytes are committed. The first of the two is kept.
  void complete_writer() noexcept { finish(read_status::ended, 0); }
  // The stream broke: `code` is the caller's own (a protocol's error code, say). Not an end of stream.
  void fail_writer(std::uint64_t code) noexcept { finish(read_status::failed, code); }

  // --- reader ---
  [[nodiscard]] read_status poll() noexcept {
    if (data_.size() > examined_ && end_ == read_status::data) [[likely]]
      return read_status::data;
    return poll_slowly();
  }
  // All committed bytes not consumed, examined or not.
  [[nodiscard]] cursor window() const noexcept { return data_.read(); }
  [[nodiscard]] base::byte_view front() const noexcept { return data_.front(); }
  [[nodiscard]] std::size_t size() const noexcept { return data_.size(); }
  [[nodiscard]] const chain& data() const noexcept { return data_; }
  // Frees the first `consumed` bytes; the first `examined` (counted from the same place) need not wake the reader
  // again. False, nothing changed: consumed > examined or examined > size().
  [[nodiscard]] bool advance_to(std::size_t consumed, std::size_t examined) noexcept {
    if (consumed > examined || examined > data_.size()) return false;
    data_.consume(consumed);
    examined_ = examined - consumed;
    after_read();
    return true;
  }
  [[nodiscard]] bool consume(std::size_t count) noexcept { return advance_to(count, count); }
  // Moves the first `count` bytes into `out`, uncopied: a frame cut whole. Conditions of chain::cut().
  [[nodiscard]] bool take(std::size_t count, chain& out) noexcept {
    if (!data_.cut(count, out)) return false;
    if (data_.empty() && (open_ != nullptr || uncommitted_ != 0)) [[unlikely]]
      disown_open_block(out);
    examined_ -= std::min(examined_, count);
    after_read();
    return true;
  }
  // Takes back a `wait`: on_readable will not be called for it.
  void cancel_wait() noexcept;
  // The code of fail_writer(); 0 before.
  [[nodiscard]] std::uint64_t error() const noexcept { return error_; }
  // Frees everything; the writer is told `closed`, and resumed when it was paused.
  void complete_reader() noexcept;

  // How often the writer was paused.
  [[nodiscard]] std::uint64_t pauses() const noexcept { return pauses_; }
  [[nodiscard]] std::size_t accounted() const noexcept { return data_.size() - examined_; }

 private:
  void note_advance(std::size_t count) noexcept {
    fill_ += count;
    advanced_ += count;
    uncommitted_ += count;
  }
  // Order: what was advanced comes first, and nothing may be added to a block that is no longer last.
  void seal_before_append() noexcept {
    if (uncommitted_ != 0) publish();
    if (open_ != nullptr && data_.tail() == open_) seal_open();
  }
  void after_growth() noexcept {
    if (data_.size() >= alert_bytes_ || data_.segments() >= alert_segments_) [[unlikely]]
      on_alert();
  }
  void after_read() noexcept {
    if (state_ == flow::paused) [[unlikely]]
      resume_if_low();
    else if (!waiting_)
      alert_bytes_ = pause_bytes_ + examined_;
  }
  void set_alerts() noexcept;
  void publish() noexcept;
  void seal_open() noexcept;
  void on_alert() noexcept;
  void resume_if_low() noexcept;
  void resume() noexcept;
  void wake_reader() noexcept;
  void finish(read_status how, std::uint64_t code) noexcept;
  void drop_uncommitted() noexcept;
  void disown_open_block(chain& taken) noexcept;
  [[nodiscard]] read_status poll_slowly() noexcept;
  flow write_long(base::byte_view bytes) noexcept;
  [[nodiscard]] base::byte_span new_block(std::size_t wanted) noexcept;
};

}  // namespace millrace::buf
