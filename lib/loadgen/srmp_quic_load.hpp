// loadgen/srmp_quic_load.hpp - the client of N QUIC connections to one SRMP server (ALPN srmp), as a service of a loop.
//
// Shape    make(settings, pool); open_on(loop); the loop does the rest, as with srmp_load, whose settings, messages and
//          figures it shares. Each QUIC connection carries `streams` bidirectional streams, and each of those is one
//          SRMP connection with a window of its own. It begins with the first handshake; connections and streams that
//          end are begun again while there is something to ask.
// Checks   every reply: sequence, size and content, by the stamp of its request.
// Latency  ns from the turn that asked, in open loop from the time it was meant to be asked, to the turn that received
//          the reply. Handshakes are not in it.
// Figures  datagrams_sent and _received are those of QUIC streams' readings and fillings, not of UDP; knocks are 0.
//          Requests of a stream or connection that ended are time-outs.
// Owner    the object; the loop it is opened on must not outlive it, nor it the pool. Memory is taken in make(): some 8
//          KB a stream, and packets of the pool for what is not acknowledged.
// Errors   make(): what of the settings cannot work. Everything else is counted.
// Threads  one lcore; is_done(), figures() and latency() from anywhere.
// Tests    test/loadgen/srmp_quic_load_test.cpp
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "loadgen/load_messages.hpp"
#include "loadgen/pacer.hpp"
#include "loadgen/quic_client.hpp"
#include "loadgen/reply_judge.hpp"
#include "loadgen/srmp_quic_settings.hpp"
#include "pipeline/srmp_intake.hpp"
#include "quic/conn/chain_source.hpp"
#include "srmp/stream_batch.hpp"

namespace millrace::pipeline {
class service_loop;
}

namespace millrace::loadgen {

class srmp_quic_load final : public pipeline::udp_service, private quic::conn::application {
  struct passkey {};

 public:
  [[nodiscard]] static base::result<std::unique_ptr<srmp_quic_load>> make(const srmp_quic_settings& settings,
                                                                          mem::packet_pool& pool);
  srmp_quic_load(passkey, const srmp_quic_settings& settings, mem::packet_pool& pool);
  ~srmp_quic_load() override;

  // Before the loop runs.
  base::outcome open_on(pipeline::service_loop& loop);

  void on_datagrams(std::span<const pipeline::udp_arrival> arrivals, pipeline::service_turn& turn) noexcept override;
  [[nodiscard]] std::uint64_t due_ns() const noexcept override;
  void on_time(pipeline::service_turn& turn) noexcept override;
  void on_stop(pipeline::service_turn& turn) noexcept override;
  [[nodiscard]] bool is_finished() const noexcept override { return phase() == load_phase::finished; }

  // Everything was sent, and answered or given up; or the target never answered.
  [[nodiscard]] bool is_done() const noexcept { return is_finished(); }
  [[nodiscard]] load_figures figures() const noexcept;
  [[nodiscard]] const stats::latency_histogram& latency() const noexcept { return latency_; }
  [[nodiscard]] const srmp_quic_settings& settings() const noexcept { return settings_; }
  [[nodiscard]] std::uint64_t connections_begun() const noexcept { return connections_begun_.get(); }
  [[nodiscard]] std::uint64_t connections_lost() const noexcept { return connections_lost_.get(); }
  [[nodiscard]] std::uint64_t handshakes() const noexcept { return handshakes_.get(); }
  [[nodiscard]] std::optional<quic_loss> last_loss() const noexcept { return client_->last_loss(); }
  [[nodiscard]] const quic::conn::counters& events() const noexcept { return endpoint().events(); }
  [[nodiscard]] const quic::endpoint::quic_endpoint& endpoint() const noexcept { return client_->endpoint(); }

 private:
  struct caller {  // one of settings_.load.connections
    quic::conn::connection* connection = nullptr;
    std::uint64_t next_try_ns = 0;
    std::uint16_t which = 0;
    bool closing = false;  // by us
  };
  struct line {  // one SRMP connection
    srmp::datagram_client client;
    struct ends {
      quic::conn::chain_source out;
      pipeline::srmp_intake in;
      ends(const buf::mbuf_source& blocks, pipeline::intake_store& store) noexcept : out(blocks), in(store) {}
    };
    std::optional<ends> io;  // while there is a stream
    quic::conn::live_stream* stream = nullptr;
    caller* of;
    line(const load_settings& s, caller& whose) noexcept : client(s.target, s.peers), of(&whose) {}
  };

  // --- application ---
  void on_established(quic::conn::connection& c) noexcept override;
  void on_streams_available(quic::conn::connection& c) noexcept override;
  void on_readable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_writable(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_stream_closed(quic::conn::connection& c, quic::conn::live_stream& s) noexcept override;
  void on_closed(quic::conn::connection& c, const quic::conn::connection_end& end) noexcept override;

  [[nodiscard]] load_phase phase() const noexcept { return static_cast<load_phase>(count_.phase.get()); }
  void enter(load_phase next) noexcept { count_.phase.set(static_cast<std::uint64_t>(next)); }
  [[nodiscard]] bool is_open_loop() const noexcept { return settings_.load.rate != 0; }
  [[nodiscard]] bool may_send() const noexcept {
    return phase() == load_phase::running && now_ns_ < end_ns_ &&
           (settings_.load.requests == 0 || sent_ < settings_.load.requests);
  }
  [[nodiscard]] bool has_room(const line& l) const noexcept {
    return l.io && l.io->out.is_open() && (messages_.is_one_way() || l.client.in_flight() < settings_.load.window);
  }
  void step(pipeline::service_turn& turn) noexcept;
  [[nodiscard]] bool has_said_all() const noexcept;
  void connect(caller& who, pipeline::service_turn& turn) noexcept;
  bool open_streams(caller& who) noexcept;
  void fill(line& l, std::uint64_t most) noexcept;
  void send_due() noexcept;
  [[nodiscard]] bool ask_one(srmp::stream_batch& out, line& l, load_stamp stamp) noexcept;
  void settle(std::uint64_t requests) noexcept {
    in_flight_ -= requests;
    count_.in_flight.set(in_flight_);
  }
  void lose(line& l) noexcept;
  void sweep() noexcept;

  srmp_quic_settings settings_;
  load_messages messages_;
  mem::packet_pool& pool_;
  std::unique_ptr<pipeline::intake_store> store_;
  std::vector<std::uint8_t> spill_;
  std::vector<caller> callers_;
  std::deque<line> lines_;  // those of one connection follow each other
  std::unique_ptr<quic_client> client_;
  pacer pacer_;
  bool closing_ = false;
  std::size_t next_line_ = 0;  // open loop
  std::uint64_t now_ns_ = 0;
  std::uint64_t zero_ns_ = 0;  // of the stamps' time; 0: not begun
  std::uint64_t end_ns_ = UINT64_MAX;
  std::uint64_t patience_until_ns_ = 0;
  std::uint64_t next_look_ns_ = 0;
  std::uint64_t next_sweep_ns_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t in_flight_ = 0;
  std::uint32_t open_ = 0;  // connections
  load_counters count_;
  stats::counter connections_begun_, connections_lost_, handshakes_;
  stats::latency_histogram latency_;
};

}  // namespace millrace::loadgen
