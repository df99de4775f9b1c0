// test/quic/recovery/sent_model.hpp - sent_packets beside a map of every packet ever sent, driven by anything that
// picks numbers: a seeded test, or a fuzzer.
//
// Shape    step() does one thing to both and compares what they report; ok() turns false for good when they differ.
#pragma once

#include <map>
#include <string>

#include "quic/recovery/ack_frames.hpp"
#include "quic/recovery/sent_packets.hpp"

namespace millrace::test {

class sent_model {
  enum class fate : std::uint8_t { open, acked, lost, dropped };
  struct packet {
    fate is = fate::open;
    std::uint64_t sent_ns = 0;
    std::uint64_t token = 0;
    bool eliciting = false;
    bool reported = false;
  };
  using ranges = std::vector<quic::wire::packet_range>;

  quic::recovery::sent_pool pool_;
  quic::recovery::sent_packets sent_;
  std::map<std::uint64_t, packet> all_;
  std::vector<std::uint64_t> holes_;
  std::uint64_t next_ = 0;
  std::uint64_t now_ = 0;
  std::uint64_t largest_acked_ = quic::wire::no_packet_number;
  std::uint64_t tokens_ = 0;
  std::string what_;

  void differ(const std::string& what) {
    if (what_.empty()) what_ = what;
  }
  void check_tokens(const quic::recovery::sent_report& r, const packet& p) {
    for (std::size_t i = 0; i < r.tokens.size(); ++i)
      if (r.tokens[i].value != p.token + i) differ("a token of another packet");
  }

 public:
  explicit sent_model(std::size_t blocks) : pool_(static_cast<std::uint32_t>(blocks)), sent_(pool_) {}
  [[nodiscard]] bool ok() const { return what_.empty(); }
  [[nodiscard]] const std::string& what() const { return what_; }

  // `pick(n)` answers 0 .. n - 1.
  template <class Pick>
  void step(Pick pick) {
    now_ += pick(50);
    const auto what = pick(16);
    if (what < 8)
      send(pick);
    else if (what < 13)
      ack(pick);
    else if (what < 15)
      detect(pick);
    else if (pick(20) == 0)
      discard();
    check();
  }
  void finish() {
    if (next_ == 0) return;
    ranges everything;
    std::uint64_t from = 0;
    for (const std::uint64_t hole : holes_) {
      if (hole > from) everything.push_back({from, hole - 1});
      from = hole + 1;
    }
    if (from < next_) everything.push_back({from, next_ - 1});
    for (const auto& range : everything) ack_ranges({range});
    check();
    if (sent_.outstanding() != 0 || pool_.lent() != 0) differ("something is left at the end");
  }

