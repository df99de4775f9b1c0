#include "app/load_report.hpp"

#include <gtest/gtest.h>

namespace millrace::app {
namespace {

using loadgen::load_ask;
using loadgen::load_error;

load_end some_end() {
  load_end end;
  end.asked.target = {base::ip_address::parse("198.18.0.1").value(), 5500};
  end.asked.connections = 4;
  loadgen::load_figures& f = end.did;
  f.phase = loadgen::load_phase::finished;
  f.answered = true;
  f.sent = 4'000'000;
  f.replies = 3'999'990;
  f.sent_bytes = 28 * f.sent;
  f.reply_bytes = 28 * f.replies;
  f.datagrams_sent = 100'000;
  f.knocks = 1;
  f.first_ns = 1'000'000'000;
  f.last_ns = 3'000'000'000;
  f.errors[static_cast<std::size_t>(load_error::timeout)] = 10;
  for (int i = 0; i < 1000; ++i) end.latency->record(20'000);
  end.latency->record(5'000'000);
  return end;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(load_report, tells_people_rate_goodput_latency_and_errors) {
  const std::string text = load_text(some_end());
  for (const char* part : {"4000000 sent, 3999990 answered in 2.00 s", "2.000 M messages a second, 40.0 a datagram",
                           "0.448 Gbit/s", "p50 20.1 us", "max 5000.0 us", "timeout 10"})
    EXPECT_TRUE(has(text, part)) << part << " in\n" << text;
  EXPECT_FALSE(has(text, "open loop"));
  EXPECT_FALSE(has(text, "unheard"));
  load_end deaf = some_end();
  deaf.did.unheard = 1;
  EXPECT_TRUE(has(load_text(deaf), "1 of 4 connections got no answer"));
}

TEST(load_report, says_how_far_an_open_loop_was_behind) {
  load_end end = some_end();
  end.asked.rate = 2'000'000;
  end.did.behind_ns = 1'500'000;
  const std::string text = load_text(end);
  EXPECT_TRUE(has(text, "2.000 M a second asked; sending was behind by 1500.0 us at most")) << text;
  EXPECT_TRUE(has(text, "from the time a message was meant to be sent"));
}

TEST(load_report, fills_the_client_s_members_of_the_result) {
  run_result result;
  result.duration_s = 9;
  fill_load_result(some_end(), result);
  EXPECT_EQ(result.duration_s, 2.0);
  EXPECT_NEAR(result.rate.messages_per_s.value(), 1'999'995, 1);
  EXPECT_FALSE(result.rate.requests_per_s.has_value());
  EXPECT_NEAR(result.rate.goodput_gbps.value(), 0.448, 0.001);
  ASSERT_TRUE(result.latency_ns.has_value());
  EXPECT_NEAR(static_cast<double>(result.latency_ns->p99), 20'000, 200);
  EXPECT_EQ(result.latency_ns->max, 5'000'000u);
  ASSERT_EQ(result.errors.size(), 1u);
  EXPECT_EQ(result.errors[0], (std::pair<std::string, std::uint64_t>("timeout", 10)));
}

TEST(load_report, tells_of_connections_where_messages_go_over_quic) {
  load_end end = some_end();
  end.quic.emplace();
  end.quic->begun = 5;
  end.quic->completed = 4;
  end.quic->lost = 1;
  end.quic->troubles = {{"quic_auth_failed", 7}};
  end.quic->last_loss = loadgen::quic_loss{{quic::conn::end_reason::idle_timeout, false, 0}, ""};
  const std::string text = load_text(end);
  for (const char* part : {"handshakes 4 of 5 completed, 2.0 a second", "40.0 at a time",
                           "timeout 10, lost_connections 1, quic_auth_failed 7",
                           "of the last lost connection: the connection fell silent"})
    EXPECT_TRUE(has(text, part)) << part << " in\n" << text;
  run_result result;
  fill_load_result(end, result);
  EXPECT_EQ(result.handshakes->begun, 5u);
  EXPECT_EQ(result.handshakes->completed, 4u);
  EXPECT_EQ(result.rate.handshakes_per_s.value(), 2.0);
  EXPECT_EQ(result.errors.size(), 3u);
  EXPECT_EQ(load_failure(end), "") << "the errors tell";
}

TEST(load_report, says_why_there_was_no_connection_for_messages) {
  load_end end;
  end.asked.target = {base::ip_address::parse("198.18.0.1").value(), 443};
  end.quic.emplace();
  EXPECT_TRUE(has(load_failure(end), "nothing was sent to 198.18.0.1:443"));
  end.quic->begun = 1;
  EXPECT_TRUE(has(load_failure(end), "no QUIC reply from 198.18.0.1:443"));
  end.quic->last_loss = loadgen::quic_loss{{quic::conn::end_reason::closed_by_peer, false, 0x178}, ""};
  EXPECT_TRUE(has(load_failure(end), "the server closed the connection: TLS alert 120"));
  end.quic->unreachable = 1;
  EXPECT_TRUE(has(load_failure(end), "nobody answers ARP"));
}

TEST(load_report, counts_what_was_sent_where_nothing_is_answered) {
  load_end end = some_end();
  end.asked.ask = load_ask::one_way;
  end.did.replies = 0;
  end.latency = std::make_unique<stats::latency_histogram>();
  run_result result;
  fill_load_result(end, result);
  EXPECT_EQ(result.rate.messages_per_s.value(), 2'000'000);
  EXPECT_FALSE(result.latency_ns.has_value());
  EXPECT_FALSE(has(load_text(end), "latency"));
  EXPECT_EQ(load_failure(end), "");
}

TEST(load_report, names_the_parameters_of_the_run) {
  load_end end = some_end();
  end.asked.ask = load_ask::rpc_call;
  end.asked.method = "Api/All";
  workload_parameters w;
  add_load_workload(end.asked, w);
  const auto value = [&](std::string_view name) -> std::string {
    for (const auto& [key, v] : w.items())
      if (key == name) return std::holds_alternative<std::string>(v) ? std::get<std::string>(v) : "another";
    return "none";
  };
  EXPECT_EQ(value("target"), "198.18.0.1:5500");
  EXPECT_EQ(value("ask"), "rpc_call");
  EXPECT_EQ(value("method"), "Api/All");
  EXPECT_EQ(value("connections"), "another");
}

TEST(load_report, fails_a_run_that_nobody_answered) {
  load_end end = some_end();
  EXPECT_EQ(load_failure(end), "");
  end.did = {};
  EXPECT_TRUE(has(load_failure(end), "our address was not ours"));
  end.did.knocks = 3;
  EXPECT_TRUE(has(load_failure(end), "no reply from 198.18.0.1:5500: it was asked"));
  EXPECT_TRUE(has(load_failure(end, 3), "no route leads to 198.18.0.1:5500"));
  end.did.errors[static_cast<std::size_t>(load_error::icmp_error)] = 3;
  EXPECT_TRUE(has(load_failure(end), "ICMP says"));
  end.did.errors[static_cast<std::size_t>(load_error::unreachable)] = 3;
  EXPECT_TRUE(has(load_failure(end), "nobody answers ARP"));
}

TEST(load_report, fails_a_run_of_errors_alone) {
  load_end end = some_end();
  end.did.replies = 0;
  EXPECT_EQ(load_failure(end), "no right reply from 198.18.0.1:5500: timeout 10");
}

TEST(load_report, tells_a_period_by_what_changed) {
  const load_end end = some_end();
  loadgen::load_figures before;
  before.sent = 3'000'000;
  before.replies = 2'999'990;
  before.errors[static_cast<std::size_t>(load_error::timeout)] = 9;
  const std::string line = load_period_text(3, 0.5, before, end.did);
  EXPECT_TRUE(has(line, "sent 2.000 M/s, answered 2.000 M/s")) << line;
  EXPECT_TRUE(has(line, "errors: timeout 1")) << line;
}

}  // namespace
}  // namespace millrace::app
