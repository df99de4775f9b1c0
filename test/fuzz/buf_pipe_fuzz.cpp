// Any sequence of operations on a pipe and on the chains taken from it, over mbufs of any small size, with the pool
// running out at any point: what can be read is what flat strings say, whatever the segments are. No EAL; each mbuf is
// a heap block of its own, freed when it is given back.
//
// Input    byte 0: data room; byte 1: mbufs; then operations: one byte what, one or two how much.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "buf/limited_reader.hpp"
#include "buf/send_queue.hpp"
#include "support/plain_pool.hpp"

namespace {

using namespace millrace;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string text_of(buf::cursor in) {
  std::string out(in.remaining(), '\0');
  require(in.copy({reinterpret_cast<std::uint8_t*>(out.data()), out.size()}));
  return out;
}

struct piece {
  buf::chain bytes;
  std::string model;
};

struct machine {
  const std::uint8_t* at;
  const std::uint8_t* end;
  test::plain_pool pool;
  buf::pipe pipe;
  buf::send_queue queue;
  std::string committed, advanced, queued;
  std::vector<piece> pieces{6};
  char next_byte = 0;

  machine(const std::uint8_t* input, std::size_t size)
      : at(input + 2),
        end(input + size),
        pool(1 + input[1] % 64u, static_cast<std::uint16_t>(1 + input[0])),
        pipe({.pause_bytes = 200, .resume_bytes = 90, .pause_segments = 20}, pool),
        queue({.high_bytes = 150, .low_bytes = 70}, pool) {}

  unsigned arg() { return at == end ? 0 : *at++; }
  std::size_t up_to(std::size_t most) { return most == 0 ? 0 : (arg() * 256u + arg()) % (most + 1); }
  piece& any() { return pieces[arg() % pieces.size()]; }
  std::string fresh(std::size_t count) {
    std::string out;
    while (out.size() < count) out.push_back(next_byte++);
    return out;
  }
  void commit_model() {
    committed += advanced;
    advanced.clear();
  }
  // A packet of up to three segments, some of them empty; nothing when the pool is.
  buf::packet make_packet(std::string& model) {
    buf::packet whole;
    for (unsigned n = 1 + arg() % 3; n != 0; --n) {
      buf::packet one{pool.alloc()};
      if (!one) return {};
      const std::string text = fresh(up_to(pool.data_room()));
      require(one.append_copy(base::as_bytes(text)));
      model += text;
      if (!whole)
        whole = std::move(one);
      else
        require(whole.append_chain(one));
    }
    return whole;
  }

  void write() {
    std::string text;
    switch (arg() % 5) {
      case 0:
        if (buf::packet whole = make_packet(text)) {
          pipe.append(std::move(whole));
          commit_model();
          committed += text;
        }
        break;
      case 1:
        text = fresh(up_to(600));
        if (pipe.write(base::as_bytes(text)) != buf::flow::exhausted) {
          commit_model();
          committed += text;
        }
        break;
      case 2: {
        const base::byte_span room = pipe.get_span(1 + arg());
        text = fresh(up_to(room.size()));
        std::copy(text.begin(), text.end(), room.begin());
        require(pipe.advance(text.size()));
        advanced += text;
        break;
      }
      case 3:
        pipe.commit();
        commit_model();
        break;
      default: {
        piece& from = any();
        if (pipe.append(std::move(from.bytes)) != buf::flow::exhausted) {
          commit_model();
          committed += from.model;
          from.model.clear();
        }
      }
    }
  }
  void read() {
    const std::size_t count = up_to(committed.size());
    switch (arg() % 4) {
      case 0: {
        piece& to = any();
        require(pipe.take(count, to.bytes));
        to.model = committed.substr(0, count);
        committed.erase(0, count);
        break;
      }
      case 1: {
        const std::size_t examined = count + up_to(committed.size() - count);
        require(pipe.advance_to(count, examined));
        committed.erase(0, count);
        break;
      }
      case 2: {
        buf::limited_reader body{pipe, count};
        require(text_of(body.window()) == committed.substr(0, count));
        require(!body.consume(count + 1) && body.drain() == 0);
        committed.erase(0, count);
        break;
      }
      default:
        require(pipe.poll() != buf::read_status::wait || pipe.state() != buf::flow::paused);
        require(!pipe.consume(committed.size() + 1));
    }
  }
  void change_pieces() {
    piece& one = any();
    piece& two = any();
    const std::size_t cut = up_to(one.model.size());
    const bool apart = &one != &two;
    switch (arg() % 9) {
      case 0:
        if (apart && one.bytes.append(std::move(two.bytes), pool)) {
          one.model += two.model;
          two.model.clear();
        }
        break;
      case 1:
        if (!apart) break;
        require(one.bytes.cut(cut, two.bytes));
        two.model = one.model.substr(0, cut);
        one.model.erase(0, cut);
        break;
      case 2:
        one.bytes.truncate(cut);
        one.model.resize(cut);
        break;
      case 3: {
        const std::size_t count = up_to(one.model.size() - cut);
        if (apart && one.bytes.share(cut, count, two.bytes, pool)) two.model = one.model.substr(cut, count);
        break;
      }
      case 4: {
        std::string text;
        if (buf::packet first = make_packet(text)) {
          one.bytes.prepend(std::move(first));
          one.model.insert(0, text);
        }
        break;
      }
      case 5: {
        buf::packet whole;
        if (!one.bytes.into_packet(whole, pool)) break;
        require(whole.length() == one.model.size() && one.bytes.empty());
        // As a driver frees what it has sent, or back again.
        if (arg() % 2 == 0) {
          rte_pktmbuf_free(whole.release());
          one.model.clear();
        } else {
          one.bytes = buf::chain(std::move(whole));
        }
        break;
      }
      case 6: {
        const base::byte_span room = one.bytes.prepend_in_place(arg() % 8);
        std::fill(room.begin(), room.end(), 'p');
        one.model.insert(0, room.size(), 'p');
        break;
      }
      case 7:
        if (queue.push(std::move(one.bytes)) == buf::push_status::taken) {
          queued += one.model;
          one.model.clear();
        } else if (apart && queue.pop(cut, two.bytes)) {
          two.model = queued.substr(0, cut);
          queued.erase(0, two.bytes.size());
        }
        break;
      default:
        one.bytes.consume(cut);
        one.model.erase(0, cut);
    }
  }
  void check() const {
    require(pipe.size() == committed.size() && text_of(pipe.window()) == committed);
    require(text_of(queue.front().read()) == queued);
    for (const piece& one : pieces)
      require(one.bytes.size() == one.model.size() && text_of(one.bytes.read()) == one.model);
  }
  void run() {
    while (at != end) {
      switch (arg() % 3) {
        case 0:
          write();
          break;
        case 1:
          read();
          break;
        default:
          change_pieces();
      }
      check();
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4096) return 0;
  machine one(data, size);
  one.run();
  return 0;
}
