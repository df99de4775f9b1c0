// Every packet of the corpus' encapsulations beside what TShark 4.0.17 makes of it (pcap/encap/*/EXPECT.json).
//
// TShark and decode() are held to the same reading of stack, addresses, ports and VLAN IDs, with these rules:
// - TShark goes on into applications and control protocols: its stack counts up to the first name that is not ours.
// - TShark puts fragments together and shows the whole in the last one: for a fragment only its IP header is compared.
// - Where decode() stops at a defect, TShark may name the header that failed (it lists a header before it reads it), or
//   not name a tunnel header that carries nothing; it may not go deeper.
// - Where TShark says "malformed" inside our layers, decode() must have a defect.
// What is read differently on purpose stands in `exceptions`; one that is no longer needed fails too.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "json/reader.hpp"
#include "net/wire/capture.hpp"
#include "net/wire/frames.hpp"
#include "support/corpus.hpp"

namespace millrace::net::wire {
namespace {

using test::byte_list;

struct packet_key {
  std::string_view file;
  unsigned index;  // from 0
  auto operator<=>(const packet_key&) const = default;
};

const std::map<packet_key, std::string_view> exceptions = {
    {{"06_geneve_invalid_version.pcap", 0}, "version 1 does not exist (RFC 8926 3.4); TShark reads it as version 0"},
    {{"14_ipv4_option_length_zero_malformed.pcap", 0},
     "an option's length counts itself (RFC 791 3.1); TShark goes on"},
    {{"16_ipv4_option_length_past_ihl_malformed.pcap", 0}, "an option beyond its header; TShark goes on"},
    {{"17_gre_version1_pptp_like_unsupported.pcap", 0}, "PPTP's GRE is not looked into"},
    {{"17_vxlan_udp_port_and_header_matrix.pcap", 1}, "8472, the port of Linux, is VXLAN here and nothing to TShark"},
    {{"17_vxlan_udp_port_and_header_matrix.pcap", 2}, "4789 as source port alone is no VXLAN (RFC 7348 5)"},
    {{"17_vxlan_udp_port_and_header_matrix.pcap", 3}, "the I flag is not set (RFC 7348 5); TShark goes on"},
    {{"22_gtpu_udp_port_direction_matrix.pcap", 0}, "2152 as source port alone is no GTP-U (TS 29.281 4.4.2)"},
    {{"33_pppoe_same_session_id_supported_and_unsupported_code.pcap", 1},
     "a session packet's code is 0 (RFC 2516 6); TShark goes on"},
};

struct expectation {
  std::string stack_text;          // as TShark has it
  std::vector<std::string> stack;  // names that are ours
  bool applications = false;       // the stack went on
  std::vector<std::string> ip4, ip6, udp, tcp;
  std::vector<unsigned> vlan;
  bool malformed = false;
};

// One layer as TShark names it; empty for what it has no name for.
std::string_view tshark_name(layer_kind kind) {
  switch (kind) {
    case layer_kind::ethernet:
      return "eth";
    case layer_kind::sll:
    case layer_kind::sll2:
      return "sll";
    case layer_kind::null_loopback:
      return "null";
    case layer_kind::ppp:
      return "ppp";
    case layer_kind::vlan:
    case layer_kind::qinq:
      return "vlan";
    case layer_kind::mpls:
      return "mpls";
    case layer_kind::pppoe_session:
      return "pppoes";
    case layer_kind::pppoe_discovery:
      return "pppoed";
    case layer_kind::arp:
      return "arp";
    case layer_kind::ipv4:
      return "ip";
    case layer_kind::ipv6:
      return "ipv6";
    case layer_kind::ipv6_extension:
      return "ipv6.extension";
    case layer_kind::icmp:
      return "icmp";
    case layer_kind::icmpv6:
      return "icmpv6";
    case layer_kind::igmp:
      return "igmp";
    case layer_kind::gre:
      return "gre";
    case layer_kind::vxlan:
      return "vxlan";
    case layer_kind::geneve:
      return "geneve";
    case layer_kind::gtpu:
      return "gtp";
    case layer_kind::udp:
      return "udp";
    case layer_kind::tcp:
      return "tcp";
    case layer_kind::llc:
      return "llc";
    case layer_kind::other:
      return "";
  }
  return "";
}

// TShark has one name for a label stack and two layers for an IGMP message.
void add_collapsed(std::vector<std::string>& stack, std::string_view name) {
  const bool collapses = name == "mpls" || name == "igmp";
  if (!name.empty() && !(collapses && !stack.empty() && stack.back() == name)) stack.emplace_back(name);
}

void read_stack(std::string_view text, expectation& out) {
  static const std::set<std::string_view> known = {
      "eth",  "sll",  "null", "ppp",   "vlan",   "mpls", "pppoes", "pppoed", "arp",    "ip",  "ipv6",
      "icmp", "igmp", "gre",  "vxlan", "geneve", "gtp",  "udp",    "tcp",    "icmpv6", "llc", "ipv6.extension"};
  while (!text.empty()) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    std::string_view name = text.substr(0, colon);
    text.remove_prefix(std::min(colon + 1, text.size()));
    if (name == "ethertype" || name == "data") continue;
    if (name == "ieee8021ad") name = "vlan";
    if (name.starts_with("ipv6.")) name = "ipv6.extension";
    if (!known.contains(name)) {
      out.applications = true;
      return;
    }
    add_collapsed(out.stack, name);
  }
}

// EXPECT.json: {"tool": "...", "files": {"NAME": [{"stack": "...", "ip4": ["..."], "vlan": [1], "malformed": true}]}}.
class expectation_reader final : public json::handler {
  int objects_ = 0;
  std::string file_;
  std::string key_;

