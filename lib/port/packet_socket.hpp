// port/packet_socket.hpp - what the driver of packet sockets (net_af_packet) does not tell, or does for us unasked.
//
// Shape    readers of facts; and the program's own setsockopt(), which the driver calls like anybody else: when it
//          joins its sockets to a fanout group it asks the kernel to put IPv4 fragments together first. A datagram of
//          more than a ring frame would then arrive cut, and lies about fragments would never be seen and counted. So
//          that one flag is taken out; everything else goes to the kernel as it came. Fragments of one datagram still
//          come to one queue: the kernel's hash of a fragment is of its addresses alone. The sockets are remembered
//          then, so that losses() can ask the kernel what it had no room for, which the driver never does.
// Units    bytes.
// Limits   64 sockets are remembered; losses of more are not seen.
// Threads  any. Tests  test/port/plan_test.cpp, test/port/packet_socket_test.cpp, test/e2e/serve_link_test.py
// Source   packet(7): PACKET_FANOUT; DPDK 22.11 guides/nics/af_packet.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace millrace::port {

// net_af_packet's framesz among its arguments ("iface=eth0,framesz=4096"), or its default.
[[nodiscard]] std::uint32_t ring_frame_of(std::string_view device_arguments) noexcept;

// The largest among EAL's arguments; 0: they name no packet socket.
[[nodiscard]] std::uint32_t largest_ring_frame(std::span<const std::string> eal_arguments) noexcept;

// The largest IP packet in such a ring frame.
[[nodiscard]] std::uint32_t ring_frame_mtu(std::uint32_t ring_frame_bytes) noexcept;

// The kernel's MTU of an interface; 0: it does not say.
[[nodiscard]] std::uint32_t kernel_mtu(unsigned interface_index) noexcept;

// Frames for this interface that found a socket's ring full, since the sockets were made.
[[nodiscard]] std::uint64_t losses(unsigned interface_index) noexcept;

}  // namespace millrace::port
