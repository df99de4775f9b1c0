// SRMP echo over the kernel's UDP sockets on 127.0.0.1: what `millrace -- loopback --workload srmp-echo` does, with the
// kernel's network in the place of ours. The frames, the client's window and checks, and the server's batching are the
// very same code: loadgen::load_session and srmp::datagram_service. Only how datagrams travel differs.
//
// Server   a thread with one socket: recvmmsg of up to a burst, all requests answered, sendmmsg of the replies.
// Client   the main thread with a connected socket a connection, from whatever ports are free (the session's port
// numbers
//          only tell its connections apart): sendmmsg of what a turn said, recvmmsg of what came.
// CPUs     the first two of the process's affinity, one a thread; with one they share it.
// Output   one JSON object on stdout. Exit status: 0; 1 nothing was answered, or not all; 2 unusable arguments.
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "loadgen/load_session.hpp"
#include "srmp/datagram_service.hpp"

namespace {

using namespace millrace;

constexpr unsigned burst = 64;          // datagrams of one recvmmsg or sendmmsg
constexpr std::size_t largest = 9216;   // of a datagram
constexpr int socket_buffer = 8 << 20;  // so that a window fits whatever the kernel charges for a datagram
constexpr int wait_ms = 20;
constexpr std::size_t udp_ip_headers = 28;

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

base::ip_address localhost() { return base::ip_address::parse("127.0.0.1").value(); }

sockaddr_in address_of(std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  a.sin_port = htons(port);
  return a;
}

class udp_socket {
  int fd_;

 public:
  explicit udp_socket(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    if (fd_ < 0) die("socket");
    // As root past the system's limit, else up to it.
    for (const int option : {SO_RCVBUF, SO_RCVBUFFORCE, SO_SNDBUF, SO_SNDBUFFORCE})
      (void)::setsockopt(fd_, SOL_SOCKET, option, &socket_buffer, sizeof socket_buffer);
    const sockaddr_in a = address_of(port);
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) die("bind");
  }
  udp_socket(udp_socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  udp_socket& operator=(udp_socket&&) = delete;
  ~udp_socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] sockaddr_in name() const noexcept {
    sockaddr_in a{};
    socklen_t size = sizeof a;
    if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&a), &size) != 0) die("getsockname");
    return a;
  }
  void connect_to(std::uint16_t port) const {
    const sockaddr_in a = address_of(port);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&a), sizeof a) != 0) die("connect");
  }
};

// Buffers of one recvmmsg or sendmmsg, with a peer's address each.
class mail {
  std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(burst * largest);
  std::array<iovec, burst> rooms_{};
  std::array<sockaddr_in, burst> peers_{};
  std::array<mmsghdr, burst> headers_{};
  unsigned count_ = 0;
  std::uint64_t lost_ = 0;

