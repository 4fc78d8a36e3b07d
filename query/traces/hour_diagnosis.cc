#include "query/traces/hour_diagnosis.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/stop_scope.h"
#include "base/time.h"
#include "diagnosis/localization/diagnosis.h"

namespace plimsoll::query {
namespace {

using diagnosis::Side;

// Requests of one category.
struct Gathered {
  std::vector<int64_t> latencies_ns;
  double weight = 0;
  uint32_t root = 0;  // a span

  void add(const Gathered& other) {
    latencies_ns.insert(latencies_ns.end(), other.latencies_ns.begin(), other.latencies_ns.end());
    weight += other.weight;
  }
};

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

store::CategoryStatistics statistics_of(Gathered gathered) {
  std::ranges::sort(gathered.latencies_ns);
  return {.service = {},
          .operation = {},
          .category = {},
          .requests = gathered.latencies_ns.size(),
          .weight = gathered.weight,
          .p50 = latency_quantile(gathered.latencies_ns, 0.5),
          .p95 = latency_quantile(gathered.latencies_ns, 0.95),
          .p99 = latency_quantile(gathered.latencies_ns, 0.99),
          .variation = variation_of(gathered.latencies_ns)};
}

std::vector<store::CategoryStatistics> categories_of(std::map<uint64_t, Gathered> by_category,
                                                     const traces::SpanSet& spans) {
  std::vector<std::pair<uint64_t, Gathered>> all(std::make_move_iterator(by_category.begin()),
                                                 std::make_move_iterator(by_category.end()));
  // Of equal ones the order of the hash, which is the same in every run.
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    const size_t a_requests = a.second.latencies_ns.size();
    const size_t b_requests = b.second.latencies_ns.size();
    return a_requests != b_requests ? a_requests > b_requests : a.first < b.first;
  });
  std::vector<store::CategoryStatistics> categories;
  Gathered rest;
  for (auto& [hash, gathered] : all) {
    if (categories.size() == kMaxCategories) {
      rest.add(gathered);
      continue;
    }
    const traces::Span& root = spans.spans()[gathered.root];
    store::CategoryStatistics statistics = statistics_of(std::move(gathered));
    statistics.service = spans.names().services.name(root.service);
    statistics.operation = spans.names().operations.name(root.operation);
    statistics.category = fmt::format("{:016x}", hash);
    categories.push_back(std::move(statistics));
  }
  if (!rest.latencies_ns.empty()) {
    categories.push_back(statistics_of(std::move(rest)));
  }
  return categories;
}

std::vector<store::KeptFinding> findings_of(const diagnosis::Diagnosis& found, const traces::Names& names) {
  std::vector<store::KeptFinding> kept;
  for (const diagnosis::Finding& finding : found.findings) {
    if (finding.is_claimed()) {
      kept.push_back({.service = std::string(names.services.name(finding.service)),
                      .operation = std::string(names.operations.name(finding.operation)),
                      .replica = std::string(names.replicas.name(finding.replica)),
                      .machine = std::string(names.machines.name(finding.machine)),
                      .kind = name_of(finding.kind),
                      .score = finding.score,
                      .confidence = finding.confidence,
                      .evidence = finding.evidence});
    }
  }
  return kept;
}

}  // namespace

store::LatencyQuantile latency_quantile(std::span<const int64_t> sorted_ns, double quantile) {
  constexpr double kTwoSided95 = 1.96;
  const auto count = static_cast<double>(sorted_ns.size());
  const double rank = count * quantile;
  const double half_width = kTwoSided95 * std::sqrt(rank * (1 - quantile));
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

Result<store::DiagnosedHour> diagnose_hour(int64_t begin_ns, const TracedRequests& requests) {
  const RequestTimes within{begin_ns, begin_ns + kNsPerHour};
  diagnosis::Sides sides;
  std::map<uint64_t, Gathered> by_category;
  store::DiagnosedHour hour{.begin_ns = begin_ns,
                            .requests = 0,
                            .note = fmt::format("{}", fmt::join(requests.damage, "; ")),
                            .categories = {},
                            .findings = {}};
  for (const traces::Trace& trace : requests.assembly.traces) {
    const bool is_within = within.has(trace.start_ns);
    sides.push_back(is_within ? Side::kWindow : Side::kReference);
    if (!is_within) {
      continue;
    }
    ++hour.requests;
    const traces::Node& root = requests.assembly.nodes_of(trace).front();
    Gathered& gathered = by_category[trace.set_hash];
    gathered.root = gathered.latencies_ns.empty() ? root.span : gathered.root;
    gathered.latencies_ns.push_back(root.duration_ns());
    gathered.weight += requests.weights.empty() ? 1 : static_cast<double>(requests.weights[root.span]);
  }
  if (hour.requests == 0) {
    hour.note = fmt::format("{}{}{}", store::kNoRequests, hour.note.empty() ? "" : "; ", hour.note);
    return hour;
  }
  hour.categories = categories_of(std::move(by_category), *requests.spans);
  const diagnosis::Requests observed(*requests.spans, requests.assembly);
  if (const Status goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  hour.findings = findings_of(diagnosis::diagnose(observed, sides), requests.spans->names());
  return hour;
}

}  // namespace plimsoll::query
