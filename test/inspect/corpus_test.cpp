// Every capture of the corpus against its .expect.json: versions, SNI, ALPN, first IDs and long-header counts of each
// UDP flow; gQUIC versions and names; and against what the captures' makers say themselves.
//
// A fact is one of ten of one corpus flow. A flow is the sum over our connections of one address pair. Facts that the
// corpus' own notes call a guess or no traffic are listed in corpus_exceptions.hpp as `not_a_fact`, all others where we
// differ as `differs`, each by name and with its reason; an exception that is no longer needed fails the test as a new
// disagreement does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/hex.hpp"
#include "inspect/analysis.hpp"
#include "inspect/corpus_exceptions.hpp"
#include "inspect/json_object.hpp"
#include "net/wire/capture.hpp"
#include "support/corpus.hpp"
#include "support/json_tree.hpp"

namespace millrace::inspect::test {
namespace {

namespace fs = std::filesystem;
using names = std::vector<std::string>;
using millrace::test::json_tree;

std::string text_of(const base::endpoint& e) {
  std::array<char, base::endpoint::max_text_size> room;
  return {room.data(), e.format_to(room)};
}

// "ADDRESS port N" as tshark's expectations have it, or two texts.
std::string endpoint_text(const std::string& address, const std::string& port) {
  const auto parsed = base::ip_address::parse(address);
  EXPECT_TRUE(parsed) << address;
  return text_of({parsed.value_or(base::ip_address{}), static_cast<std::uint16_t>(std::stoul(port))});
}
std::string endpoint_text(const std::string& tshark) {
  const std::size_t at = tshark.rfind(" port ");
  return endpoint_text(tshark.substr(0, at), tshark.substr(at + 6));
}

std::string version_text(std::uint32_t v) {
  std::array<char, 11> room;
  std::snprintf(room.data(), room.size(), "0x%08x", v);
  return room.data();
}

void add_unique(names& to, const std::string& name) {
  if (std::ranges::find(to, name) == to.end()) to.push_back(name);
}

// What we say of one address pair.
struct pair_facts {
  names versions;
  names sni;
  names alpn;
  std::string dcid = "-";
  std::string scid = "-";
  packet_counts packets;
  bool is_gquic = false;
  names ja4;
};

struct analysed {
  std::map<std::pair<std::string, std::string>, pair_facts> pairs;  // client, server
  std::map<std::set<std::string>, names> gquic_versions;            // by the two ends
  std::map<std::set<std::string>, names> gquic_names;
  std::size_t quic_connections = 0;
  std::vector<connection> connections;
};

void add(analysed& all, const connection& c) {
  const std::string client = text_of(c.client);
  const std::string server = text_of(c.server);
  if (c.is_gquic) {
    names& versions = all.gquic_versions[{client, server}];
    const auto label = [](std::uint32_t v) {
      std::array<char, 16> room;
      return std::string(version_name(v, room));
    };
    for (const std::uint32_t v : c.versions) add_unique(versions, label(v));
    for (const std::uint32_t v : c.offered) add_unique(versions, label(v));
    if (c.facts.has_sni) add_unique(all.gquic_names[{client, server}], sni_of(c));
    return;
  }
  ++all.quic_connections;
  all.connections.push_back(c);
  pair_facts& p = all.pairs[{client, server}];
  for (const std::uint32_t v : c.versions) add_unique(p.versions, version_text(v));
  if (c.facts.has_sni) add_unique(p.sni, sni_of(c));
  c.facts.for_each_alpn([&](std::string_view name) { add_unique(p.alpn, std::string(name)); });
  if (c.has_initial && p.dcid == "-") {
    p.dcid = hex_of(c.dcid);
    p.scid = hex_of(c.scid);
  }
  if (c.facts.has_ja4) p.ja4.emplace_back(c.facts.ja4.data(), c.facts.ja4.size());
  p.packets.initial += c.packets.initial;
  p.packets.zero_rtt += c.packets.zero_rtt;
  p.packets.handshake += c.packets.handshake;
  p.packets.retry += c.packets.retry;
  p.packets.version_negotiation += c.packets.version_negotiation;
}

analysed analyse(const fs::path& capture) {
  analyzer_options options = analysis::small();
  options.caps.max_flows = 4096;
  options.caps.max_hellos = 256;
  options.caps.hello_blocks = 512;
  analysis a(options);
  const byte_list file = millrace::test::read_file(capture);
  const auto reader = std::make_unique<net::wire::capture_reader>(file);
  for (auto event = reader->next(); event != net::wire::capture_event::end; event = reader->next()) {
    if (event != net::wire::capture_event::record) continue;
    const net::wire::capture_record& r = reader->record();
    a.under_test.on_packet(r.data, net::wire::from_linktype_number(r.link), r.ts_ns, r.original_length);
  }
  a.under_test.finish();
  a.expect_conservation();
  analysed all;
  // Of two connections on one address pair the earlier gives the first Initial: they are reported in that order.
  std::ranges::stable_sort(a.told.connections, {}, &connection::first_ns);
  for (const connection& c : a.told.connections) add(all, c);
  return all;
}

json_tree load(const fs::path& path) {
  const byte_list bytes = millrace::test::read_file(path);
  return json_tree::parse(base::as_text(bytes));
}

names list_of(const json_tree& list) {
  names out;
  for (const json_tree& item : list.items()) out.push_back(item.text());
  return out;
}

std::string joined(names list) {
  std::ranges::sort(list);
  std::string out;
  for (const std::string& name : list) out += (out.empty() ? "" : ",") + name;
  return out;
}

std::vector<fs::path> expectations() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(millrace::test::corpus() / "pcap" / "quic"))
    if (entry.path().string().ends_with(".expect.json")) all.push_back(entry.path());
  std::ranges::sort(all);
  return all;
}