 public:
  mail() {
    for (unsigned i = 0; i < burst; ++i) {
      headers_[i].msg_hdr.msg_iov = &rooms_[i];
      headers_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  mail(const mail&) = delete;
  mail& operator=(const mail&) = delete;
  [[nodiscard]] unsigned size() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
  [[nodiscard]] base::byte_view at(unsigned i) const noexcept {
    return {bytes_.data() + i * largest, headers_[i].msg_len};
  }
  [[nodiscard]] std::uint16_t port_of(unsigned i) const noexcept { return ntohs(peers_[i].sin_port); }

  unsigned receive(int fd, int flags, bool named) noexcept {
    for (unsigned i = 0; i < burst; ++i) {
      rooms_[i] = {bytes_.data() + i * largest, largest};
      headers_[i].msg_hdr.msg_name = named ? &peers_[i] : nullptr;
      headers_[i].msg_hdr.msg_namelen = named ? sizeof peers_[i] : 0;
    }
    const int got = ::recvmmsg(fd, headers_.data(), burst, flags, nullptr);
    count_ = got > 0 ? static_cast<unsigned>(got) : 0;
    return count_;
  }

  [[nodiscard]] base::byte_span open(int fd) noexcept {
    if (count_ == burst) send(fd);
    return {bytes_.data() + count_ * largest, largest};
  }
  void close(std::size_t size, std::uint16_t port) noexcept {
    rooms_[count_] = {bytes_.data() + count_ * largest, size};
    peers_[count_] = address_of(port);
    headers_[count_].msg_hdr.msg_name = port != 0 ? &peers_[count_] : nullptr;
    headers_[count_].msg_hdr.msg_namelen = port != 0 ? sizeof(sockaddr_in) : 0;
    ++count_;
  }
  void send(int fd) noexcept {
    for (unsigned sent = 0; sent < count_;) {
      const int took = ::sendmmsg(fd, headers_.data() + sent, count_ - sent, 0);
      if (took <= 0) {
        lost_ += count_ - sent;
        break;
      }
      sent += static_cast<unsigned>(took);
    }
    count_ = 0;
  }
};

// The server's way out, as srmp::datagram_service wants it.
class reply_sink {
  int fd_;
  std::uint16_t to_ = 0;
  mail out_;

 public:
  explicit reply_sink(int fd) noexcept : fd_(fd) {}
  void aim(const srmp::conversation& between) noexcept { to_ = between.remote.port; }
  [[nodiscard]] base::byte_span open() noexcept { return out_.open(fd_); }
  void close(std::size_t size) noexcept {
    if (size != 0) out_.close(size, to_);
  }
  void send() noexcept { out_.send(fd_); }
};

void serve(const udp_socket& socket, std::size_t path, const std::atomic<bool>& stop) {
  timeval patience{.tv_sec = 0, .tv_usec = wait_ms * 1000};  // to look at `stop`
  (void)::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const base::endpoint here{localhost(), ntohs(socket.name().sin_port)};
  srmp::echo_handler handler;
  reply_sink sink(socket.fd());
  const auto service = std::make_unique<srmp::datagram_service<reply_sink, srmp::echo_handler>>(
      sink, handler, srmp::service_settings{.batch_bytes = path});
  mail in;
  while (!stop.load(std::memory_order_relaxed)) {
    const unsigned got = in.receive(socket.fd(), MSG_WAITFORONE, true);
    for (unsigned i = 0; i < got; ++i) (void)service->on_datagram({{localhost(), in.port_of(i)}, here, 0}, in.at(i));
    service->flush();
    sink.send();
  }
}

// The client's way out, as loadgen::load_session wants it: a socket a connection.
class socket_way {
  const std::vector<udp_socket>& sockets_;
  std::uint16_t first_port_;
  std::size_t path_;
  std::size_t which_ = 0;
  mail out_;

 public:
  socket_way(const std::vector<udp_socket>& sockets, std::uint16_t first_port, std::size_t path)
      : sockets_(sockets), first_port_(first_port), path_(path) {}
  void aim(std::uint16_t local_port) noexcept {
    flush();
    which_ = static_cast<std::size_t>(local_port - first_port_);
  }
  void flush() noexcept {
    if (out_.size() != 0) out_.send(sockets_[which_].fd());
  }
  [[nodiscard]] bool has_source() const noexcept { return true; }
  [[nodiscard]] base::byte_span open() noexcept { return out_.open(sockets_[which_].fd()); }
  void close(std::size_t size) noexcept {
    if (size != 0) out_.close(size, 0);
  }
  [[nodiscard]] std::size_t max_payload() const noexcept { return path_; }
  [[nodiscard]] unsigned packets(std::size_t) const noexcept { return 1; }
  [[nodiscard]] unsigned room() const noexcept { return 1u << 16; }  // a full mail sends itself
  [[nodiscard]] bool went() const noexcept { return true; }
  [[nodiscard]] std::uint64_t refused() const noexcept { return out_.lost(); }
  [[nodiscard]] std::uint64_t waiting() const noexcept { return 0; }  // for no neighbour: the kernel's business
  [[nodiscard]] std::uint64_t unreachable() const noexcept { return 0; }
  [[nodiscard]] std::uint64_t icmp_errors() const noexcept { return 0; }
};

using session = loadgen::load_session<socket_way>;

void ask(session& load, socket_way& way, const std::vector<udp_socket>& sockets) {
  const loadgen::load_settings& settings = load.settings();
  const auto in = std::make_unique<mail>();
  std::vector<pollfd> waiting;
  for (const udp_socket& s : sockets) waiting.push_back({.fd = s.fd(), .events = POLLIN, .revents = 0});
  load.pump(way, now_ns());
  way.flush();
  while (load.phase() != loadgen::load_phase::finished) {
    if (::poll(waiting.data(), waiting.size(), 1) < 0) die("poll");
    const std::uint64_t now = now_ns();
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if ((waiting[i].revents & POLLIN) == 0) continue;
      const unsigned got = in->receive(waiting[i].fd, MSG_DONTWAIT, false);
      const auto port = static_cast<std::uint16_t>(settings.first_port + i);
      for (unsigned k = 0; k < got; ++k) load.on_datagram(port, settings.target, in->at(k), now);
    }
    load.pump(way, now);
    way.flush();
  }
}

void run_on(std::size_t which) {
  cpu_set_t all;
  if (::sched_getaffinity(0, sizeof all, &all) != 0) return;
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all)) cpus.push_back(cpu);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpus[which % cpus.size()], &one);
  (void)::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
}

