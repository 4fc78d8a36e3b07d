// Which blocks become one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "store/retention/retention_limits.h"

namespace plimsoll::store {

// How many neighbours become one block.
inline constexpr size_t kMergedBlocks = 4;

struct MergeLimits {
  // Of a block that is made. It is dropped as a whole: both bound how much goes at once.
  int64_t max_span_ns = 40 * RetentionLimits::kDayNs;  // from the earliest window to the end of the latest
  int64_t max_bytes = int64_t{4} << 30;                // of its members, on disk
  // Stacks and locations of a block that is made, by which questions and merging take memory.
  uint64_t max_entries = 8'000'000;
  int64_t min_free_bytes = 0;  // of the disk, with the members and what they become beside each other
  std::chrono::steady_clock::duration keep_replaced = std::chrono::seconds(10);
};

// A tenth of the age that rows reach, at most 40 days; a sixteenth of the size that all rows may have, at most 4 GiB. `limits` without
// sizes of 0.
MergeLimits merge_limits(const RetentionLimits& limits);

// What the choice depends on.
struct MergeCandidate {
  // Numbers of the blocks that it was made of; of one that was never merged its own.
  int64_t first = 0;
  int64_t last = 0;
  bool is_fit = false;  // sealed, rolled up, undamaged
  // That the windows of its profiles cover; from_ns > to_ns: it has no profile, and so no span.
  int64_t from_ns = INT64_MAX;
  int64_t to_ns = INT64_MIN;
  int64_t bytes = 0;  // on disk
};

// The place of the first of kMergedBlocks neighbours that become one: the oldest that are all fit, of one level, and within the limits
// together. Nothing: none is due. `blocks` in order, all that there are.
//
// The level of a block is floor(log4(how many it was made of)): each block is written again once a level, and fewer than four of a level
// wait for others.
std::optional<size_t> next_merge(std::span<const MergeCandidate> blocks, const MergeLimits& limits);

}  // namespace plimsoll::store
