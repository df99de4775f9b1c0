// http/router.hpp - which handler answers a method and a path.
//
// Shape    patterns are collected by a router_builder at start and made into a router, which never changes and may be
//          read by every lcore. A pattern is a path whose segments are text, `{name}` for any one segment that is not
//          empty, or, as its last, `{name...}` for all that is left, which may be empty: "/files/{path...}" answers
//          "/files/" and "/files/a/b", not "/files".
// Which    of several patterns that fit, the one whose first difference from the others, read from the left, is text
//          before `{name}` before `{name...}`, among those that have the method. GET answers HEAD where HEAD has no
//          pattern of its own.
// Work     the patterns are merged when the router is made, so that a path is walked once, without trying again,
//          whatever patterns there are; segments are compared by size and first word.
// Owner    the router owns its texts; a match points into the router (names) and into the path (values).
// Limits   below. Errors  add() and build() say what is wrong with which pattern.
// Threads  builder: control thread. router: any, it is const.
// Source   RFC 9110 9.1 9.3.2 10.2.1 15.5.6. Tests  test/http/router_test.cpp
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/fixed_vector.hpp"
#include "base/result.hpp"
#include "http/wire/method.hpp"

namespace millrace::http {

inline constexpr std::size_t path_parameters_max = 8;    // of a pattern
inline constexpr std::size_t path_segments_max = 32;     // of a pattern; paths may have any number
inline constexpr std::size_t router_nodes_max = 65'536;  // patterns that would need more are refused by build()

struct path_parameter {
  std::string_view name;
  std::string_view value;  // as it stands in the path
};

struct route_match {
  enum class outcome : std::uint8_t {
    found,
    no_path,    // 404
    no_method,  // 405, with `allowed`
  };
  outcome result = outcome::no_path;
  std::uint32_t handler = 0;  // what add() was given
  wire::method_set allowed{};
  base::fixed_vector<path_parameter, path_parameters_max> parameters{};

  // Empty when there is none of that name.
  [[nodiscard]] std::string_view parameter(std::string_view name) const noexcept;
};

class router {
  static constexpr std::uint32_t none = UINT32_MAX;

  struct capture {
    std::uint32_t segment;
    std::uint32_t name_begin;  // in texts_
    std::uint32_t name_size;
    bool rest;  // from that segment on
  };
  struct route {
    std::uint32_t handler;
    std::uint32_t first_capture;
    std::uint32_t captures;
  };
  struct child {
    std::uint64_t word;  // the first eight bytes, zeros behind shorter ones
    std::uint32_t size;
    std::uint32_t text;  // in texts_
    std::uint32_t node;
  };
  struct node {
    std::uint32_t first_child = 0;
    std::uint32_t children = 0;                            // in order of size, word and text
    std::uint32_t parameter = none;                        // the node of `{name}`
    std::array<std::uint32_t, wire::method_count> here{};  // routes of a path that ends here
    std::array<std::uint32_t, wire::method_count> rest{};  // ... that goes on and has no child
  };
  std::vector<node> nodes_;
  std::vector<child> children_;
  std::vector<route> routes_;
  std::vector<capture> captures_;
  std::string texts_;

 public:
  // `path` is normalised (http/wire/target.hpp). No allocation.
  [[nodiscard]] route_match match(wire::method m, std::string_view path) const noexcept;
  [[nodiscard]] std::size_t node_count() const noexcept { return nodes_.size(); }

 private:
  friend class router_builder;
  [[nodiscard]] std::uint32_t child_of(const node& n, std::string_view segment) const noexcept;
};

class router_builder {
  struct pattern_node;
  struct merge;

  struct parameter_place {
    std::uint32_t segment;
    std::string name;
    bool rest;
  };
  struct pattern {
    std::uint32_t handler;
    std::vector<parameter_place> parameters;
  };
  std::vector<pattern> patterns_;
  std::vector<pattern_node> nodes_;

 public:
  router_builder();
  ~router_builder();
  router_builder(const router_builder&) = delete;
  router_builder& operator=(const router_builder&) = delete;

  // Several methods of one pattern are several calls.
  [[nodiscard]] base::outcome add(wire::method m, std::string_view pattern, std::uint32_t handler);
  [[nodiscard]] base::result<router> build() const;
};

}  // namespace millrace::http
