#include "diagnosis/buckets/regressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/stop_scope.h"

namespace plimsoll::diagnosis {
namespace {

std::vector<uint32_t> members_of(const ComparedRequests& requests, const std::vector<BucketTerm>& terms) {
  std::vector<uint32_t> members;
  for (uint32_t i = 0; i < requests.size(); ++i) {
    if (requests.is_in(i, terms)) {
      members.push_back(i);
    }
  }
  return members;
}

std::vector<uint32_t> side_of(const ComparedRequests& requests, const std::vector<uint32_t>& members,
                              bool is_new) {
  std::vector<uint32_t> side;
  std::ranges::copy_if(members, std::back_inserter(side),
                       [&](uint32_t member) { return (requests.is_new[member] != 0) == is_new; });
  return side;
}

// Each of what those before it leave, as the search found it.
void add_regressions(RegressionReport& report) {
  const ComparedRequests& requests = report.table.requests;
  std::vector<uint8_t> is_left_out(requests.size(), 0);
  for (const FoundBucket& found : report.search.found) {
    std::vector<uint32_t> members = members_of(requests, found.terms);
    std::erase_if(members, [&](uint32_t member) { return std::exchange(is_left_out[member], 1) != 0; });
    report.regressions.push_back(
        {.bucket = found,
         .comparison = compare_bucket(requests, members, &report.forest),
         .base_forest = bucket_forest(report.forest, side_of(requests, members, false)),
         .current_forest = bucket_forest(report.forest, side_of(requests, members, true))});
  }
}

double median_growth(const ComparedBucket& bucket) {
  const ValueChange& median = bucket.comparison.percentiles_ms.front();
  return median.base > 0 ? median.difference() / median.base : 0;
}

void add_buckets(RegressionReport& report) {
  const ComparedRequests& requests = report.table.requests;
  std::vector<uint32_t> columns;
  for (const uint32_t column : {report.table.hardware, report.table.workload}) {
    if (column != kNoAttribute) {
      columns.push_back(column);
    }
  }
  struct Members {
    std::vector<uint32_t> all;
    size_t current = 0;
  };
  std::map<std::vector<uint16_t>, Members> buckets;
  for (uint32_t i = 0; i < requests.size(); ++i) {
    std::vector<uint16_t> key;
    for (const uint32_t column : columns) {
      key.push_back(requests.attributes[column].value_of[i]);
    }
    Members& members = buckets[key];
    members.all.push_back(i);
    members.current += requests.is_new[i];
  }
  std::vector<std::pair<const std::vector<uint16_t>*, const Members*>> ordered;
  for (const auto& [key, members] : buckets) {
    if (std::min(members.current, members.all.size() - members.current) >= kMinBucketRequests) {
      ordered.emplace_back(&key, &members);
    }
  }
  std::ranges::sort(ordered, [](const auto& a, const auto& b) {
    return a.second->all.size() != b.second->all.size() ? a.second->all.size() > b.second->all.size()
                                                        : *a.first < *b.first;
  });
  ordered.resize(std::min(ordered.size(), kMaxBuckets));
  report.buckets_left_out = buckets.size() - ordered.size();
  for (const auto& [key, members] : ordered) {
    if (!check_stop()) {
      return;
    }
    ComparedBucket& bucket = report.buckets.emplace_back();
    for (size_t i = 0; i < columns.size(); ++i) {
      bucket.terms.push_back({columns[i], (*key)[i]});
    }
    bucket.comparison = compare_bucket(requests, members->all, &report.forest);
  }
  std::ranges::sort(report.buckets, [](const ComparedBucket& a, const ComparedBucket& b) {
    const double growth_a = median_growth(a);
    const double growth_b = median_growth(b);
    return growth_a != growth_b ? growth_a > growth_b : a.terms < b.terms;
  });
}

}  // namespace

Result<RegressionReport> find_regressions(const traces::SpanSet& spans, const traces::Assembly& assembly,
                                          const RequestTableOptions& options,
                                          const BucketSearchOptions& search) {
  auto table = request_table(spans, assembly, options);
  if (!table) {
    return propagate(table);
  }
  RegressionReport report;
  report.table = std::move(*table);
  auto forest = call_forest(spans, assembly, report.table.trace);
  if (!forest) {
    return propagate(forest);
  }
  report.forest = std::move(*forest);
  if (const Status goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  report.search = search_buckets(report.table.requests, search);
  if (const Status goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  add_regressions(report);
  add_buckets(report);
  const Status goes_on = check_stop();
  return goes_on ? Result<RegressionReport>(std::move(report)) : propagate(goes_on);
}

std::string method_text(const CallForest& forest, uint32_t path, const traces::Names& names) {
  const CallPath& call = forest.paths[path];
  return call.is_other_roots()
             ? "other roots"
             : fmt::format("{} {}{}{}", names.services.name(call.service),
                           names.operations.name(call.operation), call.is_edge ? " to " : "",
                           call.is_edge ? names.services.name(call.callee) : "");
}

std::string path_text(const CallForest& forest, uint32_t path, const traces::Names& names) {
  std::string text = method_text(forest, path, names);
  // Deep recursion is cut.
  constexpr int kMaxCalls = 30;
  int calls = 0;
  for (uint32_t at = forest.paths[path].parent; at != kNoCall; at = forest.paths[at].parent) {
    if (++calls == kMaxCalls) {
      return "... > " + text;
    }
    text = fmt::format("{} > {}", method_text(forest, at, names), text);
  }
  return text;
}

}  // namespace plimsoll::diagnosis
