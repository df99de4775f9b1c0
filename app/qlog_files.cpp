#include "app/qlog_files.hpp"

#include "env/clock.hpp"
#include "env/tsc_clock.hpp"

namespace millrace::app {
namespace {

constexpr std::uint64_t pause_ns = 20'000'000;  // 65536 records in that time are three million a second

}  // namespace

base::result<std::unique_ptr<qlog_files>> qlog_files::make(const std::string& directory, std::size_t lcores) {
  auto made = std::make_unique<qlog_files>();
  const auto now_ns = static_cast<std::int64_t>(env::tsc_clock{}.now_ns());
  auto writer = telemetry::qlog_writer::make({.directory = directory, .wall_less_now_ns = env::wall_now_ns() - now_ns});
  if (!writer) return writer.error();
  made->writer_ = std::move(writer.value());
  for (std::size_t i = 0; i < lcores; ++i) {
    made->queues_.push_back(quic::conn::trace_queue::make(qlog_records, qlog_connections));
    if (!made->queues_.back()) return base::failure{"no memory for the records of qlog", ""};
  }
  if (auto started = made->thread_.start(
          "qlog", pause_ns, [](void* self) { static_cast<qlog_files*>(self)->turn(); }, made.get());
      !started)
    return started.error();
  return made;
}

void qlog_files::turn() {
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    for (const auto& queue : queues_) more |= writer_->write_from(*queue) != 0;
    any |= more;
  }
  if (any) writer_->flush();
}

}  // namespace millrace::app
