#include <algorithm>

#include "base/time.h"
#include "store/door/bursts.h"

namespace plimsoll::store {
namespace {

constexpr uint64_t kMaxCount = INT64_MAX;

}  // namespace

Result<StoredBursts> summary_of(const traces::BurstRecording& recording) {
  if (recording.bursts.empty()) {
    return fail(ErrorCode::kInvalid, "the recording has no bursts");
  }
  StoredBursts summary{.machine = recording.machine,
                       .draw = recording.draw,
                       .config_bits = recording.config_bits,
                       .clock = recording.clock,
                       .begin_ns = INT64_MAX,
                       .end_ns = INT64_MIN,
                       .bursts = recording.bursts.size()};
  for (const traces::Burst& burst : recording.bursts) {
    summary.begin_ns = std::min(summary.begin_ns, burst.planned.begin_ms * kNsPerMs);
    summary.end_ns = std::max(summary.end_ns, burst.planned.end_ms * kNsPerMs);
    summary.events += burst.events.size();
    // The counts are the sender's: their sum stays a number of the catalogue.
    summary.lost = std::min(summary.lost + std::min(burst.all_lost(), kMaxCount), kMaxCount);
  }
  return summary;
}

}  // namespace plimsoll::store
