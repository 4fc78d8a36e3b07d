// What is kept of an hour of request traces once its spans are gone: statistics of its kinds of request, and findings.
#pragma once

#include <cstdint>
#include <span>

#include "query/traces/stored_requests.h"
#include "store/spans/finding_store.h"

namespace plimsoll::query {

// Categories of an hour; the smallest are joined beyond.
inline constexpr size_t kMaxCategories = 200;

// Of latencies in ascending order; at least one. The interval is of order statistics, with ranks `n q +- 1.96 sqrt(n q (1 - q))` (David and
// Nagaraja, Order Statistics, 2003, 7.1); none where those are beyond the smallest or the largest.
store::LatencyQuantile latency_quantile(std::span<const int64_t> sorted_ns, double quantile);

// The requests that began within an hour of `begin_ns`, compared with all others that were read. Only what is claimed is kept. The note says
// what was damaged. Ends early with the error of check_stop().
Result<store::DiagnosedHour> diagnose_hour(int64_t begin_ns, const TracedRequests& requests);

}  // namespace plimsoll::query
