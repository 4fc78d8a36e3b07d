#include "base/time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ctime>

namespace plimsoll {
namespace {

int64_t clock_now_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

// Takes exactly `digits` decimal digits off the front of `text`.
std::optional<int> take_digits(std::string_view& text, size_t digits) {
  int value = 0;
  if (text.size() < digits) {
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits || text.front() == '-') {
    return std::nullopt;
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

std::optional<int64_t> take_fraction_ns(std::string_view& text) {
  if (!take(text, '.')) {
    return 0;
  }
  int64_t nanoseconds = 0;
  int64_t unit = kNsPerSecond / 10;
  size_t digits = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    nanoseconds += (text.front() - '0') * unit;
    unit /= 10;
    text.remove_prefix(1);
    ++digits;
  }
  return digits == 0 ? std::nullopt : std::optional(nanoseconds);
}

// "Z" or "+hh:mm", in seconds east of UTC.
std::optional<int64_t> take_zone_s(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) {
    return 0;
  }
  const bool east = take(text, '+');
  if (!east && !take(text, '-')) {
    return std::nullopt;
  }
  const auto hours = take_digits(text, 2);
  if (!hours || !take(text, ':')) {
    return std::nullopt;
  }
  const auto minutes = take_digits(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) {
    return std::nullopt;
  }
  const int64_t offset_s = *hours * 3600 + *minutes * 60;
  return east ? offset_s : -offset_s;
}

std::optional<std::tm> take_calendar(std::string_view& text) {
  std::tm calendar{};
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) {
    return std::nullopt;
  }
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) {
    return std::nullopt;
  }
  const auto day = take_digits(text, 2);
  if (!day || (!take(text, 'T') && !take(text, 't') && !take(text, ' '))) {
    return std::nullopt;
  }
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ':')) {
    return std::nullopt;
  }
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ':')) {
    return std::nullopt;
  }
  const auto second = take_digits(text, 2);
  if (!second || *month < 1 || *month > 12 || *day < 1 || *day > 31 || *hour > 23 || *minute > 59 ||
      *second > 60) {
    return std::nullopt;
  }
  calendar.tm_year = *year - 1900;
  calendar.tm_mon = *month - 1;
  calendar.tm_mday = *day;
  calendar.tm_hour = *hour;
  calendar.tm_min = *minute;
  calendar.tm_sec = *second;
  return calendar;
}

std::optional<int64_t> parse_rfc3339_ns(std::string_view text) {
  auto calendar = take_calendar(text);
  if (!calendar || calendar->tm_year < 70 || calendar->tm_year > 300) {
    return std::nullopt;
  }
  const auto fraction_ns = take_fraction_ns(text);
  const auto zone_s = take_zone_s(text);
  if (!fraction_ns || !zone_s || !text.empty()) {
    return std::nullopt;
  }
  const int day = calendar->tm_mday;
  const int64_t seconds = ::timegm(&*calendar);
  if (calendar->tm_mday != day) {  // 31 April: timegm has normalized it
    return std::nullopt;
  }
  return (seconds - *zone_s) * kNsPerSecond + *fraction_ns;
}

struct DurationUnit {
  std::string_view name;
  int64_t length_ns;
};

// The longest first; of two names the one to write is.
constexpr std::array<DurationUnit, 8> kDurationUnits{{{"d", 86'400 * kNsPerSecond},
                                                      {"h", 3'600 * kNsPerSecond},
                                                      {"m", 60 * kNsPerSecond},
                                                      {"min", 60 * kNsPerSecond},
                                                      {"s", kNsPerSecond},
                                                      {"ms", 1'000'000},
                                                      {"us", 1'000},
                                                      {"ns", 1}}};

std::optional<int64_t> length_of_unit_ns(std::string_view name) {
  const auto* const unit = std::ranges::find(kDurationUnits, name, &DurationUnit::name);
  return unit == kDurationUnits.end() ? std::nullopt : std::optional(unit->length_ns);
}

}  // namespace

int64_t wall_now_ns() {
  return clock_now_ns(CLOCK_REALTIME);
}

int64_t thread_cpu_ns() {
  return clock_now_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t monotonic_now_ns() {
  return clock_now_ns(CLOCK_MONOTONIC);
}

int64_t boot_now_ns() {
  return clock_now_ns(CLOCK_BOOTTIME);
}

std::string format_time(int64_t wall_ns) {
  const int64_t nanoseconds = ((wall_ns % kNsPerSecond) + kNsPerSecond) % kNsPerSecond;
  const time_t seconds = (wall_ns - nanoseconds) / kNsPerSecond;
  std::tm calendar{};
  ::gmtime_r(&seconds, &calendar);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", calendar.tm_year + 1900, calendar.tm_mon + 1,
                  calendar.tm_mday, calendar.tm_hour, calendar.tm_min, calendar.tm_sec);
  if (nanoseconds != 0) {
    std::string fraction = fmt::format(".{:09}", nanoseconds);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += fraction;
  }
  return text + "Z";
}

std::optional<int64_t> parse_duration_ns(std::string_view text) {
  double amount = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), amount, std::chars_format::fixed);
  if (error != std::errc() || text.front() == '-' || !std::isfinite(amount)) {
    return std::nullopt;
  }
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const std::optional<int64_t> unit_ns = unit.empty() ? kNsPerSecond : length_of_unit_ns(unit);
  if (!unit_ns) {
    return std::nullopt;
  }
  constexpr double kLongestNs = 100.0 * 365 * 86400e9;
  const double nanoseconds = amount * static_cast<double>(*unit_ns);
  return nanoseconds > kLongestNs ? std::nullopt
                                  : std::optional(static_cast<int64_t>(std::llround(nanoseconds)));
}

std::string format_duration(int64_t duration_ns) {
  const auto* const unit = std::ranges::find_if(
      kDurationUnits, [&](const DurationUnit& candidate) { return duration_ns % candidate.length_ns == 0; });
  return duration_ns == 0 ? "0s" : fmt::format("{}{}", duration_ns / unit->length_ns, unit->name);
}

std::optional<int64_t> parse_time_ns(std::string_view text, int64_t now_ns) {
  if (text == "now") {
    return now_ns;
  }
  if (const auto absolute_ns = parse_rfc3339_ns(text)) {
    return absolute_ns;
  }
  if (!text.empty() && text.front() == '-') {
    text.remove_prefix(1);
  }
  // 5 may be meant for minutes, hours or days.
  const bool has_unit = !text.empty() && std::isalpha(static_cast<unsigned char>(text.back())) != 0;
  const auto before_ns = has_unit ? parse_duration_ns(text) : std::nullopt;
  return before_ns ? std::optional(now_ns - *before_ns) : std::nullopt;
}

bool moves_with_clock(std::string_view text) {
  return parse_time_ns(text, 0) != parse_time_ns(text, kNsPerHour);
}

}  // namespace plimsoll
