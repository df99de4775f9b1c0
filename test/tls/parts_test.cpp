// The parts a handshake stands on: gate, stores, clock, key log, replays, contexts.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "support/hostile.hpp"
#include "tls/handshake_pair.hpp"
#include "tls/remembered_session.hpp"
#include "tls/wall_clock.hpp"

using namespace millrace;
using namespace millrace::test;
using tls::encryption_level;
using tls::endpoint_role;

namespace {

std::string scratch(const char* name) { return "/tmp/millrace_tls_" + std::to_string(::getpid()) + '_' + name; }

std::string read_whole(const std::string& path) {
  std::string out(65536, '\0');
  std::FILE* file = std::fopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  if (file == nullptr) return {};
  out.resize(std::fread(out.data(), 1, out.size(), file));
  std::fclose(file);
  return out;
}

}  // namespace

TEST(message_gate, knows_where_whole_messages_end_however_they_are_cut) {
  const bytes flight = {8, 0, 0, 2, 1, 2, 11, 0, 0, 0, 20, 0, 0, 1, 9};
  for (std::size_t piece = 1; piece <= flight.size(); ++piece) {
    tls::message_gate gate(endpoint_role::client);
    gate.enter(encryption_level::handshake);
    for (std::size_t at = 0; at < flight.size(); at += piece) {
      const std::size_t size = std::min(piece, flight.size() - at);
      EXPECT_EQ(gate.walk({flight.data() + at, size}, 100), tls::quic_no_error);
    }
    EXPECT_EQ(gate.whole(), flight.size());
    EXPECT_TRUE(gate.at_boundary());
    EXPECT_EQ(gate.walk(bytes{4}, 100), tls::crypto_error(tls::alert::unexpected_message)) << "behind Finished";
  }
}

TEST(message_gate, lets_every_role_and_level_have_its_messages_only) {
  const auto takes = [](endpoint_role role, encryption_level level) {
    std::string out;
    for (unsigned type = 0; type < 256; ++type) {
      tls::message_gate gate(role);
      gate.enter(level);
      const bytes first = {static_cast<std::uint8_t>(type)};
      if (gate.walk(first, 100) == tls::quic_no_error) out += std::to_string(type) + ' ';
    }
    return out;
  };
  EXPECT_EQ(takes(endpoint_role::server, encryption_level::initial), "1 ");
  EXPECT_EQ(takes(endpoint_role::client, encryption_level::initial), "2 ");
  EXPECT_EQ(takes(endpoint_role::server, encryption_level::handshake), "20 ");
  EXPECT_EQ(takes(endpoint_role::server, encryption_level::application), "");
  EXPECT_EQ(takes(endpoint_role::client, encryption_level::application), "4 ");
  EXPECT_EQ(takes(endpoint_role::client, encryption_level::early), "");
}

TEST(byte_store, grows_drops_and_clears) {
  tls::byte_store store;
  EXPECT_TRUE(store.append(base::byte_view{}));
  EXPECT_EQ(store.capacity(), 0u);
  bytes expected;
  for (unsigned i = 0; i < 1000; ++i) {
    EXPECT_TRUE(store.append(static_cast<std::uint8_t>(i)));
    expected.push_back(static_cast<std::uint8_t>(i));
  }
  EXPECT_EQ(bytes(store.view().begin(), store.view().end()), expected);
  store.drop(990);
  EXPECT_EQ(bytes(store.view().begin(), store.view().end()), bytes(expected.end() - 10, expected.end()));
  store.drop(11);
  EXPECT_TRUE(store.empty());
  store.clear();
  EXPECT_EQ(store.capacity(), 0u);
}

