#include "tests/fleets/coverage.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::fleets {
namespace {

using statistics::Estimate;
using statistics::MarginKind;

class Tally {
 public:
  Tally(const Fleet& fleet, const Question& question) {
    cell_.fleet = fleet.name;
    cell_.question = question.name;
    cell_.truth = fleet.truth(question);
  }

  void add(const Estimate& estimate) {
    ++cell_.draws;
    cell_.machines += static_cast<double>(estimate.machines);
    errors_.push_back(std::abs(estimate.value.value_or(0) - cell_.truth));
    const bool is_of_few = estimate.margin_kind == MarginKind::kFewMachines;
    // A machine alone speaks of itself, not of the fleet.
    if (estimate.margin && estimate.low && estimate.high &&
        estimate.margin_kind != MarginKind::kWithinOneMachine) {
      Margins& margins = is_of_few ? cell_.few : cell_.enough;
      ++margins.draws;
      margins.within_interval += *estimate.low <= cell_.truth && cell_.truth <= *estimate.high ? 1 : 0;
      margins.within_margin += errors_.back() <= *estimate.margin ? 1 : 0;
      margins.mean_margin += *estimate.margin;
    }
  }

  Cell result() {
    const auto draws = static_cast<double>(cell_.draws);
    cell_.machines /= draws;
    for (Margins* margins : {&cell_.enough, &cell_.few}) {
      const auto count = static_cast<double>(std::max<size_t>(1, margins->draws));
      margins->within_interval /= count;
      margins->within_margin /= count;
      margins->mean_margin /= count;
    }
    std::ranges::sort(errors_);
    cell_.oracle_margin = errors_[static_cast<size_t>(0.95 * (draws - 1))];
    return cell_;
  }

 private:
  Cell cell_;
  std::vector<double> errors_;
};

}  // namespace

std::vector<Cell> measure_coverage(const Fleet& fleet, size_t draws, uint64_t seed) {
  Random random(seed);
  std::vector<Tally> tallies;
  for (const Question& question : fleet.questions) {
    tallies.emplace_back(fleet, question);
  }
  for (size_t i = 0; i < draws; ++i) {
    const Sample sample = draw(fleet, random);
    const statistics::Design design(sample.machines, fleet.selection);
    for (size_t question = 0; question < tallies.size(); ++question) {
      tallies[question].add(estimate(fleet.questions[question], sample, design));
    }
  }
  std::vector<Cell> cells;
  for (Tally& tally : tallies) {
    cells.push_back(tally.result());
  }
  return cells;
}

}  // namespace plimsoll::fleets
