#include "query/traces/category_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace plimsoll::query {
namespace {

// Standard deviation as a share of the mean; 0 where there is none.
double variation_of(const std::vector<int64_t>& latencies_ns) {
  const auto count = static_cast<double>(latencies_ns.size());
  double sum = 0;
  for (const int64_t latency_ns : latencies_ns) {
    sum += static_cast<double>(latency_ns);
  }
  const double mean = sum / count;
  double squares = 0;
  for (const int64_t latency_ns : latencies_ns) {
    squares += (static_cast<double>(latency_ns) - mean) * (static_cast<double>(latency_ns) - mean);
  }
  return latencies_ns.size() < 2 || mean <= 0 ? 0 : std::sqrt(squares / (count - 1)) / mean;
}

}  // namespace

void CategoryLatencies::add(const traces::Trace& trace, const TracedRequests& requests) {
  const traces::Node& first = requests.assembly.nodes_of(trace).front();
  root = latencies_ns.empty() ? first.span : root;
  latencies_ns.push_back(first.duration_ns());
  weight += requests.weights.empty() ? 1 : static_cast<double>(requests.weights[first.span]);
}

void CategoryLatencies::add(const CategoryLatencies& other) {
  root = latencies_ns.empty() ? other.root : root;
  latencies_ns.insert(latencies_ns.end(), other.latencies_ns.begin(), other.latencies_ns.end());
  weight += other.weight;
}

store::LatencyQuantile latency_quantile(std::span<const int64_t> sorted_ns, double quantile,
                                        double deviations) {
  const auto count = static_cast<double>(sorted_ns.size());
  const double rank = count * quantile;
  const double half_width = deviations * std::sqrt(rank * (1 - quantile));
  // Ranks from 1 on.
  const auto at = [&](double wanted) {
    return sorted_ns[static_cast<size_t>(std::clamp(wanted, 1.0, count)) - 1];
  };
  store::LatencyQuantile made{.value_ns = at(std::ceil(rank))};
  const double low = std::floor(rank - half_width);
  const double high = std::ceil(rank + half_width) + 1;
  if (low >= 1 && high <= count) {
    made.low_ns = at(low);
    made.high_ns = at(high);
  }
  return made;
}

store::CategoryStatistics statistics_of(CategoryLatencies& latencies) {
  std::ranges::sort(latencies.latencies_ns);
  return {.service = {},
          .operation = {},
          .category = {},
          .requests = latencies.latencies_ns.size(),
          .weight = latencies.weight,
          .p50 = latency_quantile(latencies.latencies_ns, 0.5),
          .p95 = latency_quantile(latencies.latencies_ns, 0.95),
          .p99 = latency_quantile(latencies.latencies_ns, 0.99),
          .variation = variation_of(latencies.latencies_ns)};
}

store::CategoryStatistics statistics_of(CategoryLatencies& latencies, uint64_t hash,
                                        const traces::SpanSet& spans) {
  const traces::Span& root = spans.spans()[latencies.root];
  store::CategoryStatistics statistics = statistics_of(latencies);
  statistics.service = spans.names().services.name(root.service);
  statistics.operation = spans.names().operations.name(root.operation);
  statistics.category = fmt::format("{:016x}", hash);
  return statistics;
}

}  // namespace plimsoll::query
