// Patterns are kept as a tree of segments. Walking it for a path would have to try text first and come back to `{name}`
// when that leads nowhere, and a path could make it do so again and again. build() therefore merges: a node of the
// router stands for all the places of the tree where the same path can be, in the order of their worth, so that each
// segment leads to one node. This is how a nondeterministic automaton is made deterministic; like there, patterns can
// be thought of that need very many nodes, so their number has a limit.
//
// A place is a node of the tree, or a `{name...}` that was passed further up and would take whatever comes.
#include <algorithm>
#include <cstring>

#include "http/router.hpp"

namespace millrace::http {
namespace {

constexpr std::uint32_t none = UINT32_MAX;
using per_method = std::array<std::uint32_t, wire::method_count>;

[[nodiscard]] per_method no_routes() noexcept {
  per_method out;
  out.fill(none);
  return out;
}

[[nodiscard]] base::failure wrong(std::string_view pattern, std::string_view why) {
  std::string what = "route \"";
  what.append(pattern).append("\": ").append(why);
  return {what, "a pattern is a path of text, {name} and, last, {name...}", true};
}

}  // namespace

struct router_builder::pattern_node {
  std::map<std::string, std::uint32_t, std::less<>> texts{};
  std::uint32_t parameter = none;
  per_method here = no_routes();  // patterns that end here
  per_method rest = no_routes();  // that end in {name...} here
};

router_builder::router_builder() : nodes_(1) {}
router_builder::~router_builder() = default;

base::outcome router_builder::add(wire::method m, std::string_view text, std::uint32_t handler) {
  if (!text.starts_with('/')) return wrong(text, "does not begin with a slash");
  pattern made{handler, {}};
  std::uint32_t at = 0;
  std::uint32_t depth = 0;
  bool rest = false;
  for (std::size_t begin = 1; begin <= text.size(); ++depth) {
    if (rest) return wrong(text, "{name...} is not its last segment");
    if (depth == path_segments_max) return wrong(text, "has more than 32 segments");
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view segment = text.substr(begin, end - begin);
    begin = end + 1;
    if (segment.find_first_of("{}") == std::string_view::npos) {
      const auto known = nodes_[at].texts.find(segment);
      std::uint32_t next = static_cast<std::uint32_t>(nodes_.size());
      if (known != nodes_[at].texts.end()) {
        next = known->second;
      } else {
        nodes_[at].texts.emplace(segment, next);
        nodes_.emplace_back();
      }
      at = next;
      continue;
    }
    if (!segment.starts_with('{') || !segment.ends_with('}') || segment.find_first_of("{}", 1) != segment.size() - 1)
      return wrong(text, "has a segment that is neither text nor {name}");
    std::string_view name = segment.substr(1, segment.size() - 2);
    rest = name.ends_with("...");
    if (rest) name.remove_suffix(3);
    if (name.empty()) return wrong(text, "has a parameter without a name");
    for (const parameter_place& p : made.parameters)
      if (p.name == name) return wrong(text, "names two parameters alike");
    if (made.parameters.size() == path_parameters_max) return wrong(text, "has more than 8 parameters");
    made.parameters.push_back({depth, std::string(name), rest});
    if (rest) continue;
    if (nodes_[at].parameter == none) {
      const auto next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
      nodes_[at].parameter = next;
    }
    at = nodes_[at].parameter;
  }
  std::uint32_t& place = (rest ? nodes_[at].rest : nodes_[at].here)[static_cast<std::size_t>(m)];
  if (place != none) return wrong(text, "is there already, or one that differs in the names of parameters alone");
  place = static_cast<std::uint32_t>(patterns_.size());
  patterns_.push_back(std::move(made));
  return base::done{};
}

// Work of build(): sets of places, each of which is a node of the router.
struct router_builder::merge {
  struct place {
    std::uint32_t node;
    bool passed;  // its {name...} stands further up
    friend auto operator<=>(const place&, const place&) noexcept = default;
  };
  using places = std::vector<place>;

  const std::vector<pattern_node>& from;
  router& to;
  std::map<places, std::uint32_t> known{};
  std::vector<places> work{};

  // The node of `set`, made when it is new.
  [[nodiscard]] std::uint32_t node_of(const places& set) {
    const auto [at, fresh] = known.emplace(set, static_cast<std::uint32_t>(to.nodes_.size()));
    if (fresh) {
      to.nodes_.emplace_back();
      work.push_back(set);
    }
    return at->second;
  }

