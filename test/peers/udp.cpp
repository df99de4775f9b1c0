#include "udp.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/udp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace millrace::peers {
namespace {

constexpr unsigned receive_burst = 16;  // messages a call, each up to 64 KiB of datagrams
constexpr std::size_t message_bytes = 65'536;
constexpr int buffer_bytes = 8 << 20;
constexpr std::uint8_t ecn_mask = 3;

void option(int fd, int level, int name, int value, bool must = true) {
  if (::setsockopt(fd, level, name, &value, sizeof value) != 0 && must)
    throw std::system_error(errno, std::generic_category(), "setsockopt " + std::to_string(name));
}

void put_control(msghdr& message, int level, int type, const void* value, std::size_t size) {
  auto* at = reinterpret_cast<cmsghdr*>(static_cast<std::uint8_t*>(message.msg_control) + message.msg_controllen);
  at->cmsg_level = level;
  at->cmsg_type = type;
  at->cmsg_len = CMSG_LEN(size);
  std::memcpy(CMSG_DATA(at), value, size);
  message.msg_controllen += CMSG_SPACE(size);
}

struct control_facts {
  std::uint8_t ecn = 0;
  std::size_t segment = 0;  // 0: one datagram
};

control_facts read_control(msghdr& message) {
  control_facts f;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
      f.ecn = *CMSG_DATA(c) & ecn_mask;
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
      int tclass = 0;
      std::memcpy(&tclass, CMSG_DATA(c), sizeof tclass);
      f.ecn = static_cast<std::uint8_t>(tclass & ecn_mask);
    } else if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
      int size = 0;
      std::memcpy(&size, CMSG_DATA(c), sizeof size);
      f.segment = static_cast<std::size_t>(std::max(size, 0));
    }
  }
  return f;
}

}  // namespace

std::string address::text() const {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getnameinfo(get(), size, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) !=
      0)
    return "?";
  std::string out = is_ip6() ? "[" : "";
  out += host.data();
  out += is_ip6() ? "]:" : ":";
  return out += port.data();
}

bool address::operator==(const address& other) const {
  if (storage.ss_family != other.storage.ss_family) return false;
  if (is_ip6()) {
    const auto& a = reinterpret_cast<const sockaddr_in6&>(storage);
    const auto& b = reinterpret_cast<const sockaddr_in6&>(other.storage);
    return a.sin6_port == b.sin6_port && std::memcmp(&a.sin6_addr, &b.sin6_addr, sizeof a.sin6_addr) == 0;
  }
  const auto& a = reinterpret_cast<const sockaddr_in&>(storage);
  const auto& b = reinterpret_cast<const sockaddr_in&>(other.storage);
  return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
}

address address::of(const sockaddr* from, socklen_t size) {
  address a;
  a.size = std::min<socklen_t>(size, sizeof a.storage);
  std::memcpy(&a.storage, from, a.size);
  return a;
}

