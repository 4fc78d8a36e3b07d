#include "store/merging/merge_plan.h"

#include <algorithm>
#include <bit>

namespace plimsoll::store {
namespace {

constexpr int64_t kSpanOfAge = 10;
constexpr int64_t kBytesOfRows = 16;

int level_of(const MergeCandidate& block) {
  const auto blocks = static_cast<uint64_t>(std::max<int64_t>(block.last - block.first + 1, 1));
  return static_cast<int>(std::bit_width(blocks) - 1) / 2;
}

bool is_due(std::span<const MergeCandidate> members, const MergeLimits& limits) {
  const bool are_alike = std::ranges::all_of(members, [&](const MergeCandidate& member) {
    return member.is_fit && level_of(member) == level_of(members.front());
  });
  if (!are_alike) {
    return false;
  }
  int64_t bytes = 0;
  int64_t from_ns = INT64_MAX;
  int64_t to_ns = INT64_MIN;
  for (const MergeCandidate& member : members) {
    bytes += member.bytes;
    from_ns = std::min(from_ns, member.from_ns);
    to_ns = std::max(to_ns, member.to_ns);
  }
  // Clocks of machines may be set to any time: the difference is unsigned.
  const uint64_t span_ns =
      from_ns > to_ns ? 0 : static_cast<uint64_t>(to_ns) - static_cast<uint64_t>(from_ns);
  return bytes <= limits.max_bytes && span_ns <= static_cast<uint64_t>(limits.max_span_ns);
}

}  // namespace

MergeLimits merge_limits(const RetentionLimits& limits) {
  const MergeLimits defaults{};
  return {.max_span_ns = std::min(limits.rows_max_age_ns / kSpanOfAge, defaults.max_span_ns),
          .max_bytes = std::min(limits.rows_max_bytes / kBytesOfRows, defaults.max_bytes),
          .min_free_bytes = limits.min_free_bytes};
}

std::optional<size_t> next_merge(std::span<const MergeCandidate> blocks, const MergeLimits& limits) {
  for (size_t first = 0; first + kMergedBlocks <= blocks.size(); ++first) {
    if (is_due(blocks.subspan(first, kMergedBlocks), limits)) {
      return first;
    }
  }
  return std::nullopt;
}

}  // namespace plimsoll::store
