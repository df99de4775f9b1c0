// test/peers/udp.hpp - kernel UDP sockets for the peers: bursts both ways, ECN, and datagrams lost on purpose.
//
// Shape    send() takes one datagram, or several of one size that the kernel cuts apart (UDP_SEGMENT); receive() hands
// over
//          what has come, one datagram at a time (UDP_GRO bundles are cut apart first).
// Units    sizes are UDP payloads.
// Errors   set-up throws std::runtime_error. A datagram that the kernel does not take is lost, as on any path.
// Source   udp(7), RFC 3168 5 (ECN), RFC 9000 14 (no datagram is fragmented).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace millrace::peers {

using bytes = std::vector<std::uint8_t>;
using byte_view = std::span<const std::uint8_t>;

struct address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] bool is_ip6() const { return storage.ss_family == AF_INET6; }
  [[nodiscard]] std::string text() const;                   // 192.0.2.1:443, [2001:db8::1]:443
  [[nodiscard]] bool operator==(const address&) const;      // family, address and port
  static address of(const sockaddr* from, socklen_t size);  // a copy
};

// Numeric addresses alone: these programs ask no name server.
[[nodiscard]] address parse_address(const std::string& host, std::uint16_t port);
// The address that the kernel would send from.
[[nodiscard]] address local_towards(const address& remote);

// Loses datagrams in both directions, each by itself. One seed, one sequence of losses.
class lossy {
  std::mt19937_64 random_;
  std::uint64_t threshold_;

 public:
  std::uint64_t lost = 0;
  lossy(double percent, std::uint64_t seed);
  [[nodiscard]] bool is_on() const { return threshold_ != 0; }
  [[nodiscard]] bool loses();
};

struct datagram_counters {
  std::uint64_t sent = 0, received = 0;
};

class udp_socket {
  int fd_ = -1;
  address local_;
  lossy* loss_;
  bool segments_;  // the kernel cuts apart
  std::unique_ptr<bytes> in_;
  datagram_counters count_;

  void set_up();
  bool send_now(const address& to, byte_view data, std::size_t segment, std::uint8_t ecn);

 public:
  using sink = std::function<void(const address& from, byte_view datagram, std::uint8_t ecn)>;

  // Bound to `local`; port 0: any. `loss` outlives the socket.
  udp_socket(const address& local, lossy* loss, bool segments);
  ~udp_socket();
  udp_socket(const udp_socket&) = delete;
  udp_socket& operator=(const udp_socket&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] const address& local() const { return local_; }
  [[nodiscard]] const datagram_counters& count() const { return count_; }
  // `data` is datagrams of `segment` bytes, the last may be shorter. Waits while the kernel's queue is full.
  void send(const address& to, byte_view data, std::size_t segment, std::uint8_t ecn);
  // Everything there is, at most some hundred datagrams; never waits.
  void receive(const sink& take);
};

}  // namespace millrace::peers
