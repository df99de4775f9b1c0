// http/chain_sink.hpp - JSON text straight into the blocks that are sent.
//
// Shape    a json::sink whose windows are blocks of a pool; take() gives what was written, as a chain.
// Owner    the sink, until take(). Errors  refused() once no block is free: the text is then of no use, and is freed.
// Threads  one lcore. Tests  test/http/chain_sink_test.cpp
#pragma once

#include "buf/chain.hpp"
#include "json/sink.hpp"

namespace millrace::http {

class chain_sink final : public json::sink {
  buf::mbuf_source blocks_;
  buf::chain done_;
  rte_mbuf* open_ = nullptr;

  // What was written into the open block becomes a packet's data.
  void close_block() noexcept {
    if (open_ == nullptr) return;
    char* const begin = rte_pktmbuf_mtod(open_, char*);
    const auto size = static_cast<std::uint16_t>(at_ - begin);
    if (size == 0) {
      rte_pktmbuf_free(open_);
    } else {
      static_cast<void>(rte_pktmbuf_append(open_, size));
      static_cast<void>(done_.append(buf::packet(open_)));  // its own blocks: cannot fail
    }
    open_ = nullptr;
    open_window(nullptr, 0);
  }
  bool make_room() noexcept override {
    close_block();
    open_ = blocks_.alloc();
    if (open_ == nullptr) return false;
    open_window(rte_pktmbuf_mtod(open_, char*), rte_pktmbuf_tailroom(open_));
    return true;
  }

 public:
  explicit chain_sink(const buf::mbuf_source& blocks) noexcept : blocks_(blocks) {}
  ~chain_sink() override { rte_pktmbuf_free(open_); }

  // All that was written; empty where anything was refused.
  [[nodiscard]] buf::chain take() noexcept {
    close_block();
    if (refused()) done_.clear();
    return std::move(done_);
  }
};

}  // namespace millrace::http
