#include "scheduler/draws/draw_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "scheduler/draws/random.h"

namespace plimsoll::scheduler {
namespace {

Status check(const DrawSize& size) {
  const auto refuse = [](const char* field, const auto& value, const char* wanted) {
    return with_field(fail(ErrorCode::kInvalid, "{} is {}, not {}", field, value, wanted), field);
  };
  const bool is_fraction = size.fraction > 0 && size.fraction <= 1;  // a NaN is none
  if (size.machines == 0 && !is_fraction) {
    return refuse("fraction", size.fraction, "above 0 and at most 1");
  }
  if (size.min_per_stratum == 0) {
    return refuse("min_per_stratum", size.min_per_stratum, "at least 1: every machine must have a chance");
  }
  const bool is_number = size.min_per_job >= 0 && std::isfinite(size.min_per_job);
  if (!is_number) {
    return refuse("min_per_job", size.min_per_job, "a number of machines");
  }
  return {};
}

// The fraction at which strata, each with its minimum, come to `machines`. Where the minima alone are more, they win: 0.
double fraction_for(size_t machines, std::span<const DrawPlan::Stratum> strata, size_t least) {
  const auto expected = [&](double fraction) {
    double sum = 0;
    for (const DrawPlan::Stratum& stratum : strata) {
      const auto size = static_cast<double>(stratum.machines.size());
      sum += std::max(std::min(static_cast<double>(least), size), fraction * size);
    }
    return sum;
  };
  double low = 0;
  double high = 1;
  for (int step = 0; step < 60; ++step) {
    const double middle = std::midpoint(low, high);
    (expected(middle) <= static_cast<double>(machines) ? low : high) = middle;
  }
  return low;
}

// The least probability that all of some machines must have for so many of them to be expected: sum of max(p, level) = expected.
// 1 where there are no more of them than that.
double level_for(std::vector<double> probabilities, double expected) {
  std::ranges::sort(probabilities);
  double above = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  if (above >= expected) {
    return 0;
  }
  for (size_t raised = 1; raised <= probabilities.size(); ++raised) {
    above -= probabilities[raised - 1];
    const double level = (expected - above) / static_cast<double>(raised);
    if (raised == probabilities.size() || level <= probabilities[raised]) {
      return std::min(1.0, level);
    }
  }
  return 1;
}

// Raises what machines of rare jobs have.
void raise_for_jobs(const Population& population, double least, std::vector<double>& probabilities) {
  std::vector<std::vector<uint32_t>> machines_of(population.jobs);
  for (uint32_t machine = 0; machine < population.machines(); ++machine) {
    for (const uint32_t job : population.jobs_of(machine)) {
      machines_of[job].push_back(machine);
    }
  }
  const std::vector<double> without = probabilities;
  for (const std::vector<uint32_t>& machines : machines_of) {
    std::vector<double> of_job;
    for (const uint32_t machine : machines) {
      of_job.push_back(without[machine]);
    }
    const double level = level_for(std::move(of_job), least);
    for (const uint32_t machine : machines) {
      probabilities[machine] = std::max(probabilities[machine], level);
    }
  }
}

// The pivotal method: Deville and Tille (1998), "Unequal probability sampling without replacement through a splitting method", in its
// sequential form. Two machines at a time put their probabilities together: one of them leaves the contest, taken or passed over.
class Pivotal {
 public:
  // Those whose turn it is, one of `turns`, are drawn with so many times the probability that they have in all.
  Pivotal(const std::vector<double>& probabilities, uint32_t turns, DrawRandom& random)
      : probabilities_(probabilities), turns_(turns), random_(random) {}

  // Calls take(machine) with each that is drawn.
  template <typename Take>
  void draw(std::span<const uint32_t> machines, const Take& take) {
    if (machines.empty()) {
      return;
    }
    uint32_t held = machines.front();
    double of_held = probability(held);
    for (const uint32_t next : machines.subspan(1)) {
      const double of_next = probability(next);
      const double sum = of_held + of_next;
      if (sum < 1) {
        held = random_.happens(of_next / sum) ? next : held;
        of_held = sum;
      } else if (sum >= 2 || random_.happens((1 - of_next) / (2 - sum))) {
        take(held);
        held = next;
        of_held = sum - 1;
      } else {
        take(next);
        of_held = sum - 1;
      }
    }
    // What rounding left of a whole number is one, or nothing.
    constexpr double kRounding = 1e-9;
    if (of_held > 1 - kRounding || (of_held > kRounding && random_.happens(of_held))) {
      take(held);
    }
  }

 private:
  double probability(uint32_t machine) const { return std::min(1.0, turns_ * probabilities_[machine]); }

  const std::vector<double>& probabilities_;
  const uint32_t turns_;
  DrawRandom& random_;
};

}  // namespace

Result<DrawPlan> DrawPlan::make(const Population& population, const DrawSize& size) {
  if (auto checked = check(size); !checked) {
    return propagate(checked);
  }
  DrawPlan plan;
  plan.strata_.resize(population.strata.size());
  for (uint32_t machine = 0; machine < population.machines(); ++machine) {
    plan.strata_[population.stratum_of[machine]].machines.push_back(machine);
  }
  const double fraction =
      size.machines == 0 ? size.fraction : fraction_for(size.machines, plan.strata_, size.min_per_stratum);
  plan.probabilities_.resize(population.machines());
  for (const Stratum& stratum : plan.strata_) {
    const auto machines = static_cast<double>(stratum.machines.size());
    const double of_each = std::max(fraction, static_cast<double>(size.min_per_stratum) / machines);
    for (const uint32_t machine : stratum.machines) {
      plan.probabilities_[machine] = std::min(1.0, of_each);
    }
  }
  if (size.min_per_job > 0) {
    raise_for_jobs(population, size.min_per_job, plan.probabilities_);
  }
  plan.turns_ = population.turns;
  plan.turn_of_ = population.turn_of;
  // Nobody is drawn more often than his turn comes.
  for (double& probability : plan.probabilities_) {
    probability = std::min(probability, 1.0 / plan.turns_);
  }
  for (Stratum& stratum : plan.strata_) {
    for (const uint32_t machine : stratum.machines) {
      stratum.expected += plan.probabilities_[machine];
    }
  }
  return plan;
}

double DrawPlan::expected() const {
  double sum = 0;
  for (const Stratum& stratum : strata_) {
    sum += stratum.expected;
  }
  return sum;
}

std::vector<DrawnMachine> DrawPlan::draw(uint64_t seed, uint32_t turn) const {
  DrawRandom random(seed);
  Pivotal pivotal(probabilities_, turns_, random);
  std::vector<DrawnMachine> drawn;
  for (const Stratum& stratum : strata_) {
    std::vector<uint32_t> order = stratum.machines;
    std::erase_if(order, [&](uint32_t machine) { return !has_turn(machine, turn); });
    random.shuffle(std::span(order));
    pivotal.draw(order, [&](uint32_t machine) { drawn.push_back({machine, probabilities_[machine]}); });
  }
  std::ranges::sort(drawn, {}, &DrawnMachine::machine);
  return drawn;
}

}  // namespace plimsoll::scheduler
