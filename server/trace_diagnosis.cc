#include "server/trace_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/stop_scope.h"
#include "query/traces/hour_diagnosis.h"
#include "query/traces/stored_requests.h"
#include "store/directory/data_directory.h"
#include "store/identity/directory_identity.h"
#include "store/spans/finding_store.h"

namespace plimsoll::server {
namespace {

// From the end of an hour on: requests of it end, and senders wait for batches.
constexpr int64_t kSettleNs = 10 * kNsPerMinute;

// Hours that passed without a diagnosis, as while no server ran.
constexpr int64_t kMaxHoursLater = 24;

int64_t newest_whole_hour(int64_t now_ns) {
  return (now_ns - kSettleNs) / kNsPerHour * kNsPerHour - kNsPerHour;
}

// The oldest hour that is to be diagnosed up to the newest whole one: the one behind `last_ns`, which was diagnosed last. Not one that would
// be dropped at once for its age.
int64_t hour_to_diagnose(std::optional<int64_t> last_ns, int64_t newest_ns, int64_t max_age_ns) {
  const int64_t hours = std::clamp(max_age_ns / kNsPerHour, int64_t{1}, kMaxHoursLater);
  return last_ns ? std::max(*last_ns + kNsPerHour, newest_ns - (hours - 1) * kNsPerHour) : newest_ns;
}

NextPass when_next_is_over(int64_t begin_ns, int64_t now_ns, bool was_due) {
  return {.after = std::chrono::nanoseconds(begin_ns + 2 * kNsPerHour + kSettleNs - now_ns),
          .was_due = was_due};
}

Result<store::DiagnosedHour> diagnosed(const TraceDiagnosisOptions& options, int64_t begin_ns) {
  const auto read = [&](int64_t from_ns) {
    return query::read_stored_requests_if_any(options.data_dir, {from_ns, begin_ns + kNsPerHour},
                                              options.max_spans);
  };
  std::string note;
  auto requests = read(begin_ns - kNsPerHour);
  if (!requests && requests.error().code == ErrorCode::kTooLarge) {
    note = "too many spans to compare with the hour before";
    requests = read(begin_ns);
  }
  if (!requests && requests.error().code == ErrorCode::kTooLarge) {
    note = fmt::format("not diagnosed: over {} spans; raise traces.sample", options.max_spans);
    return store::DiagnosedHour{
        .begin_ns = begin_ns, .requests = 0, .note = std::move(note), .categories = {}, .findings = {}};
  }
  auto made = requests ? query::diagnose_hour(begin_ns, *requests) : propagate(requests);
  if (made && !note.empty()) {
    made->note = fmt::format("{}{}{}", note, made->note.empty() ? "" : "; ", made->note);
  }
  return made;
}

void log_findings(const store::DiagnosedHour& hour) {
  for (const store::KeptFinding& finding : hour.findings) {
    log_warning("request traces from {}: {} {}{}{}: {} (confidence {:.0f} %, {})", format_time(hour.begin_ns),
                finding.service, finding.operation, finding.replica.empty() ? "" : " on ", finding.replica,
                finding.kind, 100 * finding.confidence, finding.evidence);
  }
}

// The oldest hour that is due.
Result<NextPass> diagnose_next(const TraceDiagnosisOptions& options, int64_t now_ns) {
  const std::string spans_path = store::spans_path_of(options.data_dir);
  const int64_t newest_ns = newest_whole_hour(now_ns);
  std::error_code error;
  // Made when the first spans come.
  const bool has_spans = std::filesystem::exists(spans_path, error);
  if (error) {
    return fail_errno(error.value(), "looking for {}", spans_path);
  }
  if (!has_spans) {
    return when_next_is_over(newest_ns, now_ns, false);
  }
  const auto identity = store::read_identity(options.data_dir);
  auto store = identity ? store::FindingStore::open(spans_path, identity->id) : propagate(identity);
  // Later ones were diagnosed before the clock was set back: they stay, and keep no other from being diagnosed.
  const auto last_ns = store ? store->newest_ns(newest_ns + 1) : propagate(store);
  if (!last_ns) {
    return propagate(last_ns);
  }
  if (*last_ns == newest_ns) {
    return when_next_is_over(newest_ns, now_ns, false);
  }
  const int64_t begin_ns = hour_to_diagnose(*last_ns, newest_ns, options.max_age_ns);
  const auto hour = diagnosed(options, begin_ns);
  const Status kept = hour ? store->add(*hour, now_ns - options.max_age_ns) : propagate(hour);
  if (!kept) {
    return propagate(kept, "diagnosing request traces from {}", format_time(begin_ns));
  }
  log_findings(*hour);
  return begin_ns < newest_ns ? NextPass{.after = std::chrono::nanoseconds(0)}
                              : when_next_is_over(newest_ns, now_ns, true);
}

}  // namespace

BackgroundTask::Pass trace_diagnosis_pass(TraceDiagnosisOptions options, std::function<int64_t()> now_ns) {
  return [options = std::move(options),
          now_ns = std::move(now_ns)](const std::stop_token& stop) -> Result<NextPass> {
    const StopCheck check = [&stop]() -> Status {
      return stop.stop_requested() ? fail(ErrorCode::kUnavailable, "the server stops") : Status();
    };
    const StopScope scope(check);
    auto next = diagnose_next(options, now_ns());
    return !next && stop.stop_requested() ? Result<NextPass>(NextPass()) : std::move(next);
  };
}

}  // namespace plimsoll::server
