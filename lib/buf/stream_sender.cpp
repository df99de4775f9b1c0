#include "buf/stream_sender.hpp"

namespace millrace::buf {

send_status stream_sender::next(packet& out) noexcept {
  if (final_ != send_status::block) return final_;
  // Whole blocks only: a consumer that grants a byte at a time must not make the stream crumble.
  if (credit_ < wanted()) return send_status::wait_credit;
  const send_status status = pull(out);
  if (status == send_status::block) credit_ -= out.length();
  return status;
}

send_status stream_sender::into(pipe& target) noexcept {
  while (target.state() == flow::open) {
    packet block;
    const send_status status = final_ != send_status::block ? final_ : pull(block);
    if (status != send_status::block) return status;
    target.append(std::move(block));
  }
  return target.state() == flow::closed ? send_status::closed : send_status::wait_credit;
}

send_status stream_sender::pull(packet& out) noexcept {
  const bool known = left_ != stream_sender_config::to_the_end;
  if (left_ == 0) return finish(send_status::done);
  packet block;
  switch (source_.pull(source_.context, wanted(), block)) {
    case pull_status::block:
      break;
    case pull_status::end:
      return finish(known ? send_status::short_source : send_status::done);
    case pull_status::not_yet:
      return send_status::wait_source;
    case pull_status::no_memory:
      return send_status::wait_memory;
    case pull_status::failed:
      return finish(send_status::failed);
  }
  // More than was asked for, or an empty block, is a source that cannot be believed.
  if (block.length() == 0 || block.length() > wanted()) return finish(send_status::failed);
  sent_ += block.length();
  if (known) left_ -= block.length();
  out = std::move(block);
  return send_status::block;
}

}  // namespace millrace::buf