 private:
  template <class Pick>
  void send(Pick& pick) {
    for (auto count = 1 + pick(30); count != 0; --count) {
      const auto kind = pick(32);
      if (kind == 0) {
        if (holes_.size() < 1000) holes_.push_back(next_);
        sent_.on_skipped(next_++);
      } else if (kind < 8) {
        sent_.on_sent_unkept(next_++);
      } else {
        const auto tokens = pick(kind == 8 ? quic::recovery::max_tokens_per_packet + 1 : 3);
        if (!sent_.reserve(static_cast<unsigned>(tokens))) return;
        std::vector<quic::recovery::sent_token> list(tokens);
        packet p{.sent_ns = now_, .token = tokens_, .eliciting = pick(8) != 0};
        for (auto& token : list) token.value = tokens_++;
        quic::recovery::sent_packet s;
        s.sent_ns = now_;
        s.bytes = static_cast<std::uint16_t>(1 + next_ % 1000);
        s.eliciting = p.eliciting;
        sent_.on_sent(next_, s, list);
        all_.emplace(next_++, p);
      }
    }
  }
  [[nodiscard]] bool is_hole(const quic::wire::packet_range& r) const {
    // Only the holes kept last are known for sure.
    for (std::size_t i = holes_.size() > 4 ? holes_.size() - 4 : 0; i < holes_.size(); ++i)
      if (holes_[i] >= r.smallest && holes_[i] <= r.largest) return true;
    return false;
  }
  template <class Pick>
  void ack(Pick& pick) {
    if (next_ == 0) return;
    ranges some;
    std::uint64_t top = next_ - 1 - pick(std::min<std::uint64_t>(next_, 200));
    for (auto count = 1 + pick(12); count != 0; --count) {
      const std::uint64_t length = pick(std::min<std::uint64_t>(top + 1, 60));
      const quic::wire::packet_range r{top - length, top};
      if (is_hole(r)) {
        if (some.empty() && pick(8) == 0) {
          const made_ack bad({r});
          struct {
            void acked(const quic::recovery::sent_report&) {}
            void spurious(const quic::recovery::sent_report&) {}
          } nobody;
          if (sent_.on_ack(bad.frame.largest, quic::wire::ack_range_reader(bad.frame), nobody) !=
              quic::recovery::ack_fault::skipped)
            differ("a hole was acknowledged and nobody noticed");
        }
        break;
      }
      some.push_back(r);
      const std::uint64_t gap = 2 + pick(30);
      if (r.smallest < gap) break;
      top = r.smallest - gap;
    }
    if (!some.empty()) ack_ranges(some);
  }
  void ack_ranges(const ranges& some) {
    const made_ack frame(some);
    struct {
      sent_model& model;
      void acked(const quic::recovery::sent_report& r) {
        const auto p = model.all_.find(r.number);
        if (p == model.all_.end() || p->second.is != fate::open) return model.differ("acked what is not open");
        p->second.reported = true;
        model.check_tokens(r, p->second);
      }
      void spurious(const quic::recovery::sent_report& r) {
        const auto p = model.all_.find(r.number);
        if (p == model.all_.end() || p->second.is != fate::lost) return model.differ("spurious, and was not lost");
        p->second.is = fate::acked;
      }
    } visitor{*this};
    if (sent_.on_ack(frame.frame.largest, quic::wire::ack_range_reader(frame.frame), visitor) !=
        quic::recovery::ack_fault::none)
      return differ("refused an honest ACK");
    if (largest_acked_ == quic::wire::no_packet_number || frame.frame.largest > largest_acked_)
      largest_acked_ = frame.frame.largest;
    for (const auto& r : some)
      for (auto p = all_.lower_bound(r.smallest); p != all_.end() && p->first <= r.largest; ++p) {
        if (p->second.is != fate::open) continue;
        if (!p->second.reported) differ("an acknowledged packet was not reported");
        p->second.is = fate::acked;
      }
    for (auto& [number, p] : all_)
      if (p.reported && p.is == fate::open) differ("reported a packet outside the ranges");
  }
  template <class Pick>
  void detect(Pick& pick) {
    const std::uint64_t delay = 1 + pick(300);
    std::vector<std::uint64_t> lost;
    struct {
      sent_model& model;
      std::vector<std::uint64_t>& lost_numbers;
      void lost(const quic::recovery::sent_report& r) {
        lost_numbers.push_back(r.number);
        const auto p = model.all_.find(r.number);
        if (p == model.all_.end()) return model.differ("lost what was not sent");
        model.check_tokens(r, p->second);
      }
    } visitor{*this, lost};
    sent_.detect_lost({.now_ns = now_, .delay_ns = delay, .remember_ns = pick(2000)}, visitor);
    std::vector<std::uint64_t> expected;
    std::uint64_t next_ns = quic::recovery::never_ns;
    if (largest_acked_ != quic::wire::no_packet_number)
      for (auto& [number, p] : all_) {
        if (p.is != fate::open || number > largest_acked_) continue;
        if (p.sent_ns + delay <= now_ || number + 3 <= largest_acked_) {
          expected.push_back(number);
          p.is = fate::lost;
        } else {
          next_ns = std::min(next_ns, p.sent_ns + delay);
        }
      }
    if (lost != expected) differ("other packets were lost");
    if (sent_.loss_ns() != next_ns) differ("another loss time");
  }
  void discard() {
    static_cast<void>(sent_.discard());
    for (auto& [number, p] : all_)
      if (p.is == fate::open) p.is = fate::dropped;
  }
  void check() {
    std::uint64_t open = 0;
    bool eliciting = false;
    for (const auto& [number, p] : all_)
      if (p.is == fate::open) {
        ++open;
        eliciting |= p.eliciting;
      }
    if (sent_.outstanding() != open) differ("outstanding");
    if (sent_.has_eliciting() != eliciting) differ("eliciting");
    if (sent_.kept() != sent_.acknowledged() + sent_.lost() + sent_.dropped() + sent_.outstanding())
      differ("packets are not conserved");
    if (sent_.blocks() != pool_.lent()) differ("blocks");
    if (open == 0 && pool_.lent() > 1) differ("blocks are kept for nothing");
    std::uint64_t listed = 0, last = 0;
    sent_.for_each_outstanding([&](const quic::recovery::sent_report& r) {
      const auto p = all_.find(r.number);
      if (p == all_.end() || p->second.is != fate::open || (listed != 0 && r.number <= last)) differ("the list");
      last = r.number;
      ++listed;
      return true;
    });
    if (listed != open) differ("the list's length");
    if (all_.size() > 4000) {  // old ones matter no more
      auto p = all_.begin();
      while (p != all_.end() && p->second.is != fate::open && all_.size() > 2000) p = all_.erase(p);
    }
  }
};

}  // namespace millrace::test