  static constexpr int inside_files = 2;
  static constexpr int inside_packet = 3;

  expectation& packet() { return files[file_].back(); }

 public:
  std::map<std::string, std::vector<expectation>> files;

  bool on_begin_object() noexcept override {
    if (++objects_ == inside_packet) files[file_].emplace_back();
    return true;
  }
  bool on_end_object() noexcept override {
    --objects_;
    return true;
  }
  bool on_key(std::string_view name) noexcept override {
    if (objects_ == inside_files) file_ = name;
    if (objects_ == inside_packet) key_ = name;
    return true;
  }
  bool on_string(std::string_view text) noexcept override {
    if (objects_ != inside_packet) return true;
    if (key_ == "stack") {
      packet().stack_text = text;
      read_stack(text, packet());
    }
    if (key_ == "ip4") packet().ip4.emplace_back(text);
    if (key_ == "ip6") packet().ip6.emplace_back(text);
    if (key_ == "udp") packet().udp.emplace_back(text);
    if (key_ == "tcp") packet().tcp.emplace_back(text);
    return true;
  }
  bool on_integer(std::int64_t value) noexcept override {
    if (objects_ == inside_packet && key_ == "vlan") packet().vlan.push_back(static_cast<unsigned>(value));
    return true;
  }
  bool on_bool(bool value) noexcept override {
    if (objects_ == inside_packet && key_ == "malformed") packet().malformed = value;
    return true;
  }
};

std::string join_names(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) out += ':';
    out += name;
  }
  return out;
}

