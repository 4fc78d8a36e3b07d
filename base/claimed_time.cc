#include "base/claimed_time.h"

#include <fmt/format.h>

#include "base/time.h"

namespace plimsoll {
namespace {

constexpr int64_t kYear2000Ns = 946'684'800 * kNsPerSecond;
// Clocks of machines differ, and some are set to local time.
constexpr int64_t kMaxAheadNs = 24 * kNsPerHour;

bool can_be(int64_t wall_ns, int64_t now_ns) {
  return wall_ns >= kYear2000Ns && wall_ns - now_ns <= kMaxAheadNs;
}

std::string why_not(int64_t wall_ns) {
  return fmt::format("{}, is {}", format_time(wall_ns),
                     wall_ns < kYear2000Ns ? "before the year 2000" : "in the future");
}

}  // namespace

ChosenTime choose_end_time(const ClaimedTimes& claimed) {
  if (claimed.given_ns != 0) {
    return {claimed.given_ns};
  }
  const int64_t now_ns = claimed.now_ns;
  if (now_ns == 0 || (claimed.told_ns != 0 && can_be(claimed.told_ns, now_ns))) {
    return {claimed.told_ns != 0 ? claimed.told_ns : claimed.modified_ns};
  }
  const bool is_modified_used = can_be(claimed.modified_ns, now_ns);
  ChosenTime chosen{is_modified_used ? claimed.modified_ns : now_ns};
  const bool is_wrong = claimed.told_ns != 0 || (!is_modified_used && claimed.modified_ns != 0);
  chosen.note = is_wrong ? kWrongTime : kNoTime;
  chosen.note += claimed.told_ns != 0 ? "its time, " + why_not(claimed.told_ns)
                                      : std::string("it has no time of its own");
  if (!is_modified_used && claimed.modified_ns != 0) {
    chosen.note += fmt::format("; when the file was last written, {}", why_not(claimed.modified_ns));
  }
  chosen.note +=
      fmt::format("; it counts as having ended {}, {} (give another with --time)", format_time(chosen.end_ns),
                  is_modified_used ? "when the file was last written" : "now");
  return chosen;
}

}  // namespace plimsoll
