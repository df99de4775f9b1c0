// service/builtin.hpp - the endpoints that every appliance has, over HTTP/3 and HTTP/1.1 alike.
//
//   GET  /bytes/N   N bytes of base::pattern_block(), read from where they lie
//   POST /echo      the body, as it comes, to whoever sent it; a caller that reads nothing while it sends comes to a
//                   stand when its own window is full
//   POST /discard   reads the body, and answers how many bytes it had and their sum
//   GET  /json      a small document, written into the block that is sent
//   POST /json      what a document consists of: judged where it lies, counted, and answered as JSON; 400 with a reason
//   GET  /stats     figures of the appliance, as its stats_source tells them
//   GET  /          the page that shows them (service/page)
//
// Shape    make(); routes() go into a router, and its handlers into a dispatcher. One object an lcore.
// Memory   a streamed answer has a place in a pool (where it has got to) and nothing else; a body of POST /json is kept
//          as the slices it came in, json_bytes at most, and copied once if it came in several.
// Owner    `blocks`, and the stats_source, are the caller's. Errors  make(): no memory.
// Threads  one lcore; counters from anywhere. Tests  test/service/builtin_test.cpp
#pragma once

#include <array>
#include <memory>

#include "buf/large_block_pool.hpp"
#include "http/exchange.hpp"
#include "json/reader.hpp"
#include "json/writer.hpp"
#include "mem/object_pool.hpp"
#include "mem/pool_listing.hpp"
#include "service/settings.hpp"
#include "stats/drop_counters.hpp"

namespace millrace::service {

// Who knows the figures. Writes one JSON value; called on the lcore that answers, so it reads counters and no more.
class stats_source {
 public:
  stats_source() noexcept = default;
  stats_source(const stats_source&) = delete;
  stats_source& operator=(const stats_source&) = delete;
  virtual ~stats_source() = default;
  virtual void write(json::writer& to) noexcept = 0;
};

struct route {
  http::wire::method method = http::wire::method::get;
  std::string_view pattern;  // http/router.hpp
  http::exchange_handler* handler = nullptr;
};

// Where no directory can be: what routes() has, by first segment.
inline constexpr std::array<std::string_view, 6> reserved_paths = {"/bytes", "/discard", "/echo",
                                                                   "/json",  "/stats",   "/ws"};

struct counters {
  stats::counter bytes, echoes, discards, json, stats, pages, refused, no_memory;
};

// The content that /bytes/N repeats: one block, made on the control thread, shared by all lcores.
[[nodiscard]] base::result<buf::content> make_pattern(buf::large_block_pool& blocks);

class builtin {
  struct place {  // of an answer that is longer than a block
    const buf::content* from = nullptr;
    std::uint64_t at = 0, end = 0;
  };
  struct tally {  // of a body that is thrown away
    std::uint64_t bytes = 0;
    std::uint32_t sum = 0;
  };
  struct document {  // a body that is being read
    buf::chain text;
    bool is_refused = false;
  };

  class handler : public http::exchange_handler {
   protected:
    builtin& of_;

   public:
    explicit handler(builtin& b) noexcept : of_(b) {}
  };
  class bytes_handler final : public handler {
   public:
    using handler::handler;
    void on_request(http::exchange& x) noexcept override;
    void on_end(http::exchange& x, http::exchange_end) noexcept override;
  };
  class echo_handler final : public handler {
   public:
    using handler::handler;
    void on_request(http::exchange& x) noexcept override;
    void on_body(http::exchange& x) noexcept override;
    void on_writable(http::exchange& x) noexcept override { on_body(x); }
    void on_body_end(http::exchange& x, std::span<const http::field>) noexcept override { x.finish({}); }
  };
  class discard_handler final : public handler {
   public:
    using handler::handler;
    void on_request(http::exchange& x) noexcept override;
    void on_body(http::exchange& x) noexcept override;
    void on_body_end(http::exchange& x, std::span<const http::field>) noexcept override;
    void on_end(http::exchange& x, http::exchange_end) noexcept override;
  };
  class json_handler final : public handler {
   public:
    using handler::handler;
    void on_request(http::exchange& x) noexcept override;
    void on_body(http::exchange& x) noexcept override;
    void on_body_end(http::exchange& x, std::span<const http::field>) noexcept override;
    void on_end(http::exchange& x, http::exchange_end) noexcept override;
  };
  class stats_handler final : public handler {
   public:
    using handler::handler;
    void on_request(http::exchange& x) noexcept override;
  };
  class page_handler final : public handler {
   public:
    using handler::handler;
    void on_request(http::exchange& x) noexcept override;
  };

  settings settings_;
  const buf::content& pattern_;
  stats_source* stats_;
  mem::object_pool<place> places_;
  mem::object_pool<document> documents_;
  mem::object_pool<tally> tallies_;
  std::vector<std::uint8_t> gathered_;  // of a document in several pieces: one at a time
  std::vector<std::byte> scratch_;      // the reader's
  std::uint64_t json_answers_ = 0;
  counters count_;
  bytes_handler bytes_{*this};
  echo_handler echo_{*this};
  discard_handler discard_{*this};
  json_handler json_{*this};
  stats_handler stats_answer_{*this};
  page_handler page_{*this};

  builtin(const settings& s, const buf::content& pattern, stats_source* stats, mem::object_pool<place> places,
          mem::object_pool<document> documents, mem::object_pool<tally> tallies);
  void answer(http::exchange& x, http::wire::status_code status) noexcept;
  void answer_too_large(http::exchange& x) noexcept;  // of /json
  void answer_json(http::exchange& x, http::wire::status_code status, buf::chain&& text) noexcept;

 public:
  // `stats` nullptr: no /stats and no page.
  [[nodiscard]] static base::result<std::unique_ptr<builtin>> make(const settings& s, const buf::content& pattern,
                                                                   stats_source* stats);
  builtin(const builtin&) = delete;
  builtin& operator=(const builtin&) = delete;

  [[nodiscard]] std::vector<route> routes();
  [[nodiscard]] const counters& count() const noexcept { return count_; }
  // From any lcore.
  void list(mem::pool_listing& to) const noexcept { to.add(places_), to.add(documents_), to.add(tallies_); }
  // Every pool has back what it lent.
  [[nodiscard]] bool is_whole() noexcept { return places_.is_whole() && documents_.is_whole() && tallies_.is_whole(); }
};

// EAL memory of one, a little above the truth.
[[nodiscard]] std::size_t memory_bytes(const settings& s) noexcept;

}  // namespace millrace::service
