// rpc/service.hpp - calls in, replies out: the handler that an SRMP server hands its requests to.
//
// Shape    make() with a table of methods; then it is the handler of an srmp::datagram_service, which a loop feeds:
//              srmp::datagram_service server(sink, *service, settings);
//              server.on_datagram({remote, local, cookie}, bytes); ... server.flush();
//          Results are written where they are sent from. push() lays a message into the same batch.
// Rules    a payload that cannot be read, and a name that is not callable, get no reply. An unknown name gets the error
//          404, a call that needs a login 401 with an empty message, a failed one its code and a message. A one-way
//          call never gets one. A reply's name is the call's, as the caller spells it, cut to 127 bytes.
// Owner    methods' objects and the table outlive the service. Memory: JSON scratch of max_argument_bytes, taken at
//          make(); nothing later.
// Limits   service_limits.
// Errors   make(): nullptr when there is no memory. All else is a reply or a counter.
// Threads  one service a lcore; counters may be read from anywhere.
// Source   the remoting sheet, 4. Tests  test/rpc/service_test.cpp (vectors R1-R20), test/fuzz/rpc_service_fuzz.cpp
//          Bench  bench/rpc/service_bench.cpp
#pragma once

#include <array>
#include <memory>

#include "rpc/method_table.hpp"
#include "srmp/datagram_server.hpp"

namespace millrace::rpc {

struct service_limits {
  std::uint32_t max_json_bytes = 64 * 1024;  // of arguments that a method reads as JSON
  std::uint32_t max_json_depth = 32;
  std::uint32_t max_items = 1024;  // of one stream: a call must not keep the loop
};

struct service_counters {
  stats::counter calls;         // that reached a method
  stats::counter one_ways;      // of them
  stats::counter malformed;     // payloads that cannot be read: no reply
  stats::counter bad_names;     // not callable: no reply
  stats::counter unknown;       // 404, and one-way calls of unknown methods
  stats::counter unauthorized;  // 401, and one-way calls likewise
  stats::counter failed;        // methods that answered with an error
  stats::counter items;         // of streams
  stats::counter streams_cut;   // streams whose end could not be sent
};

// Whether a call of a method that needs a login may go on.
using authorize_hook = bool (*)(void* self, const call& c) noexcept;

class service {
  const method_table* table_;
  service_limits limits_;
  mem::region json_memory_;
  json::reader reader_;
  authorize_hook authorize_ = nullptr;
  void* authorize_self_ = nullptr;
  caller from_;
  service_counters count_;
  std::array<char, call::scratch_size> scratch_;

  enum class verdict : std::uint8_t { call, unknown, unauthorized };

  service(const method_table& table, const service_limits& limits, mem::region memory) noexcept;
  [[nodiscard]] bool read(const srmp::wire::frame& f, wire::payload& out) noexcept;
  [[nodiscard]] verdict judge(const method* found, const call& c) noexcept;
  [[nodiscard]] std::string_view not_found_message(std::string_view name) noexcept;
  void note(const call& c) noexcept;

  // What a reply to `asked` holds besides its data: name, length, for errors a code.
  [[nodiscard]] static std::string_view reply_name(const wire::payload& asked) noexcept {
    return asked.name.substr(0, wire::max_name_size);
  }

  template <class Batch>
  struct stream_end {
    srmp::responder<Batch>& answer;
    wire::payload_writer& out;
    std::string_view name;
    service_counters& count;

    static base::byte_span send(void* self, std::size_t size) noexcept {
      auto& s = *static_cast<stream_end*>(self);
      if (!s.answer.reply(s.out.finish(size))) return {};
      s.count.items.add(1);
      const base::byte_span room = s.answer.claim_any();
      if (room.data() == nullptr) return {};
      s.out = wire::payload_writer(room, s.name, wire::form::plain);
      return s.out.data_room();
    }
  };

  template <class Batch>
  void send_error(srmp::responder<Batch>& answer, std::string_view name, std::int32_t code,
                  std::string_view message) noexcept {
    const std::size_t size = wire::encoded_size(name.size(), wire::form::error, true, message.size());
    const base::byte_span room = answer.claim(size);
    if (room.data() == nullptr) return answer.give_up();
    const wire::payload_writer out(room, name, wire::form::error, code);
    if (!message.empty()) std::memcpy(out.data_room().data(), message.data(), message.size());
    (void)answer.error(out.finish(message.size()), srmp::wire::data_kind::packet);
  }

