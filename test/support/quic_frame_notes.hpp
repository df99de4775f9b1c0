// test/support/quic_frame_notes.hpp - the frames of a payload as lines of text, whoever took them apart.
//
// Shape    frame_notes collects lines; stream, crypto and datagram data that goes on where the line before ended is
//          added to it, so that a payload reads the same whether its frames came in pieces or whole.
//          note_taker is the visitor that fills it. quic_reference.hpp fills it too.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "quic/wire/frame_walker.hpp"
#include "support/bytes.hpp"

namespace millrace::test {

// Text and numbers, one behind the other. (g++ 12 warns of overlap when a literal stands in front of a temporary
// string.)
template <class... Parts>
std::string words(const Parts&... parts) {
  std::string out;
  const auto add = [&out](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>)
      out += std::to_string(part);
    else
      out += part;
  };
  (add(parts), ...);
  return out;
}

class frame_notes {
  struct line {
    std::string text;       // of everything but the data
    std::uint64_t end = 0;  // where a piece would have to begin that goes on here
    bool open = false;      // may a piece go on here?
    bool has_data = false;
    byte_list data{};
    bool fin = false;
  };
  std::vector<line> lines_;

 public:
  void add(std::string text) { lines_.push_back({.text = std::move(text)}); }
  // `what` names the stream. `open`: more of it may follow in the next line.
  void add_data(const std::string& what, std::uint64_t offset, base::byte_view data, bool fin, bool open) {
    if (lines_.empty() || !lines_.back().open || lines_.back().text != what || lines_.back().end != offset)
      lines_.push_back({.text = what, .end = offset, .has_data = true});
    line& last = lines_.back();
    last.data.insert(last.data.end(), data.begin(), data.end());
    last.end = offset + data.size();
    last.fin = fin;
    last.open = open;
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const line& l : lines_) {
      if (!out.empty()) out += ", ";
      out += l.text;
      if (l.has_data) out += words(" ", l.end - l.data.size(), ":", hex(l.data), l.fin ? " fin" : "");
    }
    return out;
  }
  // Without gtest, so that fuzzers can use it.
  [[nodiscard]] static std::string hex(base::byte_view in) {
    std::string out(in.size() * 2, '0');
    out.resize(base::write_hex(in, out));
    return out;
  }
};

// One line a frame, in the words of the RFC.
class note_taker : public quic::wire::frame_visitor {
  std::uint64_t messages_ = 0;  // DATAGRAM frames that ended
  std::uint64_t in_message_ = 0;

  template <class... Numbers>
  bool note(std::string text, Numbers... numbers) {
    ((text += words(" ", numbers)), ...);
    notes.add(std::move(text));
    return true;
  }

 public:
  frame_notes notes;
  [[nodiscard]] std::string text() const { return notes.text(); }

  bool on(const quic::wire::padding_frame& f) { return note("padding", f.count); }
  bool on(const quic::wire::ping_frame&) { return note("ping"); }
  bool on(const quic::wire::ack_frame& f) {
    std::string text = words("ack after ", f.delay);
    quic::wire::packet_range range;
    for (quic::wire::ack_range_reader reader(f); reader.next(range);)
      text += words(" ", range.smallest, "-", range.largest);
    if (f.has_ecn) text += words(" ecn ", f.ecn.ect0, " ", f.ecn.ect1, " ", f.ecn.ce);
    return note(text);
  }
  bool on(const quic::wire::reset_stream_frame& f) {
    return note("reset_stream", f.stream_id, f.error_code, f.final_size);
  }
  bool on(const quic::wire::stop_sending_frame& f) { return note("stop_sending", f.stream_id, f.error_code); }
  bool on(const quic::wire::crypto_frame& f) {
    notes.add_data("crypto", f.offset, f.data, false, true);
    return true;
  }
  bool on(const quic::wire::new_token_frame& f) { return note(words("new_token ", frame_notes::hex(f.token))); }
  bool on(const quic::wire::stream_frame& f) {
    notes.add_data(words("stream ", f.stream_id), f.offset, f.data, f.fin, !f.fin);
    return true;
  }
  bool on(const quic::wire::max_data_frame& f) { return note("max_data", f.maximum); }
  bool on(const quic::wire::max_stream_data_frame& f) { return note("max_stream_data", f.stream_id, f.maximum); }
  bool on(const quic::wire::max_streams_frame& f) {
    return note(f.unidirectional ? "max_streams uni" : "max_streams bidi", f.maximum);
  }
  bool on(const quic::wire::data_blocked_frame& f) { return note("data_blocked", f.limit); }
  bool on(const quic::wire::stream_data_blocked_frame& f) { return note("stream_data_blocked", f.stream_id, f.limit); }
  bool on(const quic::wire::streams_blocked_frame& f) {
    return note(f.unidirectional ? "streams_blocked uni" : "streams_blocked bidi", f.limit);
  }
  bool on(const quic::wire::new_connection_id_frame& f) {
    return note(words("new_connection_id ", f.sequence, " ", f.retire_prior_to, " ", frame_notes::hex(f.cid), " ",
                      frame_notes::hex(f.stateless_reset_token)));
  }
  bool on(const quic::wire::retire_connection_id_frame& f) { return note("retire_connection_id", f.sequence); }
  bool on(const quic::wire::path_challenge_frame& f) {
    return note(words("path_challenge ", frame_notes::hex(f.data)));
  }
  bool on(const quic::wire::path_response_frame& f) { return note(words("path_response ", frame_notes::hex(f.data))); }
  bool on(const quic::wire::connection_close_frame& f) {
    const std::string reason = frame_notes::hex(f.reason);
    return note(f.from_application ? words("close app ", f.error_code, " \"", reason, "\"")
                                   : words("close ", f.error_code, " for ", f.offending_type, " \"", reason, "\""));
  }
  bool on(const quic::wire::handshake_done_frame&) { return note("handshake_done"); }
  bool on(const quic::wire::datagram_frame& f) {
    notes.add_data(words("datagram ", messages_), in_message_, f.data, false, f.more != 0);
    in_message_ = f.more == 0 ? 0 : in_message_ + f.data.size();
    if (f.more == 0) ++messages_;
    return true;
  }
};

}  // namespace millrace::test
