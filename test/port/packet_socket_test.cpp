#include "port/packet_socket.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace millrace::port {
namespace {

// In a network namespace of its own, whose loopback interface is up.
class packet_socket : public testing::Test {
 protected:
  int socket_ = -1;
  int loopback_ = 0;  // its number

  void SetUp() override {
    if (::unshare(CLONE_NEWNET) != 0) GTEST_SKIP() << "no network namespace of its own: " << std::strerror(errno);
    socket_ = ::socket(AF_PACKET, SOCK_RAW, 0);
    if (socket_ < 0) GTEST_SKIP() << "no packet socket: " << std::strerror(errno);
    ifreq lo{};
    std::memcpy(lo.ifr_name, "lo", 3);
    ASSERT_EQ(::ioctl(socket_, SIOCGIFFLAGS, &lo), 0);
    lo.ifr_flags = static_cast<short>(lo.ifr_flags | IFF_UP);
    ASSERT_EQ(::ioctl(socket_, SIOCSIFFLAGS, &lo), 0);
    ASSERT_EQ(::ioctl(socket_, SIOCGIFINDEX, &lo), 0);
    loopback_ = lo.ifr_ifindex;
    sockaddr_ll where{};
    where.sll_family = AF_PACKET;
    where.sll_protocol = htons(ETH_P_ALL);
    where.sll_ifindex = loopback_;
    ASSERT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  }
  void TearDown() override {
    if (socket_ >= 0) ::close(socket_);
  }
};

TEST_F(packet_socket, joins_a_fanout_group_that_leaves_fragments_alone) {
  constexpr unsigned flags = PACKET_FANOUT_FLAG_DEFRAG | PACKET_FANOUT_FLAG_ROLLOVER;
  const unsigned asked = 0x1234u | (PACKET_FANOUT_HASH | flags) << 16;  // as the driver asks
  ASSERT_EQ(::setsockopt(socket_, SOL_PACKET, PACKET_FANOUT, &asked, sizeof asked), 0) << std::strerror(errno);
  unsigned has = 0;
  socklen_t size = sizeof has;
  ASSERT_EQ(::getsockopt(socket_, SOL_PACKET, PACKET_FANOUT, &has, &size), 0);
  EXPECT_EQ(has & 0xFFFF, 0x1234u);
  EXPECT_EQ(has >> 16 & 0xFF, unsigned{PACKET_FANOUT_HASH});
  EXPECT_EQ(has >> 16 & PACKET_FANOUT_FLAG_DEFRAG, 0u);
  EXPECT_EQ(has >> 16 & PACKET_FANOUT_FLAG_ROLLOVER, unsigned{PACKET_FANOUT_FLAG_ROLLOVER});
}

TEST_F(packet_socket, reads_the_mtu_of_an_interface) {
  EXPECT_EQ(kernel_mtu(static_cast<unsigned>(loopback_)), 65536u);
  EXPECT_EQ(kernel_mtu(4711), 0u);
}

TEST_F(packet_socket, counts_what_its_ring_had_no_room_for) {
  // A ring of two frames that nobody empties.
  const int ring = ::socket(AF_PACKET, SOCK_RAW, 0);
  ASSERT_GE(ring, 0);
  const int version = TPACKET_V2;
  ASSERT_EQ(::setsockopt(ring, SOL_PACKET, PACKET_VERSION, &version, sizeof version), 0);
  const tpacket_req frames{.tp_block_size = 4096, .tp_block_nr = 1, .tp_frame_size = 2048, .tp_frame_nr = 2};
  ASSERT_EQ(::setsockopt(ring, SOL_PACKET, PACKET_RX_RING, &frames, sizeof frames), 0) << std::strerror(errno);
  sockaddr_ll where{};
  where.sll_family = AF_PACKET;
  where.sll_protocol = htons(ETH_P_ALL);
  where.sll_ifindex = loopback_;
  ASSERT_EQ(::bind(ring, reinterpret_cast<const sockaddr*>(&where), sizeof where), 0);
  const unsigned fanout = 0x4321u | PACKET_FANOUT_HASH << 16;
  ASSERT_EQ(::setsockopt(ring, SOL_PACKET, PACKET_FANOUT, &fanout, sizeof fanout), 0);
  const auto lo = static_cast<unsigned>(loopback_);
  EXPECT_EQ(losses(lo), 0u);

  const int sender = ::socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(::sendto(sender, "x", 1, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to), 1);
  const std::uint64_t lost = losses(lo);
  EXPECT_GE(lost, 8u);            // of ten frames, and what the loopback interface shows besides
  EXPECT_EQ(losses(lo), lost);    // read twice, counted once
  EXPECT_EQ(losses(lo + 1), 0u);  // another interface's are apart
  ::close(sender);
  ::close(ring);
  EXPECT_EQ(losses(lo), lost);  // what was lost stays known
}

TEST(socket_options, go_to_the_kernel_as_they_came) {
  const int any = ::socket(AF_INET, SOCK_DGRAM, 0);
  ASSERT_GE(any, 0);
  const int on = 1;
  EXPECT_EQ(::setsockopt(any, SOL_SOCKET, SO_BROADCAST, &on, sizeof on), 0);
  int is = 0;
  socklen_t size = sizeof is;
  EXPECT_EQ(::getsockopt(any, SOL_SOCKET, SO_BROADCAST, &is, &size), 0);
  EXPECT_EQ(is, 1);
  errno = 0;
  EXPECT_EQ(::setsockopt(-1, SOL_SOCKET, SO_BROADCAST, &on, sizeof on), -1);
  EXPECT_EQ(errno, EBADF);
  ::close(any);
}

TEST(ring_frame, is_read_from_the_arguments_of_the_device) {
  EXPECT_EQ(ring_frame_of(""), 2048u);
  EXPECT_EQ(ring_frame_of("iface=eth0,qpairs=1"), 2048u);
  EXPECT_EQ(ring_frame_of("iface=eth0,framesz=16384,blocksz=65536"), 16384u);
  EXPECT_EQ(ring_frame_of("framesz=4096"), 4096u);
  EXPECT_EQ(ring_frame_of("framesz="), 2048u);
  EXPECT_EQ(ring_frame_of("iface=framesz=1"), 2048u);
}

TEST(ring_frame, is_the_largest_of_all_arguments) {
  using words = std::vector<std::string>;
  EXPECT_EQ(largest_ring_frame(words{"-l", "0,1", "--vdev=net_ring0"}), 0u);
  EXPECT_EQ(largest_ring_frame(words{"--vdev=net_af_packet0,iface=a"}), 2048u);
  EXPECT_EQ(largest_ring_frame(words{"--vdev", "net_af_packet0,iface=a,framesz=4096", "--vdev=net_af_packet1,iface=b"}),
            4096u);
}

TEST(ring_frame, holds_an_mtu_of_1500_by_default) {
  EXPECT_GE(ring_frame_mtu(2048), 1500u);
  EXPECT_GE(ring_frame_mtu(16384), 9000u);
  EXPECT_EQ(ring_frame_mtu(16), 0u);
}

}  // namespace
}  // namespace millrace::port
