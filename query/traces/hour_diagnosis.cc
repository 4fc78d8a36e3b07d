#include "query/traces/hour_diagnosis.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/stop_scope.h"
#include "base/time.h"
#include "diagnosis/localization/diagnosis.h"
#include "query/traces/category_statistics.h"

namespace plimsoll::query {
namespace {

using diagnosis::Side;

std::vector<store::CategoryStatistics> categories_of(std::map<uint64_t, CategoryLatencies> by_category,
                                                     const traces::SpanSet& spans) {
  std::vector<std::pair<uint64_t, CategoryLatencies>> all(std::make_move_iterator(by_category.begin()),
                                                          std::make_move_iterator(by_category.end()));
  // Of equal ones the order of the hash, which is the same in every run.
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    const size_t a_requests = a.second.latencies_ns.size();
    const size_t b_requests = b.second.latencies_ns.size();
    return a_requests != b_requests ? a_requests > b_requests : a.first < b.first;
  });
  std::vector<store::CategoryStatistics> categories;
  CategoryLatencies rest;
  for (auto& [hash, gathered] : all) {
    if (categories.size() == kMaxCategories) {
      rest.add(gathered);
      continue;
    }
    categories.push_back(statistics_of(gathered, hash, spans));
  }
  if (!rest.latencies_ns.empty()) {
    categories.push_back(statistics_of(rest));
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

Result<store::DiagnosedHour> diagnose_hour(int64_t begin_ns, const TracedRequests& requests) {
  const RequestTimes within{begin_ns, begin_ns + kNsPerHour};
  diagnosis::Sides sides;
  std::map<uint64_t, CategoryLatencies> by_category;
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
    by_category[trace.set_hash].add(trace, requests);
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
  const diagnosis::Diagnosis found = diagnosis::diagnose(observed, sides);
  if (const Status goes_on = check_stop(); !goes_on) {
    return propagate(goes_on);
  }
  hour.findings = findings_of(found, requests.spans->names());
  return hour;
}

}  // namespace plimsoll::query