std::string capture_name(const fs::path& expectation) {
  const std::string name = expectation.filename().string();
  return name.substr(0, name.size() - std::string_view(".expect.json").size());
}

struct comparison {
  std::size_t facts = 0;
  std::map<std::string, std::size_t> disagreements;  // "file|fact" -> how many flows
  struct detail {
    std::string key;
    std::string text;
  };
  std::vector<detail> details;

  void hold(const std::string& file, const std::string& flow, const std::string& fact, const std::string& expected,
            const std::string& got) {
    ++facts;
    if (expected == got) return;
    const std::string key = file + "|" + fact;
    ++disagreements[key];
    details.push_back({key, flow + ": expected '" + expected + "', got '" + got + "'"});
  }
};

void compare_flow(comparison& all, const std::string& file, const json_tree& flow, const analysed& got) {
  const std::string client = endpoint_text(flow["client"].text());
  const std::string server = endpoint_text(flow["server"].text());
  const auto found = got.pairs.find({client, server});
  const pair_facts ours = found == got.pairs.end() ? pair_facts{} : found->second;
  const std::string name = client + " > " + server;
  all.hold(file, name, "versions", joined(list_of(flow["versions"])), joined(ours.versions));
  all.hold(file, name, "sni", joined(list_of(flow["sni"])), joined(ours.sni));
  all.hold(file, name, "alpn", joined(list_of(flow["alpn_offered"])), joined(ours.alpn));
  const json_tree& first = flow["first_initial"];
  all.hold(file, name, "dcid", first.is_null() ? "-" : first["dcid"].text(), ours.dcid);
  all.hold(file, name, "scid", first.is_null() ? "-" : first["scid"].text(), ours.scid);
  const std::pair<const char*, std::uint64_t> counts[] = {{"initial", ours.packets.initial},
                                                          {"0rtt", ours.packets.zero_rtt},
                                                          {"handshake", ours.packets.handshake},
                                                          {"retry", ours.packets.retry},
                                                          {"vn", ours.packets.version_negotiation}};
  for (const auto& [key, count] : counts) {
    const json_tree& packets = flow["packets"];
    const std::uint64_t expected = packets.has(key) ? packets[key].count() : 0;
    all.hold(file, name, key, std::to_string(expected), std::to_string(count));
  }
}

