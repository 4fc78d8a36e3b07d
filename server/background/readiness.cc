#include "server/background/readiness.h"

#include <algorithm>
#include <string>

#include "base/time.h"

namespace plimsoll::server {
namespace {

std::string seconds_text(int64_t wall_ns) {
  return format_time(wall_ns / kNsPerSecond * kNsPerSecond);
}

bool fails_too_long(const query::BackgroundWorkHealth& work) {
  // The wall clock may have been set back.
  return work.is_failing() &&
         std::max<int64_t>(work.last_error_ns - work.failing_since_ns, 0) >= work.tolerance_ns;
}

void add(std::string& all, const std::string& one) {
  all += (all.empty() ? "" : "; ") + one;
}

}  // namespace

Status readiness(const std::vector<query::BackgroundWorkHealth>& works, int64_t now_ns) {
  std::string messages;
  std::string hints;
  for (const query::BackgroundWorkHealth& work : works) {
    if (fails_too_long(work)) {
      add(messages,
          fmt::format(
              "background work {} has been failing since {} ({} passes in a row, the newest at {}): {}",
              work.name, seconds_text(work.failing_since_ns), work.failures_in_row,
              seconds_text(work.last_error_ns), work.last_error));
      add(hints, fmt::format("{}: {}", work.name, work.hint));
    }
    if (work.is_stuck(now_ns)) {
      add(messages,
          fmt::format("background work {} is stuck: one pass has been running since {}, longer than {}",
                      work.name, seconds_text(work.running_since_ns), format_duration(work.max_pass_ns)));
      add(hints, fmt::format("{}: restart the server, which repeats the pass", work.name));
    }
  }
  return messages.empty() ? Status()
                          : with_hint(fail(ErrorCode::kUnavailable, "not ready: {}", messages), hints);
}

}  // namespace plimsoll::server
