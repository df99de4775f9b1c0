// Any bytes as a capture file: records lie inside it and in order, every turn makes way, and where libpcap is there it
// delivers the very records that ours says it does.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "net/wire/capture.hpp"

#if defined(MILLRACE_HAS_LIBPCAP)
#include <pcap/pcap.h>
#endif

namespace {

using namespace millrace;
using namespace millrace::net::wire;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// The records that libpcap should deliver as well.
std::vector<base::byte_view> read_all(base::byte_view file) {
  std::vector<base::byte_view> out;
  const auto reader = std::make_unique<capture_reader>(file);
  std::size_t turns = 0;
  bool beyond = false;
  const std::uint8_t* last = file.data();
  for (capture_event event = reader->next(); event != capture_event::end; event = reader->next()) {
    require(++turns <= file.size() / 12 + 2, "more events than blocks");
    require(reader->offset() <= file.size(), "an event outside the file");
    require((event == capture_event::malformed) == (reader->fault() != capture_fault::none),
            "a fault without a reason");
    if (event == capture_event::malformed) continue;
    const base::byte_view data = event == capture_event::record ? reader->record().data : reader->secrets().data;
    require(data.data() >= last && data.data() + data.size() <= file.data() + file.size(), "data outside the file");
    last = data.data() + data.size();
    if (event != capture_event::record) continue;
    require(data.size() <= max_captured_length, "a record beyond the limit");
    require(!beyond || reader->record().beyond_libpcap, "libpcap does not come back");
    beyond = reader->record().beyond_libpcap;
    if (!beyond) out.push_back(data);
  }
  return out;
}

#if defined(MILLRACE_HAS_LIBPCAP)
// Some link types libpcap gives longer records, or fills in host order on delivery; what they are is in its dlt.h.
bool is_plain(int link) { return link == DLT_EN10MB || link == DLT_RAW || link == DLT_NULL || link == DLT_LINUX_SLL; }

void compare_with_libpcap(base::byte_view file, const std::vector<base::byte_view>& ours) {
  std::vector<std::uint8_t> copy(file.begin(), file.end());
  FILE* const stream = ::fmemopen(copy.data(), copy.size(), "rb");
  char why[PCAP_ERRBUF_SIZE];
  pcap_t* const capture = ::pcap_fopen_offline(stream, why);
  if (capture == nullptr) {
    std::fclose(stream);
    return;
  }
  if (is_plain(::pcap_datalink(capture))) {
    pcap_pkthdr* header = nullptr;
    const u_char* data = nullptr;
    std::size_t count = 0;
    for (; ::pcap_next_ex(capture, &header, &data) == 1; ++count) {
      require(count < ours.size(), "libpcap delivers more");
      require(ours[count].size() == header->caplen, "libpcap delivers another length");
      require(header->caplen == 0 || std::memcmp(ours[count].data(), data, header->caplen) == 0, "other bytes");
    }
    require(count == ours.size(), "libpcap delivers less");
  }
  ::pcap_close(capture);
}
#endif

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const base::byte_view file(data, size);
  const std::vector<base::byte_view> records = read_all(file);
#if defined(MILLRACE_HAS_LIBPCAP)
  if (size != 0) compare_with_libpcap(file, records);
#endif
  return 0;
}
