// Every state with every event, and the graphs that the documents show.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "quic/stream/recv_state.hpp"
#include "quic/stream/send_state.hpp"

namespace {

using namespace millrace::quic::stream;

constexpr std::array<const char*, send_states> send_names = {"ready",      "send",       "data_sent",
                                                             "data_recvd", "reset_sent", "reset_recvd"};
constexpr std::array<const char*, send_events> send_event_names = {"data", "fin", "all_acked", "reset", "reset_acked"};
constexpr std::array<const char*, recv_states> recv_names = {"recv",      "size_known",  "data_recvd",
                                                             "data_read", "reset_recvd", "reset_read"};
constexpr std::array<const char*, recv_events> recv_event_names = {"fin", "all_data", "read_all", "reset",
                                                                   "read_reset"};

template <class State, class Event, std::size_t States, std::size_t Events>
std::string edges(const std::array<const char*, States>& states, const std::array<const char*, Events>& events) {
  std::string out;
  for (std::size_t s = 0; s < States; ++s)
    for (std::size_t e = 0; e < Events; ++e)
      if (const auto to = next(static_cast<State>(s), static_cast<Event>(e)))
        out += std::string("  ") + states[s] + " -> " + states[static_cast<std::size_t>(*to)] + " [label=\"" +
               events[e] + "\"];\n";
  return out;
}

std::set<std::string> lines(const std::string& text) {
  std::set<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.find("->") != std::string::npos) out.insert(line);
  return out;
}

std::string document(const std::string& name) {
  const char* root = std::getenv("MILLRACE_SOURCE");
  std::ifstream in(std::string(root == nullptr ? "." : root) + "/docs/rfc/" + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(send_state, is_the_graph_of_the_document) {
  const std::string graph = edges<send_state, send_event>(send_names, send_event_names);
  EXPECT_EQ(lines(graph), lines(document("send_state.dot"))) << graph;
}

TEST(recv_state, is_the_graph_of_the_document) {
  const std::string graph = edges<recv_state, recv_event>(recv_names, recv_event_names);
  EXPECT_EQ(lines(graph), lines(document("recv_state.dot"))) << graph;
}

TEST(send_state, goes_nowhere_from_its_final_states) {
  for (unsigned s = 0; s < send_states; ++s) {
    bool leaves = false;
    for (unsigned e = 0; e < send_events; ++e)
      leaves |= next(static_cast<send_state>(s), static_cast<send_event>(e)).has_value();
    EXPECT_EQ(leaves, !is_final(static_cast<send_state>(s)));
  }
}

TEST(recv_state, goes_nowhere_from_its_final_states) {
  for (unsigned s = 0; s < recv_states; ++s) {
    bool leaves = false;
    for (unsigned e = 0; e < recv_events; ++e)
      leaves |= next(static_cast<recv_state>(s), static_cast<recv_event>(e)).has_value();
    EXPECT_EQ(leaves, !is_final(static_cast<recv_state>(s)));
  }
}

}  // namespace
