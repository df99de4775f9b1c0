#include "inspect/key_log_feed.hpp"

namespace millrace::inspect {

using tls::wire::key_log_kind;

void key_log_feed::take(std::string_view text, secret_table& to) noexcept {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // some editors write one in front of UTF-8
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  crypto::wiped<tls::wire::key_log_line> line;
  switch (tls::wire::parse_key_log_line(text, *line)) {
    case key_log_kind::secret: {
      const secret_table::added what = to.add(*line);
      ++(what == secret_table::added::no_room ? counts_.no_room : counts_.secrets);
      counts_.repeated += what == secret_table::added::repeated ? 1 : 0;
      return;
    }
    case key_log_kind::blank:
      ++counts_.blank;
      return;
    case key_log_kind::client_random:
      ++counts_.client_random;
      return;
    case key_log_kind::other:
      ++counts_.other;
      return;
    case key_log_kind::malformed:
      ++counts_.malformed;
      return;
  }
}

void key_log_feed::keep(std::string_view part) noexcept {
  if (too_long_ || part.empty()) return;
  if (part.size() > kept_.size() - kept_size_) {
    too_long_ = true;
    return;
  }
  std::memcpy(kept_.data() + kept_size_, part.data(), part.size());
  kept_size_ += part.size();
}

void key_log_feed::end_line(secret_table& to) noexcept {
  if (too_long_)
    ++counts_.malformed;
  else
    take({kept_.data(), kept_size_}, to);
  crypto::wipe({reinterpret_cast<std::uint8_t*>(kept_.data()), kept_size_});
  kept_size_ = 0;
  too_long_ = false;
}

void key_log_feed::feed(std::string_view text, secret_table& to) noexcept {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return keep(text);
    if (kept_size_ == 0 && !too_long_ && end <= kept_.size()) {
      take(text.substr(0, end), to);
    } else {
      keep(text.substr(0, end));
      end_line(to);
    }
    text.remove_prefix(end + 1);
  }
}

void key_log_feed::finish(secret_table& to) noexcept {
  if (kept_size_ != 0 || too_long_) end_line(to);
}

}  // namespace millrace::inspect
