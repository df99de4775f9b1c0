// Sequences of NEW_CONNECTION_ID frames, and what paths do with the IDs, into remote_cids, against a plain model.
//
// Input    a byte for the limit and the kind of peer, then three bytes an operation.
// Holds    a frame is refused with a code of RFC 9000 19.15 or changes only what it says; IDs that can be used are at
//          most the limit, all different, and none is below the largest Retire Prior To; a number that was retired
//          never comes back; each retirement is told until it is acknowledged, and there are never more than eight
//          times the limit.
#include <cstdlib>
#include <map>
#include <set>

#include "quic/path/remote_cids.hpp"

namespace {

using namespace millrace;
using namespace millrace::quic::path;
using quic::wire::transport_error;

void require(bool holds) {
  if (!holds) std::abort();
}

connection_id id_of(std::uint64_t number, std::uint8_t variant) {
  connection_id out;
  out.size = static_cast<std::uint8_t>(8 + variant % 3);
  for (std::size_t i = 0; i < 8; ++i) out.octets[i] = static_cast<std::uint8_t>(number >> (8 * i));
  if (out.size > 8) out.octets[8] = variant;
  return out;
}

struct model {
  remote_cids ids;
  std::uint64_t limit;
  std::uint64_t top = 0;
  std::uint64_t retire = 0;
  std::map<std::uint64_t, unsigned> uses{{0, 1}};
  std::set<std::uint64_t> gone{};  // retired once
  bool closed = false;

  void give(std::uint64_t number, std::uint64_t prior, std::uint8_t variant) {
    // No frame says more: RFC 9000 16.
    number = std::min(number, base::varint_max);
    prior = std::min(prior, base::varint_max);
    const connection_id cid = variant == 0xFF ? connection_id{} : id_of(number, variant);
    quic::wire::stateless_reset_token_value token{};
    for (std::size_t i = 0; i < 8; ++i) token[i] = static_cast<std::uint8_t>(number >> (8 * i));
    token[8] = variant;
    token[15] = 1;
    const std::size_t before = ids.retirements();
    const remote_cids::received r = ids.on_new_connection_id({number, prior, cid.view(), token});
    if (r.error != transport_error::no_error) {
      require(r.error == transport_error::protocol_violation || r.error == transport_error::frame_encoding_error ||
              r.error == transport_error::connection_id_limit_error);
      closed = true;
      return;
    }
    require(prior <= number && !cid.empty());
    require(ids.retirements() <= before + max_remote_cids + 1);
    retire = std::max(retire, prior);
    top = std::max(top, number);
    bool replaced = false;
    for (auto it = uses.begin(); it != uses.end();) {
      if (it->first >= retire) {
        ++it;
        continue;
      }
      replaced |= it->second != 0;
      gone.insert(it->first);
      it = uses.erase(it);
    }
    require(r.replace == replaced);
    const remote_cid* found = ids.find(number);
    if (found != nullptr) {
      require(!gone.contains(number) && number >= retire && found->cid == cid);
      uses.try_emplace(number, 0);
    } else {
      gone.insert(number);
    }
  }
  void take() {
    const auto number = ids.take();
    std::optional<std::uint64_t> lowest;
    for (const auto& [n, count] : uses)
      if (count == 0 && !lowest) lowest = n;
    require(number == lowest);
    if (number) uses[*number] = 1;
  }
  void release(std::uint64_t number) {
    ids.release(number);
    const auto it = uses.find(number);
    if (it == uses.end() || it->second == 0 || --it->second != 0) return;
    uses.erase(it);
    gone.insert(number);
  }
  void check() const {
    require(uses.size() <= limit && ids.retirements() <= limit * retirements_per_cid);
    std::size_t unused = 0;
    std::size_t used = 0;
    for (const auto& [n, count] : uses) {
      require(ids.find(n) != nullptr && ids.find(n)->uses == count && n >= retire);
      ++(count == 0 ? unused : used);
    }
    require(ids.unused() == unused && ids.tokens_in_use().size() <= used);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::uint64_t limit = 2 + data[0] % (max_remote_cids - 1);
  model m{remote_cids::for_server(id_of(0, 0), {.active_limit = limit}), limit};
  for (std::size_t i = 1; i + 2 < size && i < 3000 && !m.closed; i += 3) {
    const std::uint8_t a = data[i + 1];
    const std::uint8_t b = data[i + 2];
    switch (data[i] % 8) {
      case 0:  // the next
        m.give(m.top + 1, std::min<std::uint64_t>(m.top + 1, m.retire + a % 4), b % 8 == 7 ? b : 0);
        break;
      case 1:  // one of before
        m.give(m.top - std::min<std::uint64_t>(m.top, a), std::min<std::uint64_t>(m.retire, b), 0);
        break;
      case 2:  // far away
        m.give(m.top + (std::uint64_t{1} << (a % 62)), std::uint64_t{1} << (b % 62), 0);
        break;
      case 3:
        m.take();
        break;
      case 4:
        m.release(m.top - std::min<std::uint64_t>(m.top, a));
        break;
      case 5:
        if (const auto number = m.ids.retire_to_send()) {
          require(m.gone.contains(*number));
          m.ids.on_retire_sent(*number);
          if (a % 2 == 0) m.ids.on_retire_acked(*number);
        }
        break;
      case 6:
        m.ids.on_retire_lost(m.top - std::min<std::uint64_t>(m.top, a));
        break;
      default:
        if (const auto it = m.uses.find(a); m.ids.share(a)) {
          require(it != m.uses.end() && it->second != 0);
          ++it->second;
        }
    }
    if (!m.ids.is_within_limits()) break;
    if (!m.closed) m.check();
  }
  return 0;
}
