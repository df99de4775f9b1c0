// service/site_handler.hpp - answers GET and HEAD from a site, on one lcore.
//
//   200  the file, or its stored form that Accept-Encoding likes best, with Content-Type, ETag, Last-Modified and
//        Accept-Ranges; Content-Encoding of a stored form; Vary where there are several
//   206  one range of it, also with Content-Range. Of several ranges none: 200 with the whole, as RFC 9110 14.2 allows
//        (15.3.7.2 has multipart/byteranges, whose parts a client must be able to take apart; 17.15 why many are a
//        risk)
//   301  "/dir" where there is a "/dir/index.html": to "/dir/", with the query
//   304, 412  by If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since (RFC 9110 13.2.2)
//   404  nothing is there     406  the plain form is refused and no other is liked     416  no byte lies in the range
//
// Shape    routes() go into a router (http/router.hpp); where a pattern of text fits too, that one wins.
// Memory   none: a body is http::content_range, and heads are written by the carrier before respond() returns.
// Owner    the site is the caller's. An exchange uses its tree until on_end().
// Threads  one lcore; counters from anywhere.
// Source   RFC 9110 8.3 8.8 9.3.1 12.5.3 12.5.5 13 14 15. Tests  test/service/site_test.cpp
#pragma once

#include <deque>

#include "http/exchange.hpp"
#include "service/builtin.hpp"
#include "service/site.hpp"

namespace millrace::service {

struct site_counters {
  stats::counter files, ranges, not_modified, redirects, not_found, not_acceptable, precondition_failed,
      not_satisfiable;
};

class site_handler {
  class directory final : public http::exchange_handler {
   public:
    site_handler& of;
    std::uint32_t which;
    std::string mount;  // empty for "/"
    std::string below;  // the pattern of what lies in it

    directory(site_handler& handler, std::uint32_t index, const std::string& path)
        : of(handler), which(index), mount(path == "/" ? std::string{} : path), below(mount + "/{path...}") {}
    void on_request(http::exchange& x) noexcept override { of.answer(x, *this); }
    void on_end(http::exchange& x, http::exchange_end) noexcept override {
      if (auto* const count = static_cast<std::atomic<std::uint32_t>*>(std::exchange(x.user, nullptr)))
        site::give(count);
    }
  };
  site& site_;
  std::size_t lcore_;
  std::int64_t wall_less_clock_ns_;
  std::deque<directory> directories_;
  site_counters count_;

  void answer(http::exchange& x, const directory& d) noexcept;
  void refuse(http::exchange& x, http::wire::status_code status, stats::counter& why) noexcept;
  void redirect(http::exchange& x, const std::string& location) noexcept;
  void send(http::exchange& x, const site_tree& tree, const site_entry& e) noexcept;

 public:
  // `lcore`: as site::take() counts. `wall_less_clock_ns`: what is to be added to exchange::now_ns() for the time since
  // 1970, by which dates are judged.
  site_handler(site& of, std::size_t lcore, std::int64_t wall_less_clock_ns);
  site_handler(const site_handler&) = delete;
  site_handler& operator=(const site_handler&) = delete;

  // Their patterns live as long as the handler.
  [[nodiscard]] std::vector<route> routes();
  [[nodiscard]] const site_counters& count() const noexcept { return count_; }
};

}  // namespace millrace::service
