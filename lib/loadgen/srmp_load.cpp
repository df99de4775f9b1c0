#include "loadgen/srmp_load.hpp"

#include "loadgen/load_session.hpp"
#include "pipeline/service_loop.hpp"

namespace millrace::loadgen {
namespace {

using base::failure;

constexpr std::size_t udp_header_size = 8;

// The way out of the loop's interface, from one local port at a time.
class udp_way {
  pipeline::udp_output* out_ = nullptr;
  net::udp_flow flow_;
  base::ip_address wanted_source_;
  std::vector<std::uint8_t> scratch_;  // datagrams that are larger than a packet's room
  std::size_t frame_size_;             // of every message
  std::uint64_t now_ns_ = 0;
  std::uint64_t refused_ = 0;
  bool went_ = false;

  [[nodiscard]] bool is_large() const noexcept { return frame_size_ > out_->max_payload(); }

 public:
  udp_way(const load_settings& settings, std::size_t frame_size)
      : wanted_source_(settings.source),
        scratch_(frame_size > mem::default_data_room / 2 ? frame_size : 0),
        frame_size_(frame_size) {
    flow_.remote = settings.target;
    flow_.local.address = settings.source;
  }

  void begin(pipeline::udp_output& out, std::uint64_t now_ns) noexcept {
    out_ = &out;
    now_ns_ = now_ns;
  }

  [[nodiscard]] bool has_source() noexcept {
    if (wanted_source_.family != base::ip_family::none) return out_->host().addresses().is_ours(wanted_source_);
    const net::local_address* const ours = out_->host().source_for(flow_.remote.address);
    if (ours == nullptr) return false;
    flow_.local.address = ours->ip;
    return true;
  }
  void aim(std::uint16_t local_port) noexcept { flow_.local.port = local_port; }
  [[nodiscard]] base::byte_span open() noexcept { return is_large() ? base::byte_span(scratch_) : out_->open(); }
  void close(std::size_t size) noexcept {
    if (size == 0) {
      if (!is_large()) (void)out_->close(flow_, 0);
      return;
    }
    const net::tx_what what =
        is_large() ? out_->send(flow_, base::byte_view(scratch_).first(size)) : out_->close(flow_, size);
    went_ = what == net::tx_what::ready;
    if (what == net::tx_what::dropped) ++refused_;
  }
  void say_goodbye() noexcept { (void)out_->send(flow_, {}); }

  [[nodiscard]] std::size_t max_payload() const noexcept {
    return std::min(out_->host().max_udp_payload(flow_.remote.address, now_ns_), out_->max_payload());
  }
  [[nodiscard]] unsigned packets(std::size_t bytes) const noexcept {
    const std::size_t path = out_->host().max_udp_payload(flow_.remote.address, now_ns_);
    if (bytes <= path) [[likely]]
      return 1;
    const std::size_t step =
        (path + udp_header_size - (flow_.remote.address.family == base::ip_family::v4 ? 0 : 8)) / 8 * 8;
    return static_cast<unsigned>((bytes + udp_header_size + step - 1) / step);
  }
  // Nothing may be added while the transmit ring refuses what waits.
  [[nodiscard]] unsigned room() const noexcept { return out_->is_blocked() ? 0 : out_->room(); }
  [[nodiscard]] bool went() const noexcept { return went_; }
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
  [[nodiscard]] std::uint64_t unreachable() const noexcept {
    return out_->host().held_drops().get(stats::drop_reason::neighbour_unreachable);
  }
  [[nodiscard]] std::uint64_t waiting() const noexcept { return out_->host().frames_held(); }
  [[nodiscard]] std::uint64_t icmp_errors() const noexcept { return out_->host().figures().errors_received.get(); }
};

}  // namespace

struct srmp_load::parts {
  std::unique_ptr<load_session<udp_way>> session;
  udp_way way;
  bool parted = false;

  [[nodiscard]] udp_way& way_of(pipeline::service_turn& turn) noexcept {
    way.begin(*turn.outputs[session->settings().interface], turn.now_ns);
    return way;
  }
  void pump(pipeline::service_turn& turn) noexcept {
    udp_way& out = way_of(turn);
    session->pump(out, turn.now_ns);
    if (session->phase() == load_phase::finished && !parted) part(out);
  }
  // Peers of the first generation are told that we go.
  void part(udp_way& out) noexcept {
    parted = true;
    session->close([&](std::uint16_t port) {
      if (out.room() == 0) return;
      out.aim(port);
      out.say_goodbye();
    });
  }
};

base::result<std::unique_ptr<srmp_load>> srmp_load::make(const load_settings& settings) {
  if (auto checked = check(settings); !checked) return checked.error();
  auto session = load_session<udp_way>::make(settings);
  if (!session)
    return failure{"no memory for a load generator of " + std::to_string(settings.connections) + " connections", ""};
  const std::size_t frame_size = srmp::wire::short_header_size + load_messages(settings).size();
  auto of = std::make_unique<parts>(std::move(session), udp_way(settings, frame_size));
  return std::make_unique<srmp_load>(passkey{}, std::move(of));
}

srmp_load::srmp_load(passkey, std::unique_ptr<parts> of) noexcept : of_(std::move(of)) {}
srmp_load::~srmp_load() = default;

base::outcome srmp_load::open_on(pipeline::service_loop& loop) {
  const load_settings& s = settings();
  if (s.interface >= loop.interfaces())
    return failure{"the load generator's interface " + std::to_string(s.interface) + " is none of the loop's", "",
                   true};
  // Also those of other shares: a reply that goes astray is ignored, and not answered with "port unreachable".
  const std::uint32_t ports = s.port_tries * std::max<std::uint32_t>(s.port_step, s.port_offset + s.connections);
  for (std::uint32_t port = s.first_port; port < s.first_port + ports && port <= UINT16_MAX; ++port)
    if (auto opened = loop.open(static_cast<std::uint16_t>(port), *this); !opened) return opened;
  return base::done{};
}

void srmp_load::on_datagrams(std::span<const pipeline::udp_arrival> arrivals, pipeline::service_turn& turn) noexcept {
  for (const pipeline::udp_arrival& one : arrivals)
    of_->session->on_datagram(one.udp.local.port, one.udp.remote, one.udp.payload, turn.now_ns);
  of_->pump(turn);
}

std::uint64_t srmp_load::due_ns() const noexcept { return of_->session->due_ns(); }
void srmp_load::on_time(pipeline::service_turn& turn) noexcept { of_->pump(turn); }
void srmp_load::on_stop(pipeline::service_turn& turn) noexcept {
  of_->session->stop(turn.now_ns);
  of_->pump(turn);
}
bool srmp_load::is_finished() const noexcept { return of_->session->phase() == load_phase::finished; }
load_figures srmp_load::figures() const noexcept { return of_->session->figures(); }
const stats::latency_histogram& srmp_load::latency() const noexcept { return of_->session->latency(); }
const load_settings& srmp_load::settings() const noexcept { return of_->session->settings(); }

}  // namespace millrace::loadgen