TEST(wall_clock, shows_the_scope_of_the_thread_and_the_systems_time_outside) {
  const std::int64_t before = tls::scoped_wall_time_ns();
  EXPECT_GT(before, std::int64_t{1'600'000'000} * pair_second_ns);
  {
    const tls::wall_time_scope outer(5);
    EXPECT_EQ(tls::scoped_wall_time_ns(), 5);
    {
      const tls::wall_time_scope inner(7);
      EXPECT_EQ(tls::scoped_wall_time_ns(), 7);
    }
    EXPECT_EQ(tls::scoped_wall_time_ns(), 5);
    std::thread([&] { EXPECT_GE(tls::scoped_wall_time_ns(), before); }).join();
  }
  EXPECT_GE(tls::scoped_wall_time_ns(), before);
  EXPECT_TRUE(tls::wall_time_is_complete()) << "this GnuTLS shows milliseconds of its own";
}

TEST(remembered_session, comes_back_as_it_was_and_refuses_everything_else) {
  tls::byte_store store;
  const bytes ticket(300, 3);
  ASSERT_TRUE(tls::emit(store, {true, "h3", client_parameters, ticket}));
  tls::remembered_session out;
  ASSERT_TRUE(tls::parse(store.view(), out));
  EXPECT_TRUE(out.early_data);
  EXPECT_EQ(out.protocol, "h3");
  EXPECT_EQ(bytes(out.ticket.begin(), out.ticket.end()), ticket);
  EXPECT_EQ(bytes(out.transport_parameters.begin(), out.transport_parameters.end()), client_parameters);
  for_every_truncation(store.view(), [&](base::byte_view cut) { EXPECT_FALSE(tls::parse(cut, out)); });
  for_every_byte_change(store.view(), [&](base::byte_view changed) { static_cast<void>(tls::parse(changed, out)); });
  EXPECT_FALSE(tls::emit(store, {true, "h3", {}, bytes(70000, 1)}));
  EXPECT_TRUE(store.empty());
}

TEST(anti_replay, takes_each_hello_once_within_its_window) {
  tls::anti_replay table({}, pair_epoch_ns);
  ASSERT_TRUE(table.is_ready());
  using verdict = tls::anti_replay::verdict;
  for (std::uint8_t i = 0; i < 200; ++i) EXPECT_EQ(table.add(bytes(32, i), pair_epoch_ns), verdict::fresh);
  for (std::uint8_t i = 0; i < 200; ++i) {
    EXPECT_EQ(table.add(bytes(32, i), pair_epoch_ns + 10 * pair_second_ns), verdict::replayed);
  }
  EXPECT_EQ(table.add(bytes(32, 1), pair_epoch_ns + 60 * pair_second_ns), verdict::fresh) << "GnuTLS judges its age";
  EXPECT_EQ(table.accepted(), 201u);
  EXPECT_EQ(table.replayed(), 200u);
}

TEST(anti_replay, refuses_what_it_has_no_room_to_remember_and_recovers) {
  tls::anti_replay table({64, 10000}, pair_epoch_ns);
  unsigned fresh = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    const bytes binder = {static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i & 0xff), 7};
    fresh += table.add(binder, pair_epoch_ns) == tls::anti_replay::verdict::fresh;
  }
  EXPECT_LE(fresh, 64u);
  EXPECT_GE(fresh, 56u);
  EXPECT_EQ(table.refused_full(), 1000u - fresh);
  EXPECT_EQ(table.add(bytes{1}, pair_epoch_ns + 30 * pair_second_ns), tls::anti_replay::verdict::fresh);
}

TEST(anti_replay, never_lets_two_threads_take_the_same_hello) {
  tls::anti_replay table({}, pair_epoch_ns);
  std::array<std::atomic<int>, 2000> taken{};
  const auto work = [&] {
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const bytes binder = {static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i & 0xff)};
      if (table.add(binder, pair_epoch_ns) == tls::anti_replay::verdict::fresh) ++taken[i];
    }
  };
  std::thread one(work);
  std::thread other(work);
  one.join();
  other.join();
  for (const auto& count : taken) EXPECT_LE(count.load(), 1);
}

TEST(key_log, writes_nss_lines_that_hold_the_secrets) {
  tls::key_log_queue queue(16384);
  ASSERT_TRUE(queue.has_room());
  auto settings = server_defaults();
  settings.key_log = queue.sink();
  handshake_pair pair(make_client(client_defaults()), make_server(settings));
  pair.run();
  pair.expect_complete();
  const std::string path = scratch("keys");
  {
    auto file = tls::key_log_file::open(path);
    ASSERT_TRUE(file) << file.error().what;
    EXPECT_TRUE(file.value().write_from(queue));
  }
  const std::string text = read_whole(path);
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ::unlink(path.c_str());
  const base::byte_view hello = pair.client.tls->output(encryption_level::initial);
  const std::string random = to_hex(hello.subspan(6, 32));
  const auto line = [&](const char* label, encryption_level level, tls::direction way) {
    return std::string(label) + ' ' + random + ' ' + to_hex(pair.server.secret(level, way)->view()) + '\n';
  };
  using tls::direction;
  EXPECT_NE(text.find(line("CLIENT_HANDSHAKE_TRAFFIC_SECRET", encryption_level::handshake, direction::read)),
            std::string::npos);
  EXPECT_NE(text.find(line("SERVER_HANDSHAKE_TRAFFIC_SECRET", encryption_level::handshake, direction::write)),
            std::string::npos);
  EXPECT_NE(text.find(line("CLIENT_TRAFFIC_SECRET_0", encryption_level::application, direction::read)),
            std::string::npos);
  EXPECT_NE(text.find(line("SERVER_TRAFFIC_SECRET_0", encryption_level::application, direction::write)),
            std::string::npos);
  EXPECT_EQ(queue.dropped(), 0u);
}

