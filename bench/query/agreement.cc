#include <cmath>

#include "bench/query/parts.h"
#include "tests/fleets/job_fleet.h"

namespace plimsoll::bench {
namespace {

constexpr size_t kDraws = 200;
constexpr double kFraction = 0.1;
constexpr double kMinShare = 0.01;

struct Agreement {
  size_t asked = 0;
  size_t without_margin = 0;
  size_t agreeing = 0;
};

void compare(const fleets::Fleet& all, fleets::Random& random, Agreement& agreement) {
  const fleets::Sample sample = fleets::draw(all, random);
  const statistics::Design design(sample.machines, all.selection);
  for (const fleets::Question& question : all.questions) {
    const double share = all.truth(question);
    if (question.statistic != fleets::Statistic::kShare || share < kMinShare) {
      continue;
    }
    ++agreement.asked;
    const statistics::Estimate estimate = fleets::estimate(question, sample, design);
    if (!estimate.value || !estimate.margin) {
      ++agreement.without_margin;
    } else {
      agreement.agreeing += std::abs(*estimate.value - share) <= *estimate.margin ? 1 : 0;
    }
  }
}

}  // namespace

Status measure_agreement(const Flags&, Report& report) {
  fleets::Random random(7);
  Agreement agreement;
  for (const fleets::Fleet& fleet : fleets::all_fleets(kFraction, kMachinesOfFleet, random)) {
    const fleets::Fleet all = fleets::collect_all(fleet, random);
    for (size_t i = 0; i < kDraws; ++i) {
      compare(all, random, agreement);
    }
  }
  report.add({.name = "agreement-of-a-tenth-with-all-share",
              .value = static_cast<double>(agreement.agreeing) /
                       static_cast<double>(agreement.asked - agreement.without_margin),
              .unit = "share",
              .better = Better::kHigher,
              .goal = 0.94,
              .note = fmt::format(
                  "of {} answers about functions over 1 % in {} draws from each fleet; {} more had no margin",
                  agreement.asked - agreement.without_margin, kDraws, agreement.without_margin)});
  return {};
}

}  // namespace plimsoll::bench