TEST(corpus, agrees_with_the_expectations_of_every_quic_capture) {
  MILLRACE_NEEDS_CORPUS();
  comparison all;
  std::set<std::string> strangers;  // captures in which we see connections that no expected flow has
  std::size_t captures = 0;
  for (const fs::path& path : expectations()) {
    const json_tree expected = load(path);
    const std::string file = capture_name(path);
    const analysed got = analyse(path.parent_path() / file);
    ++captures;
    std::set<std::pair<std::string, std::string>> known;
    for (const json_tree& flow : expected["flows"].items()) {
      compare_flow(all, file, flow, got);
      known.emplace(endpoint_text(flow["client"].text()), endpoint_text(flow["server"].text()));
    }
    for (const auto& [pair, facts] : got.pairs)
      if (!known.contains(pair)) strangers.insert(file);
  }
  std::size_t not_facts = 0;
  for (const exception& e : exceptions) {
    const std::string key = std::string(e.file) + "|" + std::string(e.fact);
    EXPECT_EQ(all.disagreements[key], e.flows) << key << " " << e.reason;
    if (e.kind == exception_kind::not_a_fact) not_facts += all.disagreements[key];
    all.disagreements.erase(key);
  }
  for (const auto& [key, flows] : all.disagreements) {
    if (flows == 0) continue;
    std::string details;
    for (const comparison::detail& d : all.details)
      if (d.key == key) details += "\n  " + d.text;
    ADD_FAILURE() << key << ": a new disagreement in " << flows << " flows" << details;
  }
  std::set<std::string> expected_strangers;
  for (const stranger& s : known_strangers) expected_strangers.emplace(s.file);
  EXPECT_EQ(strangers, expected_strangers);

  const std::size_t agreed = all.facts - all.details.size();
  const std::size_t countable = all.facts - not_facts;
  std::printf("corpus: %zu captures, %zu of %zu facts agree (%.2f %%)\n", captures, agreed, all.facts,
              100.0 * static_cast<double>(agreed) / static_cast<double>(all.facts));
  std::printf("corpus: %zu of %zu agree (%.2f %%) without the %zu that the corpus' notes call a guess or no traffic\n",
              agreed, countable, 100.0 * static_cast<double>(agreed) / static_cast<double>(countable), not_facts);
  EXPECT_GE(captures, 80u);
  EXPECT_GE(agreed * 100, countable * 98);
}

TEST(corpus, names_gquic_and_invents_no_quic_where_there_is_none) {
  MILLRACE_NEEDS_CORPUS();
  std::size_t compared = 0;
  for (const fs::path& path : expectations()) {
    const json_tree expected = load(path);
    const std::string file = capture_name(path);
    analysed got = analyse(path.parent_path() / file);
    if (expected.has("gquic")) {
      for (const json_tree& g : expected["gquic"].items()) {
        const names ends = list_of(g["endpoints"]);
        const std::set<std::string> key = {endpoint_text(ends[0]), endpoint_text(ends[1])};
        EXPECT_EQ(joined(list_of(g["versions"])), joined(got.gquic_versions[key])) << file << " " << ends[0];
        EXPECT_EQ(g["sni"].is_null() ? "" : g["sni"].text(), joined(got.gquic_names[key])) << file << " " << ends[0];
        got.gquic_versions.erase(key);
        ++compared;
      }
    }
    EXPECT_TRUE(got.gquic_versions.empty()) << file << ": gQUIC nobody else sees";
    const bool excused = std::ranges::any_of(known_strangers, [&](const stranger& s) { return s.file == file; });
    if (expected["flows"].items().empty() && !excused) {
      EXPECT_EQ(got.quic_connections, 0u) << file;
    }
  }
  EXPECT_GE(compared, 20u);
}

// ---- what the makers of the captures say

std::string read_text(const fs::path& path) {
  const byte_list bytes = millrace::test::read_file(path);
  return {bytes.begin(), bytes.end()};
}

std::string field_of(const std::string& line, const std::string& name) {
  const std::size_t at = line.find("[" + name + ": ");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 3;
  return line.substr(begin, line.find(']', begin) - begin);
}

// nDPI of October 2024 writes the first two characters of the ALPN where JA4 has the first and the last, and `d` also
// where there is no server name; the rest of its fingerprints is right.
std::string without_ndpis_mistakes(std::string ja4) {
  if (ja4.size() > 10) ja4[3] = ja4[8] = ja4[9] = '.';
  return ja4;
}