TEST(key_log, names_every_secret_there_is) {
  tls::key_log_queue queue(65536);
  auto settings = server_defaults();
  settings.early_data = std::make_shared<tls::anti_replay>(tls::anti_replay_limits{}, pair_epoch_ns - pair_second_ns);
  const auto server = make_server(settings);
  auto with_log = client_defaults();
  with_log.key_log = queue.sink();
  handshake_pair first(make_client(client_defaults()), server);
  first.run();
  const bytes session = first.session();
  handshake_pair pair(make_client(with_log), server);
  pair.now_ns += pair_second_ns;
  pair.run(session);
  pair.expect_complete();
  ASSERT_EQ(pair.client.tls->early(), tls::early_data::accepted);
  std::string text(65536, '\0');
  text.resize(queue.drain(text.data(), text.size()));
  for (const char* label :
       {"CLIENT_EARLY_TRAFFIC_SECRET ", "CLIENT_HANDSHAKE_TRAFFIC_SECRET ", "SERVER_HANDSHAKE_TRAFFIC_SECRET ",
        "CLIENT_TRAFFIC_SECRET_0 ", "SERVER_TRAFFIC_SECRET_0 ", "EXPORTER_SECRET "}) {
    EXPECT_NE(('\n' + text).find('\n' + std::string(label)), std::string::npos) << label;
  }
}

TEST(key_log, drops_and_counts_lines_that_find_no_room_and_wraps) {
  tls::key_log_queue queue(4096);
  const std::string line(100, 'x');
  for (int i = 0; i < 50; ++i) queue.push(line);
  EXPECT_EQ(queue.dropped(), 50u - 4096 / 101);
  std::string out(4096, '\0');
  for (int round = 0; round < 200; ++round) {
    const std::size_t size = queue.drain(out.data(), out.size());
    EXPECT_EQ(size % 101, 0u);
    queue.push(line);
    EXPECT_EQ(queue.drain(out.data(), 50), 0u) << "whole lines only";
  }
  EXPECT_FALSE(tls::key_log_file::open("/nowhere/at/all"));
  EXPECT_EQ(tls::format_key_log_line(std::string(300, 'L'), {}, {}, out.data()), 0u);
}

TEST(key_log, keeps_lines_of_several_threads_whole) {
  tls::key_log_queue queue(1 << 20);
  const auto push = [&](char letter) {
    for (int i = 0; i < 2000; ++i) queue.push(std::string(static_cast<std::size_t>(1 + i % 100), letter));
  };
  std::thread one(push, 'a');
  std::thread other(push, 'b');
  one.join();
  other.join();
  std::string text(1 << 20, '\0');
  text.resize(queue.drain(text.data(), text.size()));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4000);
  EXPECT_EQ(text.find("ab"), std::string::npos);
  EXPECT_EQ(text.find("ba"), std::string::npos);
  EXPECT_EQ(queue.dropped(), 0u);
}

TEST(key_log, takes_its_path_from_the_environment) {
  ::setenv("SSLKEYLOGFILE", "/tmp/some/file", 1);
  EXPECT_EQ(tls::key_log_file::path_of_environment(), "/tmp/some/file");
  ::unsetenv("SSLKEYLOGFILE");
  EXPECT_EQ(tls::key_log_file::path_of_environment(), "");
}

TEST(context, refuses_settings_it_cannot_serve) {
  const auto server = [](auto change) {
    auto s = server_defaults();
    change(s);
    return static_cast<bool>(tls::server_context::make(s));
  };
  EXPECT_TRUE(server([](auto&) {}));
  EXPECT_FALSE(server([](auto& s) { s.credentials = nullptr; }));
  EXPECT_FALSE(server([](auto& s) { s.protocols.clear(); }));
  EXPECT_FALSE(server([](auto& s) { s.protocols = {{"", ""}}; }));
  EXPECT_FALSE(server([](auto& s) { s.protocols = {{std::string(32, 'x'), ""}}; }));
  EXPECT_FALSE(server([](auto& s) { s.protocols.assign(9, {"h3", ""}); }));
  EXPECT_FALSE(server([](auto& s) { s.tickets = 5; }));
  EXPECT_FALSE(server([](auto& s) { s.ticket_lifetime_s = 0; }));
  EXPECT_FALSE(server([](auto& s) { s.ticket_lifetime_s = 604801; }));
  EXPECT_FALSE(server([](auto& s) { s.ticket_secret = "short"; }));
  EXPECT_FALSE(server([](auto& s) { s.offered.suites.clear(); }));
  EXPECT_FALSE(server([](auto& s) { s.offered.groups = {tls::group::none}; }));
  auto client = client_defaults();
  EXPECT_TRUE(tls::client_context::make(client));
  client.key_shares = 3;
  EXPECT_FALSE(tls::client_context::make(client));
  client = client_defaults();
  client.trust = nullptr;
  EXPECT_FALSE(tls::client_context::make(client));
}

TEST(context, derives_a_ticket_key_of_its_own_for_every_protocol_and_context) {
  auto settings = server_defaults();
  settings.protocols = {{"h3", "a"}, {"h3x", ""}, {"h3", "b"}, {"hq", "a"}};
  const auto context = make_server(settings);
  for (std::size_t i = 0; i < 4; ++i) {
    const base::byte_view one = context->ticket_key(i);
    for (std::size_t j = 0; j < i; ++j) {
      const base::byte_view other = context->ticket_key(j);
      EXPECT_FALSE(std::equal(one.begin(), one.end(), other.begin())) << i << j;
    }
  }
}
