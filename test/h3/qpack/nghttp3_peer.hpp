// test/h3/qpack/nghttp3_peer.hpp - nghttp3's encoder and decoder, for the tests and benches that hold ours against
// them.
#pragma once

#include <nghttp3/nghttp3.h>

#include <string>

#include "h3/qpack/support.hpp"

namespace millrace::test {

class nghttp3_encoder {
  nghttp3_qpack_encoder* e_ = nullptr;
  nghttp3_buf prefix_{};
  nghttp3_buf lines_{};
  nghttp3_buf instructions_{};

 public:
  nghttp3_encoder(std::uint64_t capacity, std::uint64_t blocked) {
    if (nghttp3_qpack_encoder_new(&e_, capacity, nghttp3_mem_default()) != 0) std::abort();
    nghttp3_qpack_encoder_set_max_dtable_capacity(e_, capacity);
    nghttp3_qpack_encoder_set_max_blocked_streams(e_, blocked);
  }
  ~nghttp3_encoder() {
    for (nghttp3_buf* b : {&prefix_, &lines_, &instructions_}) nghttp3_buf_free(b, nghttp3_mem_default());
    nghttp3_qpack_encoder_del(e_);
  }
  nghttp3_encoder(const nghttp3_encoder&) = delete;
  nghttp3_encoder& operator=(const nghttp3_encoder&) = delete;

  static std::vector<nghttp3_nv> pairs(const field_list& list) {
    std::vector<nghttp3_nv> out;
    for (const owned_field& f : list) {
      nghttp3_nv nv{};
      nv.name = reinterpret_cast<std::uint8_t*>(const_cast<char*>(f.name.data()));
      nv.namelen = f.name.size();
      nv.value = reinterpret_cast<std::uint8_t*>(const_cast<char*>(f.value.data()));
      nv.valuelen = f.value.size();
      nv.flags = f.never_index ? NGHTTP3_NV_FLAG_NEVER_INDEX : NGHTTP3_NV_FLAG_NONE;
      out.push_back(nv);
    }
    return out;
  }
  // Into buffers of its own that it uses again; the bytes of both streams.
  std::size_t encode_only(std::uint64_t stream, const std::vector<nghttp3_nv>& list) {
    for (nghttp3_buf* b : {&prefix_, &lines_, &instructions_}) nghttp3_buf_reset(b);
    if (nghttp3_qpack_encoder_encode(e_, &prefix_, &lines_, &instructions_, static_cast<std::int64_t>(stream),
                                     list.data(), list.size()) != 0)
      std::abort();
    return nghttp3_buf_len(&prefix_) + nghttp3_buf_len(&lines_) + nghttp3_buf_len(&instructions_);
  }
  encoded_section encode(std::uint64_t stream, const field_list& list) {
    (void)encode_only(stream, pairs(list));
    encoded_section out{bytes(prefix_.pos, prefix_.last), bytes(instructions_.pos, instructions_.last)};
    out.section.insert(out.section.end(), lines_.pos, lines_.last);
    return out;
  }
  bool on_decoder_stream(const bytes& in) {
    return nghttp3_qpack_encoder_read_decoder(e_, in.data(), in.size()) == static_cast<nghttp3_ssize>(in.size());
  }
};

class nghttp3_decoder {
  nghttp3_qpack_decoder* d_ = nullptr;

 public:
  enum class answer : std::uint8_t { done, blocked, failed };

  nghttp3_decoder(std::uint64_t capacity, std::uint64_t blocked) {
    if (nghttp3_qpack_decoder_new(&d_, capacity, blocked, nghttp3_mem_default()) != 0) std::abort();
  }
  ~nghttp3_decoder() { nghttp3_qpack_decoder_del(d_); }
  nghttp3_decoder(const nghttp3_decoder&) = delete;
  nghttp3_decoder& operator=(const nghttp3_decoder&) = delete;

  bool on_encoder_stream(const bytes& in) {
    return nghttp3_qpack_decoder_read_encoder(d_, in.data(), in.size()) == static_cast<nghttp3_ssize>(in.size());
  }
  // Calls to(name, value, never_index) for each field; a blocked section is decoded anew later.
  template <class To>
  answer decode(std::uint64_t stream, const bytes& section, To to) {
    nghttp3_qpack_stream_context* context = nullptr;
    if (nghttp3_qpack_stream_context_new(&context, static_cast<std::int64_t>(stream), nghttp3_mem_default()) != 0)
      std::abort();
    answer result = answer::failed;
    const std::uint8_t* at = section.data();
    const std::uint8_t* const end = at + section.size();
    for (;;) {
      nghttp3_qpack_nv nv{};
      std::uint8_t flags = 0;
      const nghttp3_ssize n =
          nghttp3_qpack_decoder_read_request(d_, context, &nv, &flags, at, static_cast<std::size_t>(end - at), 1);
      if (n < 0) break;
      at += n;
      if ((flags & NGHTTP3_QPACK_DECODE_FLAG_EMIT) != 0) {
        to(text(nv.name), text(nv.value), (nv.flags & NGHTTP3_NV_FLAG_NEVER_INDEX) != 0);
        nghttp3_rcbuf_decref(nv.name);
        nghttp3_rcbuf_decref(nv.value);
      }
      if ((flags & NGHTTP3_QPACK_DECODE_FLAG_BLOCKED) != 0) {
        result = answer::blocked;
        break;
      }
      if ((flags & NGHTTP3_QPACK_DECODE_FLAG_FINAL) != 0) {
        result = answer::done;
        break;
      }
    }
    nghttp3_qpack_stream_context_del(context);
    return result;
  }
  bytes poll() {
    nghttp3_buf out;
    bytes room(nghttp3_qpack_decoder_get_decoder_streamlen(d_));
    nghttp3_buf_init(&out);
    out.begin = out.pos = out.last = room.data();
    out.end = room.data() + room.size();
    nghttp3_qpack_decoder_write_decoder(d_, &out);
    room.resize(nghttp3_buf_len(&out));
    return room;
  }

 private:
  static std::string_view text(const nghttp3_rcbuf* b) {
    const nghttp3_vec v = nghttp3_rcbuf_get_buf(b);
    return {reinterpret_cast<const char*>(v.base), v.len};
  }
};

}  // namespace millrace::test