  // Room for the payload of a result of `m`; null data when there is none.
  template <class Batch>
  [[nodiscard]] static base::byte_span claim(const method& m, const wire::payload& asked, std::string_view name,
                                             srmp::responder<Batch>& answer) noexcept {
    const std::size_t bound = m.result_within_arguments ? asked.data.size() : m.max_result;
    if (bound < any_size) {
      const base::byte_span room = answer.claim(wire::encoded_size(name.size(), wire::form::plain, true, bound));
      if (room.data() != nullptr) [[likely]]
        return room;  // else the bound is above what a datagram holds: the result itself need not be
    }
    return answer.claim_any();
  }

  template <class Batch>
  void run(const method& m, call& c, const wire::payload& asked, srmp::responder<Batch>& answer) noexcept {
    const std::string_view name = reply_name(asked);
    const base::byte_span room = claim(m, asked, name, answer);
    wire::payload_writer out(room, name, wire::form::plain);
    if (!out.fits()) return answer.give_up();  // the method has not run: nothing is done that nobody hears of
    stream_end<Batch> stream{answer, out, name, count_};
    c.room_ = out.data_room();
    c.send_ = stream_end<Batch>::send;
    c.send_to_ = &stream;
    c.max_items_ = limits_.max_items;
    m.handler(m.self, c);
    note(c);
    switch (c.kind_) {
      case answer_kind::data:
        (void)answer.reply(out.finish(c.size_));
        return;
      case answer_kind::nothing:
        (void)answer.reply(out.finish_without_data());
        return;
      case answer_kind::stream:
        if (c.room_.data() == nullptr || !answer.reply(out.finish_without_data())) count_.streams_cut.add(1);
        return;
      case answer_kind::error:
        send_error(answer, name, c.code_, c.message_);
        return;
    }
  }

 public:
  // nullptr when there is no memory.
  [[nodiscard]] static std::unique_ptr<service> make(const method_table& table, const service_limits& limits = {});
  service(const service&) = delete;
  service& operator=(const service&) = delete;

  void set_authorize(authorize_hook hook, void* self) noexcept {
    authorize_ = hook;
    authorize_self_ = self;
  }

  // Whose datagrams come next.
  void begin(const caller& from) noexcept { from_ = from; }

  // --- srmp::serve_datagram() calls these ---
  template <class Batch>
  void on_request(const srmp::wire::frame& f, srmp::responder<Batch>& answer) noexcept {
    wire::payload asked;
    if (!read(f, asked)) return;
    call c(asked, from_, reader_, scratch_);
    const method* found = table_->find(asked.name);
    switch (judge(found, c)) {
      case verdict::call:
        return run(*found, c, asked, answer);
      case verdict::unknown:
        return send_error(answer, reply_name(asked), code::not_found, not_found_message(reply_name(asked)));
      case verdict::unauthorized:
        return send_error(answer, reply_name(asked), code::unauthorized, {});
    }
  }
  void on_one_way(const srmp::wire::frame& f) noexcept;
  // On a stream: a request longer than what a method can be given as one run. `front` is what came first of its
  // payload, large_front_bytes of it or all; the rest is dropped by the caller. Answered with the error 500.
  static constexpr std::size_t large_front_bytes = 256;
  template <class Batch>
  void on_large_request(base::byte_view front, srmp::responder<Batch>& answer) noexcept {
    const std::string_view name = wire::name_at_front(front);
    if (!wire::is_callable(name)) {
      count_.malformed.add(1);
      return;
    }
    count_.failed.add(1);
    send_error(answer, name.substr(0, wire::max_name_size), code::failed, "the call is too large");
  }

  [[nodiscard]] const service_counters& counters() const noexcept { return count_; }
};

// A push: a one-way message to somebody who listens. False when no datagram was free, or it fits none.
template <class Batch>
[[nodiscard]] bool push(Batch& out, srmp::wire::sequence_counter& numbers, std::string_view name,
                        base::byte_view data) noexcept {
  const std::size_t size = wire::encoded_size(name.size(), wire::form::plain, !data.empty(), data.size());
  const base::byte_span room = out.claim(size);
  const std::size_t written = room.data() == nullptr ? 0 : wire::emit(room, name, data);
  constexpr std::uint8_t flags = srmp::wire::make_flags(srmp::wire::frame_kind::one_way, srmp::wire::data_kind::packet);
  return written != 0 && out.commit(flags, numbers.next(), written);
}

}  // namespace millrace::rpc
