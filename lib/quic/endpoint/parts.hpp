// quic/endpoint/parts.hpp - for the .cpp files of this folder: what an endpoint owns.
#pragma once

#include "mem/object_pool.hpp"
#include "quic/endpoint/endpoint.hpp"
#include "quic/path/spent_tokens.hpp"

namespace millrace::quic::endpoint {

struct quic_endpoint::held {
  conn::connection connection;
  base::timer_handle timer;
  std::uint64_t timer_ns = UINT64_MAX;  // when it fires
  path::connection_id strange;          // the client's destination under which it stands in the table, if any
  base::fixed_vector<wire::stateless_reset_token_value, path::max_paths> tokens;  // of the peer, in the table
  std::uint16_t cid_changes = 0;                                                  // what `tokens` follow
  bool is_half_open = false;
  held *older = nullptr, *newer = nullptr;  // of those half open, by the time they began

  template <class Start, class Context>
  held(conn::transport& t, conn::connection_host& host, const Start& start, Context context) noexcept
      : connection(t, host, start, std::move(context)) {
    connection.holder = this;
  }
};

struct quic_endpoint::parts {
  recovery::sent_pool sent;
  mem::object_pool<stream::piece> piece_pool;
  stream::piece_store pieces;
  conn::stream_store streams;
  mem::object_pool<conn::handshake_state> handshakes;
  conn::key_store keys;
  mem::object_pool<conn::many_ranges> ranges;
  mem::object_pool<conn::more_paths> paths;
  mem::object_pool<held> connections;
  conn::random_source random;
  cid_map cids;
  mem::region timer_memory;
  base::timer_wheel timers;
  mem::region source_memory;
  source_limits sources;
  path::cid_codec codec;
  path::reset_tokens resets;
  path::address_tokens tokens;
  mem::region spent_memory;
  path::spent_tokens spent;
  conn::transport shared;
  std::array<reply, most_replies> replies;

  struct pools {
    mem::object_pool<stream::piece> pieces;
    mem::object_pool<conn::handshake_state> handshakes;
    mem::object_pool<conn::traffic_keys> keys;
    mem::object_pool<conn::many_ranges> ranges;
    mem::object_pool<conn::more_paths> paths;
    mem::object_pool<held> connections;
  };
  struct seeds {
    crypto::siphash_key random, cids, sources;
    std::uint64_t streams = 0;
    std::array<std::uint8_t, crypto::aead_nonce_size> nonce{};
  };
  parts(pools made, const seeds& s, quic_endpoint& owner, const endpoint_keys& k, const buf::mbuf_source& packets,
        std::uint64_t now_ns) noexcept;
};

}  // namespace millrace::quic::endpoint