TEST(corpus, agrees_with_ndpi_on_names_and_fingerprints) {
  MILLRACE_NEEDS_CORPUS();
  const std::regex flow(R"(UDP (\S+):(\d+) (?:<->|->) (\S+):(\d+) .*/QUIC)");
  std::size_t names_compared = 0;
  std::size_t fingerprints = 0;
  for (const fs::path& path : expectations()) {
    const std::string file = capture_name(path);
    const fs::path maker = path.parent_path() / (file + ".maker.txt");
    if (!file.starts_with("ndpi-") || !fs::exists(maker) || file == "ndpi-quic_interop_V.pcapng") continue;
    analysed got = analyse(path.parent_path() / file);
    std::istringstream lines(read_text(maker));
    for (std::string line; std::getline(lines, line);) {
      std::smatch m;
      if (!std::regex_search(line, m, flow)) continue;
      const auto unbracketed = [](std::string a) { return a.starts_with('[') ? a.substr(1, a.size() - 2) : a; };
      const std::string a = endpoint_text(unbracketed(m[1]), m[2]);
      const std::string b = endpoint_text(unbracketed(m[3]), m[4]);
      const pair_facts& ours = got.pairs[{a, b}];
      const std::string sni = field_of(line, "Hostname/SNI");
      const names& gquic = got.gquic_names[{a, b}];
      EXPECT_EQ(sni, joined(gquic.empty() ? ours.sni : gquic)) << file << " " << a;
      ++names_compared;
      const std::string ja4 = field_of(line, "JA4");
      if (ja4.empty()) continue;
      // The last of a flow: a client that starts again after Version Negotiation is fingerprinted anew.
      EXPECT_EQ(without_ndpis_mistakes(ja4), without_ndpis_mistakes(ours.ja4.empty() ? "" : ours.ja4.back()))
          << file << " " << a;
      ++fingerprints;
    }
  }
  EXPECT_GE(names_compared, 140u);
  EXPECT_GE(fingerprints, 120u);
}

TEST(corpus, agrees_with_suricata_on_fingerprints) {
  MILLRACE_NEEDS_CORPUS();
  const std::regex wanted(R"(count: (\d+)\s+match:\s+event_type: quic\s+quic\.ja4: (\S+))");
  for (const char* file : {"suricata-ja4-quic.pcap", "suricata-ja4-tls-quic.pcap"}) {
    const fs::path folder = millrace::test::corpus() / "pcap" / "quic";
    const std::string maker = read_text(folder / (std::string(file) + ".maker.txt"));
    const analysed got = analyse(folder / file);
    std::smatch m;
    ASSERT_TRUE(std::regex_search(maker, m, wanted)) << file;
    std::size_t count = 0;
    for (const connection& c : got.connections) count += std::string(c.facts.ja4.data(), 36) == m[2] ? 1 : 0;
    EXPECT_EQ(std::to_string(count), m[1]) << file;
  }
}

TEST(corpus, agrees_with_zeek_on_names_and_ids) {
  MILLRACE_NEEDS_CORPUS();
  std::size_t compared = 0;
  for (const fs::path& path : expectations()) {
    const std::string file = capture_name(path);
    const fs::path maker = path.parent_path() / (file + ".maker.txt");
    if (!file.starts_with("zeek-") || !fs::exists(maker)) continue;
    analysed got = analyse(path.parent_path() / file);
    std::istringstream lines(read_text(maker));
    bool quic_log = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#path")) quic_log = line.ends_with("\tquic") || line.ends_with(" quic");
      if (!quic_log || line.empty() || line[0] == '#') continue;
      // ts uid orig_h orig_p resp_h resp_p version client_initial_dcid client_scid server_scid server_name ...
      names f;
      std::istringstream fields(line);
      for (std::string field; std::getline(fields, field, '\t');) f.push_back(field == "(empty)" ? "" : field);
      if (f.size() < 12) continue;
      const pair_facts& ours = got.pairs[{endpoint_text(f[2], f[3]), endpoint_text(f[4], f[5])}];
      EXPECT_EQ(f[10], joined(ours.sni)) << file;
      EXPECT_EQ(f[8], ours.scid) << file;
      // Zeek's log of the Retry capture has the ID that the Retry gave; the first Initial carries another.
      if (file != "zeek-interop-quicgo-retry.pcap") {
        EXPECT_EQ(f[7], ours.dcid) << file;
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 9u);
}

}  // namespace
}  // namespace millrace::inspect::test
