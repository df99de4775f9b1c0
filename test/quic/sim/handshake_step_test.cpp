// Handshake steps done elsewhere: later in virtual time, and on a thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "quic/sim/pair.hpp"

using namespace millrace;
using quic::conn::event;
using quic::conn::handshake_step;
using test::ms;
using test::second;
using test::sim_options;
using test::sim_pair;

namespace {

// Keeps steps until the test lets them go.
class held_steps final : public quic::conn::handshake_steps {
 public:
  std::deque<handshake_step*> steps;
  bool takes = true;
  unsigned waited_for = 0;
  [[nodiscard]] bool hand_over(handshake_step& step) noexcept override {
    if (takes) steps.push_back(&step);
    return takes;
  }
  void wait_for(handshake_step& step) noexcept override {
    ++waited_for;
    std::erase(steps, &step);
  }
  void finish_one(test::network& net) {
    handshake_step* step = steps.front();
    steps.pop_front();
    step->run();
    net.server->endpoint->on_step_done(*step, net.now_ns);
  }
};

// A worker, as another lcore would be.
class threaded_steps final : public quic::conn::handshake_steps {
  std::mutex lock_;
  std::condition_variable wakes_;
  std::deque<handshake_step*> todo_, done_;
  handshake_step* running_ = nullptr;
  bool stops_ = false;
  std::thread worker_;

 public:
  threaded_steps() : worker_([this] { work(); }) {}
  ~threaded_steps() override {
    {
      const std::lock_guard hold(lock_);
      stops_ = true;
    }
    wakes_.notify_all();
    worker_.join();
  }
  [[nodiscard]] bool hand_over(handshake_step& step) noexcept override {
    {
      const std::lock_guard hold(lock_);
      todo_.push_back(&step);
    }
    wakes_.notify_all();
    return true;
  }
  void wait_for(handshake_step& step) noexcept override {
    std::unique_lock hold(lock_);
    std::erase(todo_, &step);
    wakes_.wait(hold, [&] { return running_ != &step; });
    std::erase(done_, &step);
  }
  // Waits for the next one that is done; nullptr: there is none to wait for.
  handshake_step* next() {
    std::unique_lock hold(lock_);
    wakes_.wait(hold, [&] { return !done_.empty() || (todo_.empty() && running_ == nullptr); });
    if (done_.empty()) return nullptr;
    handshake_step* step = done_.front();
    done_.pop_front();
    return step;
  }

 private:
  void work() {
    std::unique_lock hold(lock_);
    for (;;) {
      wakes_.wait(hold, [&] { return stops_ || !todo_.empty(); });
      if (stops_) return;
      running_ = todo_.front();
      todo_.pop_front();
      hold.unlock();
      running_->run();
      hold.lock();
      done_.push_back(running_);
      running_ = nullptr;
      wakes_.notify_all();
    }
  }
};

}  // namespace

TEST(handshake_step, that_comes_back_later_completes_the_handshake) {
  held_steps elsewhere;
  sim_pair sim;
  sim.net.server->endpoint->set_steps(&elsewhere);
  sim.client_app.to_ask = {50'000};
  ASSERT_NE(sim.connect(), nullptr);
  sim.net.wait(300 * ms);  // the client has repeated itself meanwhile
  ASSERT_EQ(elsewhere.steps.size(), 1u) << "one step, however often the ClientHello came";
  EXPECT_EQ(sim.at_server(event::established), 0u);
  elsewhere.finish_one(sim.net);
  EXPECT_TRUE(sim.net.run([&] { return sim.client_app.all_done(); }, 10 * second));
  EXPECT_EQ(sim.at_server(event::steps_elsewhere), 1u) << "the rest is cheap, and done at once";
}

TEST(handshake_step, of_a_hello_in_many_pieces_and_out_of_order) {
  held_steps elsewhere;
  sim_options o;
  o.client.transport.max_datagram_bytes = 1200;
  sim_pair sim(o);
  sim.net.up.jitter_ns = 40 * ms;
  sim.net.up.duplicate = 0.3;
  sim.net.server->endpoint->set_steps(&elsewhere);
  sim.client_app.to_ask = {1'000, 1'000};
  ASSERT_NE(sim.connect(), nullptr);
  for (int i = 0; i < 100 && !sim.client_app.all_done(); ++i) {
    sim.net.wait(50 * ms);
    while (!elsewhere.steps.empty()) elsewhere.finish_one(sim.net);
  }
  EXPECT_TRUE(sim.client_app.all_done());
}

TEST(handshake_step, that_nobody_takes_is_done_at_once) {
  held_steps elsewhere;
  elsewhere.takes = false;
  sim_pair sim;
  sim.net.server->endpoint->set_steps(&elsewhere);
  EXPECT_TRUE(sim.fetch({1'000}));
  EXPECT_EQ(sim.at_server(event::steps_elsewhere), 0u);
}

TEST(handshake_step, comes_back_to_a_connection_that_timed_out) {
  held_steps elsewhere;
  sim_options o;
  o.server.transport.handshake_timeout_ns = 2 * second;
  sim_pair sim(o);
  sim.net.server->endpoint->set_steps(&elsewhere);
  ASSERT_NE(sim.connect(), nullptr);
  sim.net.run([&] { return sim.at_server(event::handshake_timeout) != 0; }, 20 * second);
  EXPECT_EQ(sim.at_server(event::handshake_timeout), 1u);
  EXPECT_EQ(sim.net.server->endpoint->connections(), 1u) << "somebody works on it";
  elsewhere.finish_one(sim.net);
  EXPECT_EQ(sim.net.server->endpoint->connections(), 0u);
}

TEST(handshake_step, comes_back_to_a_connection_that_was_closed) {
  held_steps elsewhere;
  sim_pair sim;
  sim.net.server->endpoint->set_steps(&elsewhere);
  ASSERT_NE(sim.connect(), nullptr);
  sim.net.wait(100 * ms);
  ASSERT_EQ(elsewhere.steps.size(), 1u);
  sim.net.server->endpoint->close_all(0, sim.net.now_ns);
  sim.net.wait(20 * ms);
  elsewhere.finish_one(sim.net);
  sim.net.wait(20 * second);
  EXPECT_EQ(sim.net.server->endpoint->connections(), 0u);
  EXPECT_EQ(sim.at_server(event::established), 0u);
}

TEST(handshake_step, is_waited_for_when_the_endpoint_goes) {
  held_steps elsewhere;
  {
    sim_pair sim;
    sim.net.server->endpoint->set_steps(&elsewhere);
    ASSERT_NE(sim.connect(), nullptr);
    sim.net.wait(100 * ms);
    ASSERT_EQ(elsewhere.steps.size(), 1u);
    sim.net.forget_server();
    EXPECT_EQ(elsewhere.waited_for, 1u);
    EXPECT_TRUE(elsewhere.steps.empty());
  }
}

TEST(handshake_step, on_a_thread_of_its_own) {
  threaded_steps elsewhere;
  sim_pair sim;
  sim.net.server->endpoint->set_steps(&elsewhere);
  constexpr unsigned count = 20;
  sim.client_app.to_ask = {1'000};
  for (unsigned i = 0; i < count; ++i) ASSERT_NE(sim.connect(), nullptr);
  for (unsigned i = 0; i < 1'000 && sim.at_server(event::established) < count; ++i) {
    sim.net.wait(1 * ms);
    while (handshake_step* step = elsewhere.next()) sim.net.server->endpoint->on_step_done(*step, sim.net.now_ns);
  }
  EXPECT_EQ(sim.at_server(event::established), count);
  EXPECT_EQ(sim.at_server(event::steps_elsewhere), count);
}
