#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "bench/query/parts.h"
#include "tests/fleets/coverage.h"
#include "tests/fleets/job_fleet.h"
#include "tests/fleets/vm_fleet.h"

namespace plimsoll::bench {
namespace {

using fleets::Cell;
using fleets::Fleet;

constexpr uint64_t kFleetSeed = 20261122;
constexpr uint64_t kDrawSeed = 1;

// Cells of one fleet, or of all.
class Summary {
 public:
  void add(const Cell& cell) {
    ++cells_;
    if (!cell.is_of_enough()) {
      return;
    }
    const double coverage = cell.enough.within_interval;
    const double width = cell.enough.mean_margin / cell.oracle_margin;
    if (++of_enough_ == 1 || coverage < min_coverage_) {
      min_coverage_ = coverage;
      min_covered_ = cell.question;
    }
    if (of_enough_ == 1 || width > max_width_) {
      max_width_ = width;
      widest_ = cell.question;
    }
    coverage_sum_ += coverage;
    margin_coverage_sum_ += cell.enough.within_margin;
    width_sum_ += width;
  }

  void report(const std::string& name, Report& report) const {
    if (of_enough_ == 0) {
      return;
    }
    const auto count = static_cast<double>(of_enough_);
    report.add({.name = name + "-coverage-least",
                .value = min_coverage_,
                .unit = "share",
                .better = Better::kHigher,
                .goal = 0.935,
                .note = fmt::format("of {}; {} of {} questions; mean {:.4f}, of value +- margin {:.4f}",
                                    min_covered_, of_enough_, cells_, coverage_sum_ / count,
                                    margin_coverage_sum_ / count)});
    report.add({.name = name + "-width-most",
                .value = max_width_,
                .unit = "oracle's",
                .goal = 1.15,
                .note = fmt::format("of {}; mean {:.3f}", widest_, width_sum_ / count)});
  }

  double mean_coverage() const {
    return coverage_sum_ / static_cast<double>(std::max<size_t>(1, of_enough_));
  }
  size_t of_enough() const { return of_enough_; }

 private:
  size_t cells_ = 0;
  size_t of_enough_ = 0;
  double min_coverage_ = 0;
  double max_width_ = 0;
  double coverage_sum_ = 0;
  double margin_coverage_sum_ = 0;
  double width_sum_ = 0;
  std::string min_covered_;
  std::string widest_;
};

// Margins that are labelled as of few machines: without a goal, since none can be kept.
class FewSummary {
 public:
  void add(const Cell& cell) {
    draws_ += cell.draws;
    with_margin_ += cell.few.draws;
    if (cell.few.draws * 5 < cell.draws) {
      return;
    }
    ++cells_;
    sum_ += cell.few.within_interval;
    if (cells_ == 1 || cell.few.within_interval < least_) {
      least_ = cell.few.within_interval;
      min_covered_ = cell.fleet + "/" + cell.question;
    }
  }

  void report(const std::string& name, Report& report) const {
    if (cells_ > 0) {
      report.add(
          {.name = name + "-coverage-mean",
           .value = sum_ / static_cast<double>(cells_),
           .unit = "share",
           .better = Better::kHigher,
           .note = fmt::format("least {:.3f} ({}), of {} cells; {:.0f} % of the draws had such a margin",
                               least_, min_covered_, cells_,
                               100 * static_cast<double>(with_margin_) / static_cast<double>(draws_))});
    }
  }

 private:
  size_t draws_ = 0;
  size_t with_margin_ = 0;
  size_t cells_ = 0;
  double sum_ = 0;
  double least_ = 0;
  std::string min_covered_;
};

void measure(const Fleet& fleet, double fraction, size_t draws, Summary& all, FewSummary& few,
             Report& report) {
  Summary summary;
  for (const Cell& cell : fleets::measure_coverage(fleet, draws, kDrawSeed)) {
    summary.add(cell);
    all.add(cell);
    few.add(cell);
  }
  summary.report(
      fmt::format("margins-{}-{:.0f}-of-{}", fleet.name, fraction * kMachinesOfFleet, kMachinesOfFleet),
      report);
}

void measure_few(const Fleet& fleet, size_t draws, FewSummary& summary) {
  for (const Cell& cell : fleets::measure_coverage(fleet, draws, kDrawSeed)) {
    summary.add(cell);
  }
}

// Fleets of the measurements, for each part of the machines drawn; none without them.
Result<std::vector<fleets::MeasuredJob>> find_measurements() {
  const char* const corpus = std::getenv("PLIMSOLL_CORPUS");
  if (corpus == nullptr) {
    std::cerr << "vm-noise: skipped: PLIMSOLL_CORPUS names no folder with measurements\n";
    return std::vector<fleets::MeasuredJob>();
  }
  return fleets::read_vm_noise(std::string(corpus) + "/vm_noise");
}

std::vector<Fleet> make_fleets(double fraction, const std::vector<fleets::MeasuredJob>& jobs) {
  fleets::Random random(kFleetSeed);
  std::vector<Fleet> made = fleets::all_fleets(fraction, kMachinesOfFleet, random);
  if (!jobs.empty()) {
    made.push_back(fleets::vm_fleet(jobs, fraction, kMachinesOfFleet, random));
  }
  // The same machines, as they send their profiles and once these are rolled up.
  for (const bool is_rolled_up : {false, true}) {
    fleets::Random of_both(kFleetSeed);
    made.push_back(fleets::profiles_fleet(fraction, kMachinesOfFleet, is_rolled_up, of_both));
  }
  return made;
}

}  // namespace

Status measure_margins(const Flags& flags, Report& report) {
  const auto jobs = find_measurements();
  if (!jobs) {
    return propagate(jobs);
  }
  const size_t draws = flags.quick ? 300 : 10'000;
  Summary all;
  FewSummary few_among_many;
  for (const double fraction : {0.06, 0.1, 0.3, 0.9}) {
    for (const Fleet& fleet : make_fleets(fraction, *jobs)) {
      measure(fleet, fraction, draws, all, few_among_many, report);
    }
  }
  all.report("margins-all", report);
  report.add({.name = "margins-all-coverage-mean",
              .value = all.mean_coverage(),
              .unit = "share",
              .better = Better::kHigher,
              .goal = 0.94,
              .note = fmt::format("at most 0.97 is wanted; {} cells of {} draws", all.of_enough(), draws)});
  few_among_many.report("margins-few-among-many", report);
  for (const double machines : {2, 3, 4, 5, 10, 20, 30}) {
    FewSummary summary;
    for (const Fleet& fleet : make_fleets(machines / kMachinesOfFleet, *jobs)) {
      measure_few(fleet, draws, summary);
    }
    summary.report(fmt::format("margins-few-{}-of-{}", machines, kMachinesOfFleet), report);
  }
  return {};
}

}  // namespace plimsoll::bench
