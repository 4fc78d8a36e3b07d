// Latencies of kinds of request: of each hour for what is kept, and of any time that is asked about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "query/traces/stored_requests.h"
#include "store/spans/finding_store.h"

namespace plimsoll::query {

// Categories of one answer; the smallest are joined beyond.
inline constexpr size_t kMaxCategories = 200;

// Requests of one category.
struct CategoryLatencies {
  std::vector<int64_t> latencies_ns = {};
  double weight = 0;  // requests that these stand for
  uint32_t root = 0;  // a span: the root of the first of them

  // A request's latency is that of its first root.
  void add(const traces::Trace& trace, const TracedRequests& requests);
  void add(const CategoryLatencies& other);
};

// Of latencies in ascending order; at least one. The interval is of order statistics, with ranks `n q +- d sqrt(n q (1 - q))` (David and
// Nagaraja, Order Statistics, 2003, 7.1), d being `deviations`, or 95 %; none where those are beyond the smallest or the largest.
store::LatencyQuantile latency_quantile(std::span<const int64_t> sorted_ns, double quantile,
                                        double deviations = 1.96);

// Without names. Sorts the latencies.
store::CategoryStatistics statistics_of(CategoryLatencies& latencies);
// With the names of its root, and the hash as text.
store::CategoryStatistics statistics_of(CategoryLatencies& latencies, uint64_t hash,
                                        const traces::SpanSet& spans);

}  // namespace plimsoll::query
