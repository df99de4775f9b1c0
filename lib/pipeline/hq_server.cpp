#include "pipeline/hq_server.hpp"

#include <charconv>

#include "base/body_pattern.hpp"

namespace millrace::pipeline {

using quic::conn::connection;
using quic::conn::live_stream;
using quic::conn::most_source_parts;

unsigned hq_files::source::borrow(std::uint64_t offset, std::size_t size,
                                  std::span<base::byte_view, most_source_parts> parts) noexcept {
  unsigned count = 0;
  while (size != 0 && count < parts.size()) {
    const base::byte_view part = from_->view(offset, size);
    if (part.empty()) break;
    parts[count++] = part;
    offset += part.size();
    size -= part.size();
  }
  return count;
}

unsigned pattern_source::borrow(std::uint64_t offset, std::size_t size,
                                std::span<base::byte_view, most_source_parts> parts) noexcept {
  const base::byte_view block(base::pattern_block());
  unsigned count = 0;
  while (size != 0 && count < parts.size()) {
    const std::size_t at = static_cast<std::size_t>(offset % base::pattern_bytes);
    const std::size_t n = std::min(size, base::pattern_bytes - at);
    parts[count++] = block.subspan(at, n);
    offset += n;
    size -= n;
  }
  return count;
}

void hq_files::add(const std::string& path, buf::content content) {
  auto& made = files_[path];
  made.content = std::move(content);
  made.from = std::make_unique<source>(made.content);
}

hq_files::file* hq_files::find(std::string_view path) noexcept {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

base::result<std::unique_ptr<hq_server>> hq_server::make(std::uint32_t requests, hq_files* files) {
  auto pool = mem::object_pool<request>::make("hq_requests", requests);
  if (!pool) return pool.error();
  static_cast<void>(base::pattern_block());
  return std::unique_ptr<hq_server>(new hq_server(std::move(pool.value()), files));
}

void hq_server::on_readable(connection& c, live_stream& s) noexcept {
  if (s.recv.is_reset()) {
    c.reset_read(s);
    if (s.has_send) c.reset(s, static_cast<std::uint64_t>(hq_code::bad_request));
    return;
  }
  auto* r = static_cast<request*>(s.user);
  if (r == nullptr && s.has_send && s.send.written() == 0 && !s.send.is_reset()) {
    r = requests_.get();
    if (r == nullptr) {
      count_.no_memory.add(1);
      refuse(c, s, hq_code::no_memory);
      return;
    }
    s.user = r;
  }
  for (base::byte_view bytes = s.recv.front(); !bytes.empty(); bytes = s.recv.front()) {
    if (r == nullptr) {  // answered already, or a stream that has no answer: nobody reads on
      c.stop(s, static_cast<std::uint64_t>(hq_code::bad_request));
      return;
    }
    if (bytes.size() > r->text.size() - r->size) {
      refuse(c, s, hq_code::bad_request);
      return;
    }
    std::copy(bytes.begin(), bytes.end(), r->text.begin() + r->size);
    r->size = static_cast<std::uint16_t>(r->size + bytes.size());
    c.consume(s, bytes.size());
  }
  if (r == nullptr) return;
  const std::string_view text(r->text.data(), r->size);
  const std::size_t end = text.find_first_of("\r\n");
  if (end == std::string_view::npos && !s.recv.is_at_end()) return;
  answer(c, s, text.substr(0, end));
}

void hq_server::answer(connection& c, live_stream& s, std::string_view line) noexcept {
  constexpr std::string_view verb = "GET ";
  constexpr std::string_view bytes = "/bytes/";
  if (!line.starts_with(verb)) {
    refuse(c, s, hq_code::bad_request);
    return;
  }
  std::string_view path = line.substr(verb.size());
  path = path.substr(0, path.find(' '));
  std::uint64_t size = 0;
  if (path.starts_with(bytes)) {
    const char* last = path.data() + path.size();
    const auto [at, code] = std::from_chars(path.data() + bytes.size(), last, size);
    if (code != std::errc{} || at != last || size > max_pattern_body) {
      refuse(c, s, hq_code::no_such_path);
      return;
    }
    s.source = &pattern_;
  } else if (hq_files::file* file = files_ == nullptr ? nullptr : files_->find(path)) {
    s.source = file->from.get();
    size = file->content.size();
  } else {
    refuse(c, s, hq_code::no_such_path);
    return;
  }
  count_.requests.add(1);
  requests_.give(static_cast<request*>(std::exchange(s.user, nullptr)));
  if (size != 0) static_cast<void>(c.write(s, size));
  c.finish(s);
}

void hq_server::refuse(connection& c, live_stream& s, hq_code why) noexcept {
  (why == hq_code::no_such_path ? count_.not_found : count_.bad).add(1);
  requests_.give(static_cast<request*>(std::exchange(s.user, nullptr)));
  c.stop(s, static_cast<std::uint64_t>(why));
  c.reset(s, static_cast<std::uint64_t>(why));
}

void hq_server::on_stream_closed(connection&, live_stream& s) noexcept {
  requests_.give(static_cast<request*>(std::exchange(s.user, nullptr)));
}

}  // namespace millrace::pipeline