bool starts_with(const std::vector<std::string>& whole, const std::vector<std::string>& part) {
  return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

// Up to the innermost IP header and its extension headers.
std::vector<std::string> up_to_ip(std::vector<std::string> stack) {
  while (!stack.empty() && !stack.back().starts_with("ip")) stack.pop_back();
  return stack;
}

std::string compare_stack(const decoded& ours, const expectation& theirs) {
  std::vector<std::string> stack;
  for (const layer& l : ours.layers.view()) add_collapsed(stack, tshark_name(l.kind));
  const std::string both = join_names(stack) + " (" + std::string(to_string(ours.why)) + "), TShark " +
                           join_names(theirs.stack) + (theirs.malformed ? " (malformed)" : "");
  if (ours.fragment) return starts_with(theirs.stack, up_to_ip(stack)) ? "" : "fragment: " + both;
  if (ours.why == defect::none) {
    if (stack != theirs.stack) return "stack: " + both;
    return theirs.malformed && !theirs.applications ? "no defect found: " + both : "";
  }
  const bool one_more = starts_with(theirs.stack, stack) && theirs.stack.size() <= stack.size() + 1;
  const bool one_less = starts_with(stack, theirs.stack) && stack.size() <= theirs.stack.size() + 1;
  return one_more || one_less ? "" : "stops elsewhere: " + both;
}

// Of the `count` headers of a kind that we noted, the last one's text must stand at its place; without defect or
// fragment there are no more.
std::string compare_last(std::size_t count, const std::string& last, const std::vector<std::string>& theirs, bool all,
                         std::string_view what) {
  if (count > theirs.size()) return std::string(what) + ": TShark has fewer";
  if (all && count != theirs.size()) return std::string(what) + ": TShark has more";
  if (count != 0 && theirs[count - 1] != last) return std::string(what) + ": " + last + ", TShark " + theirs[count - 1];
  return "";
}

std::string compare_vlans(const decoded& ours, const expectation& theirs) {
  const std::string& stack_text = theirs.stack_text;
  // TShark's list leaves out the IDs of 802.1ad tags: the names of the tags in its stack say which these are.
  std::vector<unsigned> ids;
  std::size_t tag = 0;
  std::vector<std::string> names;
  for (std::size_t at = 0; at < stack_text.size();) {
    const std::size_t colon = std::min(stack_text.find(':', at), stack_text.size());
    const std::string name = stack_text.substr(at, colon - at);
    if (name == "vlan" || name == "ieee8021ad") names.push_back(name);
    at = colon + 1;
  }
  for (const layer& l : ours.layers.view()) {
    if (l.kind != layer_kind::vlan && l.kind != layer_kind::qinq) continue;
    if (tag >= names.size()) return "vlan: TShark has fewer tags";
    if (names[tag++] == "vlan") ids.push_back(l.detail);
  }
  if (ids.size() > theirs.vlan.size() || !std::equal(ids.begin(), ids.end(), theirs.vlan.begin())) return "vlan IDs";
  return ours.why == defect::none && ids.size() != theirs.vlan.size() ? "vlan: TShark has more" : "";
}

std::string compare(const decoded& ours, const expectation& theirs) {
  if (std::string why = compare_stack(ours, theirs); !why.empty()) return why;
  if (std::string why = compare_vlans(ours, theirs); !why.empty()) return why;

  std::map<layer_kind, std::size_t> count;
  layer_kind ip = layer_kind::other;
  layer_kind ports = layer_kind::other;
  for (const layer& l : ours.layers.view()) {
    ++count[l.kind];
    if (l.kind == layer_kind::ipv4 || l.kind == layer_kind::ipv6) ip = l.kind, ports = layer_kind::other;
    if (l.kind == layer_kind::udp || l.kind == layer_kind::tcp) ports = l.kind;
  }
  const std::string addresses = test::to_text(ours.src) + " > " + test::to_text(ours.dst);
  const std::string port_text = std::to_string(ours.src_port) + " > " + std::to_string(ours.dst_port);
  const bool all = ours.why == defect::none && !ours.fragment;
  // Only the innermost header's text is ours to compare; of the other kind the number alone.
  const auto check = [&](layer_kind kind, layer_kind innermost, const std::string& text,
                         const std::vector<std::string>& list, std::string_view what) {
    if (ours.fragment && (kind == layer_kind::udp || kind == layer_kind::tcp)) return std::string();
    const std::size_t n = count[kind];
    const std::string& last = kind == innermost || n == 0 || n > list.size() ? text : list[n - 1];
    return compare_last(n, last, list, all, what);
  };
  for (std::string why : {check(layer_kind::ipv4, ip, addresses, theirs.ip4, "ip4"),
                          check(layer_kind::ipv6, ip, addresses, theirs.ip6, "ip6"),
                          check(layer_kind::udp, ports, port_text, theirs.udp, "udp"),
                          check(layer_kind::tcp, ports, port_text, theirs.tcp, "tcp")})
    if (!why.empty()) return why;
  return "";
}

void compare_file(const std::filesystem::path& path, const std::vector<expectation>& packets,
                  std::set<packet_key>& needed) {
  static std::set<std::string> names;  // keys outlive this call
  const std::string& name = *names.insert(path.filename().string()).first;
  const byte_list file = millrace::test::read_file(path);
  const auto reader = std::make_unique<capture_reader>(file);
  unsigned index = 0;
  for (; reader->next() == capture_event::record; ++index) {
    ASSERT_LT(index, packets.size()) << name;
    const capture_record& record = reader->record();
    decoded ours = test::soiled();
    static_cast<void>(decode(record.data, from_linktype_number(record.link), ours));
    if (record.link == 1) static_cast<void>(test::read_ethernet(record.data));  // decode_fast() agrees
    const std::string difference = compare(ours, packets[index]);
    const packet_key key{name, index};
    if (exceptions.contains(key)) {
      needed.insert(key);
      EXPECT_FALSE(difference.empty()) << name << " packet " << index << ": the exception is no longer needed";
    } else {
      EXPECT_EQ(difference, "") << name << " packet " << index << "\n" << test::facts(ours);
    }
  }
  EXPECT_EQ(index, packets.size()) << name;
}

TEST(decode_corpus, reads_encapsulations_as_tshark_does) {
  MILLRACE_NEEDS_CORPUS();
  std::set<packet_key> needed;
  std::size_t files = 0;
  for (const auto& folder : std::filesystem::directory_iterator(millrace::test::corpus() / "pcap" / "encap")) {
    const byte_list text = millrace::test::read_file(folder.path() / "EXPECT.json");
    const json::read_limits limits{.max_bytes = 1024 * 1024};
    std::vector<std::byte> scratch(json::reader::scratch_size(limits));
    expectation_reader expected;
    ASSERT_TRUE(json::reader(limits, scratch).read(text, expected)) << folder.path();
    for (const auto& [name, packets] : expected.files) {
      compare_file(folder.path() / name, packets, needed);
      ++files;
    }
  }
  EXPECT_GT(files, 150u);
  EXPECT_EQ(needed.size(), exceptions.size()) << "an exception names a packet that is not there";
}

}  // namespace
}  // namespace millrace::net::wire