address parse_address(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const std::string bare = host.size() > 1 && host.front() == '[' ? host.substr(1, host.size() - 2) : host;
  if (const int bad = ::getaddrinfo(bare.c_str(), std::to_string(port).c_str(), &hints, &found); bad != 0)
    throw std::runtime_error(host + ": " + ::gai_strerror(bad));
  const address a = address::of(found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  return a;
}

address local_towards(const address& remote) {
  const int fd = ::socket(remote.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  address local;
  local.size = sizeof local.storage;
  const bool known =
      fd >= 0 && ::connect(fd, remote.get(), remote.size) == 0 && ::getsockname(fd, local.get(), &local.size) == 0;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (!known) throw std::system_error(why, std::generic_category(), "no way to " + remote.text());
  if (local.is_ip6()) {
    reinterpret_cast<sockaddr_in6&>(local.storage).sin6_port = 0;
  } else {
    reinterpret_cast<sockaddr_in&>(local.storage).sin_port = 0;
  }
  return local;
}

lossy::lossy(double percent, std::uint64_t seed)
    : random_(seed), threshold_(static_cast<std::uint64_t>(std::clamp(percent, 0.0, 100.0) / 100.0 * 4294967296.0)) {}

bool lossy::loses() {
  if (threshold_ == 0 || (random_() & 0xFFFFFFFF) >= threshold_) return false;
  lost += 1;
  return true;
}

udp_socket::udp_socket(const address& local, lossy* loss, bool segments)
    : local_(local),
      loss_(loss),
      segments_(segments && !loss->is_on()),
      in_(std::make_unique<bytes>(receive_burst * message_bytes)) {
  fd_ = ::socket(local.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "socket");
  try {
    set_up();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

void udp_socket::set_up() {
  const bool ip6 = local_.is_ip6();
  if (ip6) option(fd_, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  // PROBE: never in fragments, and no refusal on the word of an ICMP message.
  option(fd_, ip6 ? IPPROTO_IPV6 : IPPROTO_IP, ip6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
         ip6 ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE);
  option(fd_, ip6 ? IPPROTO_IPV6 : IPPROTO_IP, ip6 ? IPV6_RECVTCLASS : IP_RECVTOS, 1);
  for (const int name : {SO_RCVBUF, SO_RCVBUFFORCE, SO_SNDBUF, SO_SNDBUFFORCE})
    option(fd_, SOL_SOCKET, name, buffer_bytes, false);
  if (segments_) option(fd_, IPPROTO_UDP, UDP_GRO, 1, false);
  if (::bind(fd_, local_.get(), local_.size) != 0)
    throw std::system_error(errno, std::generic_category(), "bind " + local_.text());
  local_.size = sizeof local_.storage;
  if (::getsockname(fd_, local_.get(), &local_.size) != 0)
    throw std::system_error(errno, std::generic_category(), "getsockname");
}

udp_socket::~udp_socket() { ::close(fd_); }

bool udp_socket::send_now(const address& to, byte_view data, std::size_t segment, std::uint8_t ecn) {
  iovec part{const_cast<std::uint8_t*>(data.data()), data.size()};
  alignas(cmsghdr) std::array<std::uint8_t, CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(std::uint16_t))> control{};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to.get());
  message.msg_namelen = to.size;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  const int tos = ecn;
  put_control(message, to.is_ip6() ? IPPROTO_IPV6 : IPPROTO_IP, to.is_ip6() ? IPV6_TCLASS : IP_TOS, &tos, sizeof tos);
  if (data.size() > segment) {
    const auto size = static_cast<std::uint16_t>(segment);
    put_control(message, IPPROTO_UDP, UDP_SEGMENT, &size, sizeof size);
  }
  while (::sendmsg(fd_, &message, 0) < 0) {
    if (errno == EAGAIN || errno == ENOBUFS) {
      pollfd ready{fd_, POLLOUT, 0};
      ::poll(&ready, 1, 1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

void udp_socket::send(const address& to, byte_view data, std::size_t segment, std::uint8_t ecn) {
  count_.sent += (data.size() + segment - 1) / segment;
  if (data.size() > segment && segments_) {
    if (send_now(to, data, segment, ecn)) return;
    // EIO: the interface finishes no checksums. EINVAL: larger than the MTU. Neither is said again.
    if (errno == EIO) segments_ = false;
  }
  for (; !data.empty(); data = data.subspan(std::min(segment, data.size()))) {
    if (loss_->loses()) continue;
    (void)send_now(to, data.first(std::min(segment, data.size())), segment, ecn);
  }
}

void udp_socket::receive(const sink& take) {
  std::array<mmsghdr, receive_burst> messages{};
  std::array<iovec, receive_burst> parts{};
  std::array<address, receive_burst> from{};
  alignas(cmsghdr) std::array<std::array<std::uint8_t, 128>, receive_burst> control{};
  for (unsigned i = 0; i < receive_burst; ++i) {
    parts[i] = {in_->data() + i * message_bytes, message_bytes};
    msghdr& m = messages[i].msg_hdr;
    m.msg_name = from[i].get();
    m.msg_namelen = sizeof from[i].storage;
    m.msg_iov = &parts[i];
    m.msg_iovlen = 1;
    m.msg_control = control[i].data();
    m.msg_controllen = control[i].size();
  }
  const int got = ::recvmmsg(fd_, messages.data(), receive_burst, MSG_DONTWAIT, nullptr);
  for (unsigned i = 0; got > 0 && i < static_cast<unsigned>(got); ++i) {
    const control_facts facts = read_control(messages[i].msg_hdr);
    from[i].size = messages[i].msg_hdr.msg_namelen;
    byte_view data(in_->data() + i * message_bytes, messages[i].msg_len);
    const std::size_t segment = facts.segment == 0 ? std::max<std::size_t>(data.size(), 1) : facts.segment;
    while (!data.empty()) {
      const byte_view one = data.first(std::min(segment, data.size()));
      data = data.subspan(one.size());
      count_.received += 1;
      if (!loss_->loses()) take(from[i], one, facts.ecn);
    }
  }
}

}  // namespace millrace::peers
