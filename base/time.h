// Clocks and the text of times: RFC 3339 in UTC, and durations and times relative to now as people type them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

inline constexpr int64_t kNsPerSecond = 1'000'000'000;
inline constexpr int64_t kNsPerMs = 1'000'000;
inline constexpr int64_t kNsPerMinute = 60 * kNsPerSecond;
inline constexpr int64_t kNsPerHour = 60 * kNsPerMinute;

int64_t wall_now_ns();       // CLOCK_REALTIME, nanoseconds since 1970
int64_t monotonic_now_ns();  // CLOCK_MONOTONIC, the clock of our perf events
int64_t thread_cpu_ns();     // what the calling thread has run so far (CLOCK_THREAD_CPUTIME_ID)
// CLOCK_BOOTTIME: never set, goes on while the machine is suspended; of starts in /proc.
int64_t boot_now_ns();

// "2026-11-21T02:38:16Z", with a fraction of the second only where there is one.
std::string format_time(int64_t wall_ns);

// "90", "250ms", "1.5s", "20m", "1h", "7d"; a bare number is seconds. Nothing where the text is something
// else, negative or over 100 years.
std::optional<int64_t> parse_duration_ns(std::string_view text);

// What parse_duration_ns() reads as that, in the longest unit that it is a whole number of: "90m", "1d".
std::string format_duration(int64_t duration_ns);

// RFC 3339 ("2026-11-21T02:38:16Z", a "+01:00" offset, a fraction), "now", or a duration before now, with its unit, with or
// without its minus sign ("-2h", "1h").
std::optional<int64_t> parse_time_ns(std::string_view text, int64_t now_ns);
// Whether it is such a time, and relative to now.
bool moves_with_clock(std::string_view text);

}  // namespace plimsoll