int print(const loadgen::load_figures& did, const stats::latency_histogram& latency) {
  const double seconds = did.seconds();
  std::uint64_t errors = 0;
  for (const std::uint64_t n : did.errors) errors += n;
  std::printf(
      "{\"messages_per_s\":%.0f,\"duration_s\":%.6f,\"replies\":%llu,\"errors\":%llu,\"datagrams_sent\":%llu,"
      "\"datagrams_received\":%llu,\"latency_ns\":{\"p50\":%llu,\"p90\":%llu,\"p99\":%llu,\"p999\":%llu,\"max\":%llu}}"
      "\n",
      seconds > 0 ? static_cast<double>(did.replies) / seconds : 0, seconds,
      static_cast<unsigned long long>(did.replies), static_cast<unsigned long long>(errors),
      static_cast<unsigned long long>(did.datagrams_sent), static_cast<unsigned long long>(did.datagrams_received),
      static_cast<unsigned long long>(latency.percentile(50)), static_cast<unsigned long long>(latency.percentile(90)),
      static_cast<unsigned long long>(latency.percentile(99)),
      static_cast<unsigned long long>(latency.percentile(99.9)), static_cast<unsigned long long>(latency.max()));
  return did.replies != 0 && errors == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  loadgen::load_settings settings;
  double duration_s = 5;
  std::size_t mtu = 1500;
  std::uint16_t streams = 64;
  settings.connections = 4;
  settings.timeout_ns = 10'000'000'000;  // a busy machine may take the CPU away for long
  CLI::App options("SRMP echo over the kernel's UDP sockets on 127.0.0.1");
  options.add_option("--connections", settings.connections)->check(CLI::Range(1, 256))->capture_default_str();
  options.add_option("--streams", streams, "requests in flight of one")
      ->check(CLI::Range(1, 255))
      ->capture_default_str();
  options.add_option("--size", settings.size, "payload bytes")->check(CLI::Range(0, 8192))->capture_default_str();
  options.add_option("--mtu", mtu)->check(CLI::Range(576, 9000))->capture_default_str();
  options.add_option("--duration", duration_s, "seconds")->capture_default_str();
  options.add_flag("--fill", settings.fill, "fill datagrams; else one message each");
  try {
    options.parse(argc, argv);
  } catch (const CLI::ParseError& refused) {
    return options.exit(refused) == 0 ? 0 : 2;
  }
  const std::size_t path = mtu - udp_ip_headers;
  const udp_socket server(0);
  settings.target = {localhost(), ntohs(server.name().sin_port)};
  settings.source = localhost();
  settings.window = streams;
  settings.duration_ns = static_cast<std::uint64_t>(duration_s * 1e9);
  if (auto sound = loadgen::check(settings); !sound) {
    std::fprintf(stderr, "%s\n", sound.error().what.c_str());
    return 2;
  }
  std::vector<udp_socket> sockets;
  for (std::uint16_t i = 0; i < settings.connections; ++i) {
    sockets.emplace_back(std::uint16_t{0});
    sockets.back().connect_to(settings.target.port);
  }
  const auto load = session::make(settings);
  if (!load) die("memory");
  const auto way = std::make_unique<socket_way>(sockets, settings.first_port, path);
  std::atomic<bool> stop{false};
  std::thread answers([&] {
    run_on(1);
    serve(server, path, stop);
  });
  run_on(0);
  ask(*load, *way, sockets);
  stop.store(true);
  answers.join();
  return print(load->figures(), load->latency());
}
