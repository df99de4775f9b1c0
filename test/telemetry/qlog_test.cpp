// Connections in virtual time, their traces written as files and read again.
#include "telemetry/qlog.hpp"

#include <dirent.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>

#include "quic/sim/pair.hpp"

namespace millrace::telemetry {
namespace {

using quic::conn::trace_kind;
using quic::conn::trace_queue;
using quic::conn::trace_record;

struct scratch_directory {
  std::string path = "/tmp/millrace-qlog-XXXXXX";
  scratch_directory() { EXPECT_NE(::mkdtemp(path.data()), nullptr); }
  ~scratch_directory() {
    for (const std::string& name : names()) ::unlink((path + "/" + name).c_str());
    ::rmdir(path.c_str());
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    DIR* d = ::opendir(path.c_str());
    if (d == nullptr) return all;
    while (const dirent* e = ::readdir(d))
      if (e->d_name[0] != '.') all.emplace_back(e->d_name);
    ::closedir(d);
    return all;
  }
  // The JSON texts of a file, without their separators.
  [[nodiscard]] std::vector<std::string> read(const std::string& name) const {
    std::ifstream file(path + "/" + name);
    std::stringstream whole;
    whole << file.rdbuf();
    std::vector<std::string> lines;
    for (std::string line; std::getline(whole, line);) {
      EXPECT_EQ(line[0], '\x1e');
      lines.push_back(line.substr(1));
    }
    return lines;
  }
};

std::unique_ptr<qlog_writer> writer_in(const scratch_directory& d, std::uint64_t most_bytes = 1u << 20,
                                       std::uint32_t most_files = 10) {
  return std::move(
      qlog_writer::make({.directory = d.path, .most_files = most_files, .most_file_bytes = most_bytes}).value());
}

void drain(qlog_writer& w, trace_queue& q) {
  while (w.write_from(q) != 0) {
  }
}

std::size_t count(const std::vector<std::string>& lines, const std::string& what) {
  std::size_t n = 0;
  for (const std::string& line : lines) n += line.find(what) != std::string::npos ? 1u : 0u;
  return n;
}

trace_record begun(std::uint8_t first, std::uint64_t time_ns = 0) {
  trace_record r{.time_ns = time_ns, .kind = trace_kind::begun, .id_size = 8, .number = 1};
  r.id[0] = first;
  return r;
}

TEST(qlog, tells_of_a_connection_from_its_beginning_to_its_end) {
  const scratch_directory directory;
  const auto queue = trace_queue::make(1u << 16, 8);
  const auto writer = writer_in(directory);
  std::uint64_t sent = 0, received = 0;
  {
    test::sim_options o;
    test::sim_pair sim(o);
    sim.net.server->endpoint->trace_to(queue.get());
    sim.net.up.loss = sim.net.down.loss = 0.02;
    ASSERT_TRUE(sim.fetch({300'000}));
    sent = sim.at_server(quic::conn::event::packets_sent);
    received = sim.at_server(quic::conn::event::packets_received);
    sim.connection->close(7, sim.net.now_ns);
    sim.net.client->endpoint->touch(*sim.connection);
    sim.net.run([&] { return sim.net.server->endpoint->connections() == 0; }, 60 * test::second);
  }
  drain(*writer, *queue);
  writer->flush();
  EXPECT_EQ(queue->dropped(), 0u);
  EXPECT_EQ(queue->open(), 0u);
  ASSERT_EQ(directory.names().size(), 1u);
  const auto lines = directory.read(directory.names().front());
  EXPECT_NE(directory.names().front().find("_server.sqlog"), std::string::npos);
  ASSERT_GT(lines.size(), 100u);
  EXPECT_NE(lines[0].find(R"("qlog_version":"0.3","qlog_format":"JSON-SEQ")"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find(R"("vantage_point":{"type":"server"})"), std::string::npos);
  EXPECT_NE(lines[1].find("connectivity:connection_started"), std::string::npos);
  EXPECT_GE(count(lines, "transport:packet_sent"), sent);
  EXPECT_GE(count(lines, "transport:packet_received"), received);
  EXPECT_GT(count(lines, "recovery:packet_lost"), 0u);
  EXPECT_GT(count(lines, R"("congestion_window":)"), 0u);
  EXPECT_GT(count(lines, R"("frame_type":"stream")"), 100u);
  EXPECT_GT(count(lines, R"("frame_type":"ack")"), 0u);
  EXPECT_EQ(count(lines, R"("new":"handshake_confirmed")"), 1u);
  EXPECT_EQ(count(lines, "connectivity:connection_closed"), 1u);
  EXPECT_NE(lines.back().find(R"("owner":"remote","application_code":7)"), std::string::npos) << lines.back();
  EXPECT_EQ(writer->counts().events.get(), lines.size());
}

TEST(qlog, nothing_is_traced_unless_somebody_reads) {
  test::sim_pair sim;
  ASSERT_TRUE(sim.fetch({1'000}));
  EXPECT_GT(sim.connection->statistics().packets_sent, 0u);
}

TEST(qlog, a_full_queue_drops_and_counts_but_not_an_end) {
  const auto queue = trace_queue::make(64, 8);
  const std::uint64_t one = queue->begin();
  ASSERT_NE(one, 0u);
  trace_record r = begun(1);
  r.connection = one;
  queue->push(r);
  r.kind = trace_kind::packet_sent;
  for (int i = 0; i < 1'000; ++i) queue->push(r);
  EXPECT_GT(queue->dropped(), 900u);
  r.kind = trace_kind::ended;
  queue->push(r);
  std::vector<trace_kind> kinds;
  queue->take(1'000, [&](const trace_record& seen) { kinds.push_back(seen.kind); });
  EXPECT_EQ(kinds.size() + queue->dropped(), 1'002u);
  EXPECT_EQ(kinds.front(), trace_kind::begun);
  EXPECT_EQ(kinds.back(), trace_kind::ended);
}

TEST(qlog, as_many_connections_as_may_be_are_traced_at_a_time) {
  const auto queue = trace_queue::make(1024, 2);
  EXPECT_NE(queue->begin(), 0u);
  EXPECT_NE(queue->begin(), 0u);
  EXPECT_EQ(queue->begin(), 0u);
  EXPECT_EQ(queue->untraced(), 1u);
  queue->end();
  EXPECT_NE(queue->begin(), 0u);
}

TEST(qlog, files_and_their_sizes_are_bounded) {
  const scratch_directory directory;
  const auto queue = trace_queue::make(1u << 14, 100);
  const auto writer = writer_in(directory, 8'192, 3);
  for (std::uint8_t i = 0; i < 5; ++i) {
    trace_record r = begun(i);
    r.connection = queue->begin();
    queue->push(r);
    r.kind = trace_kind::packet_sent;
    r.frames = ~std::uint64_t{0} >> 15;  // every type there is
    for (int n = 0; n < 1'000; ++n) queue->push(r);
    r.kind = trace_kind::ended;
    queue->push(r);
    drain(*writer, *queue);
  }
  EXPECT_EQ(directory.names().size(), 3u);
  EXPECT_EQ(writer->counts().unwritten.get(), 2u);
  EXPECT_EQ(writer->counts().cut.get(), 3u);
  for (const std::string& name : directory.names()) {
    const auto lines = directory.read(name);
    EXPECT_EQ(count(lines, "loglevel:warning"), 1u);
    EXPECT_NE(lines.back().find("connection_closed"), std::string::npos);
  }
}

TEST(qlog, two_connections_of_one_name_have_two_files) {
  const scratch_directory directory;
  const auto queue = trace_queue::make(1024, 100);
  const auto writer = writer_in(directory);
  for (int i = 0; i < 2; ++i) {
    trace_record r = begun(9);
    r.connection = queue->begin();
    queue->push(r);
  }
  drain(*writer, *queue);
  const auto names = directory.names();
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
            (std::set<std::string>{"0900000000000000_server.sqlog", "0900000000000000_server-1.sqlog"}));
}

TEST(qlog, a_directory_that_cannot_be_written_is_an_error_at_once) {
  const auto missing = qlog_writer::make({.directory = "/nowhere/at/all"});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().what.find("/nowhere/at/all"), std::string::npos);
  EXPECT_FALSE(qlog_writer::make({.directory = "/dev/null"}));
}

}  // namespace
}  // namespace millrace::telemetry
