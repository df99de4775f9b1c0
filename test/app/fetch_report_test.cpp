#include "app/fetch_report.hpp"

#include <gtest/gtest.h>

namespace millrace::app {
namespace {

using quic::conn::end_reason;

fetch_end some_end() {
  fetch_end end;
  end.asked.target = {base::ip_address::parse("198.18.0.1").value(), 443};
  loadgen::fetch_figures& f = end.did;
  f.answered = true;
  f.connections = 101;
  f.established = 100;
  f.resumed = 60;
  f.early_accepted = 40;
  f.begun = f.whole = 4'000;
  f.bytes = 4'000'000'000;
  f.first_ns = 1'000'000'000;
  f.last_ns = 3'000'000'000;
  for (int i = 0; i < 1000; ++i) end.latency->record(20'000);
  end.latency->record(5'000'000);
  return end;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(fetch_report, tells_people_requests_goodput_handshakes_and_errors) {
  fetch_end end = some_end();
  const std::string text = fetch_text(end);
  for (const char* part :
       {"4000 begun, 4000 whole in 2.00 s, 2000.0 a second", "16.000 Gbit/s",
        "100 of 101 completed, 50.0 a second: 60 resumed, 40 of those with 0-RTT", "max 5000.0 us", "errors    none"})
    EXPECT_TRUE(has(text, part)) << part << " in\n" << text;
  EXPECT_FALSE(has(text, "changes"));
  end.did.key_updates = 3;
  end.did.failed = 2;
  end.did.lost_connections = 1;
  end.quic.troubles = {{"quic_auth_failed", 7}};
  end.quic.last_loss = loadgen::quic_loss{{end_reason::closed_by_peer, false, 0x12a}, ""};
  const std::string troubled = fetch_text(end);
  for (const char* part : {"3 key updates, 0 moves", "failed_requests 2, lost_connections 1, quic_auth_failed 7",
                           "of the last lost connection: the server closed the connection: TLS alert 42"})
    EXPECT_TRUE(has(troubled, part)) << part << " in\n" << troubled;
}

TEST(fetch_report, a_period_is_what_came_since_the_last) {
  const fetch_end end = some_end();
  loadgen::fetch_figures now = end.did;
  now.whole += 500;
  now.bytes += 125'000'000;
  now.established += 5;
  now.in_flight = 3;
  now.failed = 1;
  const std::string text = fetch_period_text(4, 0.5, end.did, now);
  EXPECT_TRUE(has(text, "1000 requests/s, 2.000 Gbit/s, 10 handshakes/s, 3 in flight, errors: failed_requests 1"))
      << text;
}

TEST(fetch_report, fills_the_clients_members_of_the_result) {
  fetch_end end = some_end();
  end.did.wrong = 4;
  end.quic.troubles = {{"quic_idle_timeout", 1}};
  run_result result;
  result.duration_s = 9;
  fill_fetch_result(end, result);
  EXPECT_EQ(result.duration_s, 2.0);
  EXPECT_EQ(result.rate.requests_per_s.value(), 2'000);
  EXPECT_EQ(result.rate.handshakes_per_s.value(), 50);
  EXPECT_NEAR(result.rate.goodput_gbps.value(), 16, 1e-9);
  EXPECT_FALSE(result.rate.messages_per_s.has_value());
  ASSERT_TRUE(result.handshakes.has_value());
  EXPECT_EQ(result.handshakes->begun, 101u);
  EXPECT_EQ(result.handshakes->completed, 100u);
  EXPECT_EQ(result.handshakes->resumed, 60u);
  EXPECT_EQ(result.handshakes->early_data, 40u);
  const std::vector<std::pair<std::string, std::uint64_t>> errors{{"wrong_pieces", 4}, {"quic_idle_timeout", 1}};
  EXPECT_EQ(result.errors, errors);
}

TEST(fetch_report, a_run_fails_for_wrong_bodies_or_none) {
  EXPECT_EQ(fetch_failure(some_end()), "");
  fetch_end lossy = some_end();
  lossy.did.failed = 10;
  lossy.did.lost_connections = 1;
  EXPECT_TRUE(has(fetch_failure(lossy), "connections were lost: failed_requests 10, lost_connections 1"));
  EXPECT_EQ(fetch_failure(lossy, true), "") << "told as errors";
  fetch_end wrong = some_end();
  wrong.did.wrong = 1;
  EXPECT_TRUE(has(fetch_failure(wrong), "wrong_pieces 1"));
  fetch_end cut = some_end();
  cut.did.short_bodies = 2;
  EXPECT_TRUE(has(fetch_failure(cut), "short_bodies 2"));
  fetch_end none = some_end();
  none.did.whole = 0;
  none.did.failed = none.did.begun;
  EXPECT_TRUE(has(fetch_failure(none), "no whole body from 198.18.0.1:443: failed_requests 4000"));
}

TEST(fetch_report, says_why_there_was_no_connection) {
  fetch_end end;
  end.asked.target = {base::ip_address::parse("198.18.0.1").value(), 443};
  EXPECT_TRUE(has(fetch_failure(end), "nothing was sent to 198.18.0.1:443"));
  end.did.connections = end.quic.begun = 1;
  EXPECT_TRUE(has(fetch_failure(end), "no QUIC reply from 198.18.0.1:443"));
  const auto because = [&](end_reason reason, bool application, std::uint64_t code, const char* text = "") {
    end.quic.last_loss = loadgen::quic_loss{{reason, application, code}, text};
    return fetch_failure(end);
  };
  EXPECT_TRUE(has(because(end_reason::handshake_timeout, false, 0), "it was asked, and said nothing"));
  EXPECT_TRUE(has(because(end_reason::closed_by_peer, false, 0x178), "TLS alert 120"));
  EXPECT_TRUE(has(because(end_reason::closed_by_peer, true, 0x21), "application error 0x21"));
  EXPECT_TRUE(
      has(because(end_reason::closed_by_us, false, 0x12a, "bad certificate"), "bad certificate (TLS alert 42)"));
  EXPECT_TRUE(has(because(end_reason::version_negotiation, false, 0), "none of our QUIC versions"));
  EXPECT_TRUE(has(because(end_reason::stateless_reset, false, 0), "stateless reset"));
  EXPECT_TRUE(has(because(end_reason::idle_timeout, false, 0), "silent"));
  EXPECT_TRUE(has(because(end_reason::refused, false, 0), "no memory"));
  end.quic.unreachable = 1;
  EXPECT_TRUE(has(fetch_failure(end), "nobody answers ARP"));
  end.quic.unroutable = 1;
  EXPECT_TRUE(has(fetch_failure(end), "give --gateway"));
}

}  // namespace
}  // namespace millrace::app
