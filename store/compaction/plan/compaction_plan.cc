#include "store/compaction/plan/compaction_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <tuple>

namespace plimsoll::store {
namespace {

constexpr int kLog2OfRank = 3;

int rank_of(const SegmentEntry& segment) {
  return std::max(0, static_cast<int>(std::bit_width(segment.rows)) - 1) / kLog2OfRank;
}

// How much time a segment of these would cover.
uint64_t span_ns(std::span<const SegmentEntry> segments) {
  const int64_t from_ns = std::ranges::min(segments, {}, &SegmentEntry::from_ns).from_ns;
  const int64_t to_ns = std::ranges::max(segments, {}, &SegmentEntry::to_ns).to_ns;
  return static_cast<uint64_t>(to_ns) - static_cast<uint64_t>(from_ns);
}

// Of so many neighbours in time those that cover the least, so that what is far apart stays apart.
std::span<const SegmentEntry> closest(std::span<const SegmentEntry> by_time, size_t count) {
  std::span<const SegmentEntry> best = by_time.first(count);
  uint64_t best_ns = span_ns(best);
  for (size_t from = 1; from + count <= by_time.size(); ++from) {
    const auto candidate = by_time.subspan(from, count);
    const uint64_t candidate_ns = span_ns(candidate);
    if (candidate_ns < best_ns) {
      best = candidate;
      best_ns = candidate_ns;
    }
  }
  return best;
}

// Two that are not full always fit.
std::vector<SegmentEntry> as_many_as_fit(std::span<const SegmentEntry> segments, uint64_t max_rows) {
  std::vector<SegmentEntry> fitting;
  uint64_t rows = 0;
  for (const SegmentEntry& segment : segments) {
    rows += segment.rows;
    if (rows > max_rows) {
      break;
    }
    fitting.push_back(segment);
  }
  return fitting;
}

}  // namespace

std::vector<SegmentEntry> next_merge(const std::vector<SegmentEntry>& segments,
                                     const CompactionLimits& limits) {
  std::map<int, std::vector<SegmentEntry>> ranks;
  for (const SegmentEntry& segment : segments) {
    if (segment.rows <= limits.max_rows / 2) {
      ranks[rank_of(segment)].push_back(segment);
    }
  }
  for (auto& [rank, of_rank] : ranks) {
    if (of_rank.size() >= std::max<size_t>(limits.min_inputs, 2)) {
      std::ranges::sort(of_rank, {}, [](const SegmentEntry& segment) {
        return std::tuple(segment.to_ns, segment.from_ns, segment.id);
      });
      const size_t inputs = std::min(of_rank.size(), std::max<size_t>(limits.max_inputs, 2));
      return as_many_as_fit(closest(of_rank, inputs), limits.max_rows);
    }
  }
  return {};
}

}  // namespace plimsoll::store
