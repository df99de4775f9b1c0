// The calendar is Gregorian throughout, also before it was invented, as POSIX has it. Years are counted from March, so
// that the day a leap year adds is the last of its year: days before a month are then (153 m + 2) / 5, with m 0 for
// March, and all else follows from 146 097 days in 400 years.
#include "http/wire/date.hpp"

#include <algorithm>

namespace millrace::http::wire {
namespace {

constexpr std::string_view short_days = "SunMonTueWedThuFriSat";
constexpr std::array<std::string_view, 7> long_days = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::int64_t day_s = 86'400;
constexpr std::int64_t days_of_era = 146'097;       // 400 years
constexpr std::int64_t days_before_1970 = 719'468;  // since March 1 of the year 0

struct calendar_day {
  std::int64_t year;
  unsigned month;  // 0: January
  unsigned day;    // 1: the first
};

[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Days since 1970.
[[nodiscard]] constexpr std::int64_t days_of(const calendar_day& c) noexcept {
  const std::int64_t year = c.year - (c.month < 2 ? 1 : 0);
  const std::int64_t era = floor_div(year, 400);
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t month = (c.month + 10) % 12;  // 0: March
  const std::int64_t day_of_year = (153 * month + 2) / 5 + c.day - 1;
  return era * days_of_era + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - days_before_1970;
}

[[nodiscard]] constexpr calendar_day day_at(std::int64_t days) noexcept {
  const std::int64_t since_era = days + days_before_1970;
  const std::int64_t era = floor_div(since_era, days_of_era);
  const std::int64_t day = since_era - era * days_of_era;
  // Without the days that leap years added: 1 in 1 461 days, less 1 in 36 524, and the last of the era.
  const std::int64_t year = (day - day / 1'460 + day / 36'524 - day / (days_of_era - 1)) / 365;
  const std::int64_t day_of_year = day - (year * 365 + year / 4 - year / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;  // 0: March
  const auto named = static_cast<unsigned>((month + 2) % 12);
  return {era * 400 + year + (named < 2 ? 1 : 0), named,
          static_cast<unsigned>(day_of_year - (153 * month + 2) / 5 + 1)};
}
static_assert(days_of({1970, 0, 1}) == 0 && days_of({2000, 1, 29}) == 11'016);

[[nodiscard]] constexpr unsigned weekday_of(std::int64_t days) noexcept {
  return static_cast<unsigned>(days + 4 - 7 * floor_div(days + 4, 7));  // 0: Sunday; 1970 began on a Thursday
}

void put(char* at, unsigned value, unsigned digits) noexcept {
  for (unsigned i = digits; i-- != 0; value /= 10) at[i] = static_cast<char>('0' + value % 10);
}

// Reads from the front; each step answers false and spoils the rest once something did not fit.
struct reader {
  std::string_view text;
  bool ok = true;

  void literal(std::string_view expected) noexcept {
    ok = ok && text.starts_with(expected);
    if (ok) text.remove_prefix(expected.size());
  }
  [[nodiscard]] unsigned number(std::size_t digits) noexcept {
    unsigned out = 0;
    ok = ok && text.size() >= digits;
    for (std::size_t i = 0; ok && i < digits; ++i) {
      ok = text[i] >= '0' && text[i] <= '9';
      out = out * 10 + static_cast<unsigned>(text[i] - '0');
    }
    if (ok) text.remove_prefix(digits);
    return out;
  }
  // The place of the next three letters among `names`.
  [[nodiscard]] unsigned name(std::string_view names) noexcept {
    for (std::size_t i = 0; ok && text.size() >= 3 && i < names.size(); i += 3) {
      if (text.substr(0, 3) != names.substr(i, 3)) continue;
      text.remove_prefix(3);
      return static_cast<unsigned>(i / 3);
    }
    ok = false;
    return 0;
  }
  // RFC 9110 5.6.7: asctime pads with a space.
  [[nodiscard]] unsigned padded() noexcept {
    if (ok && text.starts_with(' ')) {
      text.remove_prefix(1);
      return number(1);
    }
    return number(2);
  }
};

struct civil {
  unsigned y = 0, m = 0, d = 0, hour = 0, minute = 0, second = 0;
  unsigned weekday = 0;

  void time(reader& in) noexcept {
    hour = in.number(2);
    in.literal(":");
    minute = in.number(2);
    in.literal(":");
    second = in.number(2);
  }
  [[nodiscard]] std::optional<std::int64_t> seconds() const noexcept {
    // 60: a leap second, taken as the first of the next minute.
    if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
    const std::int64_t days = days_of({y, m, d});
    // A day that its month has not, or a wrong day of the week.
    const calendar_day back = day_at(days);
    if (back.month != m || back.day != d || weekday_of(days) != weekday) return std::nullopt;
    return days * day_s + hour * 3600 + minute * 60 + second;
  }
};

// RFC 9110 5.6.7: "Sunday, 06-Nov-94 08:49:37 GMT".
[[nodiscard]] std::optional<std::int64_t> parse_rfc850(reader in, unsigned weekday, std::int64_t now_s) noexcept {
  civil c{.weekday = weekday};
  in.literal(", ");
  c.d = in.number(2);
  in.literal("-");
  c.m = in.name(months);
  in.literal("-");
  const unsigned two = in.number(2);
  in.literal(" ");
  c.time(in);
  in.literal(" GMT");
  if (!in.ok || !in.text.empty()) return std::nullopt;
  const std::int64_t now = day_at(floor_div(now_s, day_s)).year;
  std::int64_t full = now - now % 100 + two;
  if (full > now + 50) full -= 100;
  if (full < 0) return std::nullopt;
  c.y = static_cast<unsigned>(full);
  return c.seconds();
}

}  // namespace

date_text emit_date(std::int64_t unix_s) noexcept {
  constexpr std::int64_t first = -62'167'219'200;  // 0000-01-01
  constexpr std::int64_t last = 253'402'300'799;   // 9999-12-31 23:59:59
  const std::int64_t at = std::clamp(unix_s, first, last);
  const std::int64_t days = floor_div(at, day_s);
  const calendar_day date = day_at(days);
  const auto rest = static_cast<unsigned>(at - days * day_s);
  date_text out;
  std::copy_n("Sun, 00 Jan 0000 00:00:00 GMT", date_size, out.data());
  std::copy_n(short_days.data() + 3 * weekday_of(days), 3, out.data());
  put(out.data() + 5, date.day, 2);
  std::copy_n(months.data() + 3 * date.month, 3, out.data() + 8);
  put(out.data() + 12, static_cast<unsigned>(date.year), 4);
  put(out.data() + 17, rest / 3600, 2);
  put(out.data() + 20, rest / 60 % 60, 2);
  put(out.data() + 23, rest % 60, 2);
  return out;
}

std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now_s) noexcept {
  for (unsigned i = 0; i < long_days.size(); ++i)
    if (text.starts_with(long_days[i])) return parse_rfc850({text.substr(long_days[i].size())}, i, now_s);
  reader in{text};
  civil c;
  c.weekday = in.name(short_days);
  if (in.ok && in.text.starts_with(',')) {  // IMF-fixdate
    in.literal(", ");
    c.d = in.number(2);
    in.literal(" ");
    c.m = in.name(months);
    in.literal(" ");
    c.y = in.number(4);
    in.literal(" ");
    c.time(in);
    in.literal(" GMT");
  } else {  // asctime: "Sun Nov  6 08:49:37 1994"
    in.literal(" ");
    c.m = in.name(months);
    in.literal(" ");
    c.d = in.padded();
    in.literal(" ");
    c.time(in);
    in.literal(" ");
    c.y = in.number(4);
  }
  if (!in.ok || !in.text.empty()) return std::nullopt;
  return c.seconds();
}

}  // namespace millrace::http::wire
