#include "store/retention/retention_limits.h"

#include <algorithm>

namespace plimsoll::store {
namespace {

constexpr int64_t kRawPercent = 15;
constexpr int64_t kRowsPercent = 45;
constexpr int64_t kFullPercent = 35;
constexpr int64_t kSymbolsPercent = 5;
constexpr int64_t kTracesPercent = 15;
constexpr int64_t kBurstsPercent = 5;
constexpr int64_t kFreePercent = 10;
// A tenth of a large disk is more than a machine needs to go on working.
constexpr int64_t kMaxFreeBytes = int64_t{10} << 30;
constexpr int64_t kFreeMarginPercent = 10;

constexpr uint64_t kMinBlocks = 8;

int64_t share_unless_set(int64_t set, int64_t disk_bytes, int64_t percent) {
  return set > 0 ? set : disk_bytes / 100 * percent;
}

}  // namespace

RetentionLimits RetentionLimits::on_disk_of(int64_t disk_bytes) const {
  RetentionLimits limits = *this;
  limits.raw_max_bytes = share_unless_set(raw_max_bytes, disk_bytes, kRawPercent);
  limits.rows_max_bytes = share_unless_set(rows_max_bytes, disk_bytes, kRowsPercent);
  limits.full_max_bytes = share_unless_set(full_max_bytes, disk_bytes, kFullPercent);
  limits.symbols_max_bytes = share_unless_set(symbols_max_bytes, disk_bytes, kSymbolsPercent);
  limits.traces_max_bytes = share_unless_set(traces_max_bytes, disk_bytes, kTracesPercent);
  limits.bursts_max_bytes = share_unless_set(bursts_max_bytes, disk_bytes, kBurstsPercent);
  limits.min_free_bytes =
      min_free_bytes > 0 ? min_free_bytes : std::min(disk_bytes / 100 * kFreePercent, kMaxFreeBytes);
  return limits;
}

int64_t RetentionLimits::wanted_free_bytes() const {
  return min_free_bytes + min_free_bytes / 100 * kFreeMarginPercent;
}

uint64_t max_block_bytes(const RetentionLimits& limits, uint64_t configured) {
  return std::min(configured, static_cast<uint64_t>(limits.rows_max_bytes) / kMinBlocks);
}

}  // namespace plimsoll::store