  static void add_place(places& set, place p) {
    if (std::find(set.begin(), set.end(), p) == set.end()) set.push_back(p);
  }
  [[nodiscard]] bool has_rest(std::uint32_t n) const {
    return std::any_of(from[n].rest.begin(), from[n].rest.end(), [](std::uint32_t r) { return r != none; });
  }

  // Where a segment leads: `text`, or any other when null.
  [[nodiscard]] places behind(const places& set, const std::string* text) const {
    places out;
    for (const place& p : set) {
      if (!p.passed) {
        const pattern_node& n = from[p.node];
        if (text != nullptr)
          if (const auto at = n.texts.find(*text); at != n.texts.end()) add_place(out, {at->second, false});
        // RFC 3986 3.3 allows empty segments; {name} does not take them.
        const bool named = text == nullptr || !text->empty();
        if (named && n.parameter != none) add_place(out, {n.parameter, false});
        if (!has_rest(p.node)) continue;
      }
      add_place(out, {p.node, true});
    }
    return out;
  }
  [[nodiscard]] static bool leads_on(const places& set) {
    return std::any_of(set.begin(), set.end(), [](const place& p) { return !p.passed; });
  }

  void fill(const places& set, std::uint32_t index) {
    per_method here = no_routes();
    per_method rest = no_routes();
    std::map<std::string, places, std::less<>> texts;
    for (const place& p : set) {
      const pattern_node& n = from[p.node];
      for (std::size_t m = 0; m < wire::method_count; ++m) {
        if (here[m] == none) here[m] = p.passed ? n.rest[m] : n.here[m];
        if (rest[m] == none) rest[m] = n.rest[m];
      }
      if (!p.passed)
        for (const auto& [text, unused] : n.texts) texts.emplace(text, places{});
    }
    // RFC 9110 9.3.2.
    constexpr auto get = static_cast<std::size_t>(wire::method::get);
    constexpr auto head = static_cast<std::size_t>(wire::method::head);
    if (here[head] == none) here[head] = here[get];
    if (rest[head] == none) rest[head] = rest[get];

    std::vector<router::child> children;
    for (auto& [text, places_behind] : texts) {
      places_behind = behind(set, &text);
      router::child c{0, static_cast<std::uint32_t>(text.size()), static_cast<std::uint32_t>(to.texts_.size()),
                      node_of(places_behind)};
      std::memcpy(&c.word, text.data(), std::min(text.size(), sizeof(c.word)));
      to.texts_ += text;
      children.push_back(c);
    }
    std::sort(children.begin(), children.end(), [this](const router::child& a, const router::child& b) {
      if (a.size != b.size) return a.size < b.size;
      if (a.word != b.word) return a.word < b.word;
      return std::memcmp(to.texts_.data() + a.text, to.texts_.data() + b.text, a.size) < 0;
    });
    const places any = behind(set, nullptr);
    const std::uint32_t parameter = leads_on(any) ? node_of(any) : none;
    router::node& made = to.nodes_[index];
    made.first_child = static_cast<std::uint32_t>(to.children_.size());
    made.children = static_cast<std::uint32_t>(children.size());
    made.parameter = parameter;
    made.here = here;
    made.rest = rest;
    to.children_.insert(to.children_.end(), children.begin(), children.end());
  }
};

base::result<router> router_builder::build() const {
  router out;
  for (const pattern& p : patterns_) {
    out.routes_.push_back(
        {p.handler, static_cast<std::uint32_t>(out.captures_.size()), static_cast<std::uint32_t>(p.parameters.size())});
    for (const parameter_place& parameter : p.parameters) {
      out.captures_.push_back({parameter.segment, static_cast<std::uint32_t>(out.texts_.size()),
                               static_cast<std::uint32_t>(parameter.name.size()), parameter.rest});
      out.texts_ += parameter.name;
    }
  }
  merge m{nodes_, out};
  static_cast<void>(m.node_of({{0, false}}));
  for (std::uint32_t next = 0; next < m.work.size(); ++next) {
    if (out.nodes_.size() > router_nodes_max)
      return base::failure{"the routes need more than 65536 nodes", "use fewer patterns that fit the same paths", true};
    const merge::places set = m.work[next];  // a copy: fill() adds to the list
    m.fill(set, next);
  }
  return out;
}

}  // namespace millrace::http
