#include "query/operations/application_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace plimsoll::query {

std::vector<KindCoverage> kind_coverage(std::span<const store::DrawnMachine> machines) {
  struct Sums {
    KindCoverage coverage;
    std::map<std::string, int64_t> causes;
  };
  std::map<std::string, Sums> by_kind;
  for (const store::DrawnMachine& machine : machines) {
    for (const wire::ApplicationKindReport& report : machine.kinds) {
      Sums& sums = by_kind[report.kind()];
      ++sums.coverage.machines;
      sums.coverage.endpoints += report.endpoints();
      sums.coverage.answered += report.answered();
      if (!report.cause().empty()) {
        sums.causes[report.cause()] += report.with_cause();
      }
    }
  }
  std::vector<KindCoverage> coverages;
  for (auto& [kind, sums] : by_kind) {
    KindCoverage& coverage = coverages.emplace_back(std::move(sums.coverage));
    coverage.kind = kind;
    const auto commonest =
        std::ranges::max_element(sums.causes, {}, [](const auto& cause) { return cause.second; });
    if (commonest != sums.causes.end()) {
      coverage.commonest_cause = commonest->first;
      coverage.with_cause = commonest->second;
    }
  }
  return coverages;
}

std::string text_of(const KindCoverage& coverage) {
  const std::string cause = coverage.commonest_cause.empty()
                                ? std::string()
                                : fmt::format("; commonest cause of the others: {} ({})",
                                              coverage.commonest_cause, coverage.with_cause);
  return fmt::format("{}: {} of {} endpoint{} on {} machine{} answered{}", coverage.kind, coverage.answered,
                     coverage.endpoints, coverage.endpoints == 1 ? "" : "s", coverage.machines,
                     coverage.machines == 1 ? "" : "s", cause);
}

}  // namespace plimsoll::query
