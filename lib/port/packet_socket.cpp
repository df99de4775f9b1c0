#include "port/packet_socket.hpp"

#include <linux/if.h>
#include <linux/if_packet.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>

namespace {

struct member {
  std::atomic<int> socket{-1};
  std::atomic<unsigned> interface{0};
  std::atomic<std::uint64_t> lost{0};  // the kernel's own count begins anew whenever it is read
};
std::array<member, 64> members;
std::atomic<unsigned> member_count{0};

// 0: it is no packet socket.
unsigned interface_of(int socket) noexcept {
  sockaddr_ll bound{};
  socklen_t size = sizeof bound;
  const bool is =
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) == 0 && bound.sll_family == AF_PACKET;
  return is ? static_cast<unsigned>(bound.sll_ifindex) : 0;
}

void remember(int socket) noexcept {
  const unsigned at = member_count.load();
  if (at == members.size()) return;
  members[at].interface = interface_of(socket);
  members[at].socket = socket;
  member_count.store(at + 1);  // drivers make their sockets on one thread
}

}  // namespace

// Before libc's in the order of lookup, for this program and the drivers it loads.
extern "C" __attribute__((visibility("default"))) int setsockopt(int socket, int level, int name, const void* value,
                                                                 socklen_t size) noexcept {
  std::uint32_t fanout = 0;  // id, type << 16, flags << 24
  if (level == SOL_PACKET && name == PACKET_FANOUT && size == sizeof fanout) {
    std::memcpy(&fanout, value, sizeof fanout);
    fanout &= ~(std::uint32_t{PACKET_FANOUT_FLAG_DEFRAG} << 16);
    value = &fanout;
  }
  const int answer = static_cast<int>(::syscall(SYS_setsockopt, socket, level, name, value, size));
  if (answer == 0 && value == &fanout) remember(socket);
  return answer;
}

namespace millrace::port {

std::uint32_t ring_frame_of(std::string_view device_arguments) noexcept {
  constexpr std::string_view key = "framesz=";
  std::uint32_t bytes = 2048;
  for (std::size_t at = 0; at < device_arguments.size();) {
    const std::size_t end = std::min(device_arguments.find(',', at), device_arguments.size());
    const std::string_view one = device_arguments.substr(at, end - at);
    if (one.starts_with(key)) std::from_chars(one.data() + key.size(), one.data() + one.size(), bytes);
    at = end + 1;
  }
  return bytes;
}

std::uint32_t largest_ring_frame(std::span<const std::string> eal_arguments) noexcept {
  std::uint32_t largest = 0;
  for (const std::string& word : eal_arguments)
    if (word.find("net_af_packet") != std::string::npos) largest = std::max(largest, ring_frame_of(word));
  return largest;
}

std::uint32_t ring_frame_mtu(std::uint32_t ring_frame_bytes) noexcept {
  constexpr std::uint32_t ring_header = TPACKET2_HDRLEN;
  constexpr std::uint32_t alignment = 16;        // of the network header
  constexpr std::uint32_t link_header = 14 + 4;  // Ethernet with a tag
  return ring_frame_bytes - std::min(ring_frame_bytes, ring_header + alignment + link_header);
}

std::uint32_t kernel_mtu(unsigned interface_index) noexcept {
  const int any = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) return 0;
  ifreq request{};
  request.ifr_ifindex = static_cast<int>(interface_index);
  const bool told =
      ::ioctl(any, SIOCGIFNAME, &request) == 0 && ::ioctl(any, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0;
  ::close(any);
  return told ? static_cast<std::uint32_t>(request.ifr_mtu) : 0;
}

std::uint64_t losses(unsigned interface_index) noexcept {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < member_count.load(); ++i) {
    member& one = members[i];
    if (one.interface != interface_index) continue;
    tpacket_stats now{};
    socklen_t size = sizeof now;
    // A driver that has stopped has closed it, and the number may be somebody else's by now.
    if (interface_of(one.socket) == interface_index &&
        ::getsockopt(one.socket, SOL_PACKET, PACKET_STATISTICS, &now, &size) == 0)
      one.lost += now.tp_drops;
    sum += one.lost;
  }
  return sum;
}

}  // namespace millrace::port
