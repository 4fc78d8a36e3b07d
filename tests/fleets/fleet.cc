#include "tests/fleets/fleet.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "statistics/linearization.h"
#include "statistics/response.h"
#include "store/rollup/scale/common_scale.h"

namespace plimsoll::fleets {
namespace {

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::vector<std::vector<uint32_t>> machines_by_stratum(const Fleet& fleet) {
  std::vector<std::vector<uint32_t>> strata(fleet.drawn.size());
  for (uint32_t i = 0; i < fleet.machines.size(); ++i) {
    strata[fleet.machines[i].stratum].push_back(i);
  }
  return strata;
}

std::vector<uint32_t> select(const Fleet& fleet, Random& random) {
  std::vector<uint32_t> selected;
  if (fleet.selection == statistics::Selection::kIndependent) {
    for (uint32_t i = 0; i < fleet.machines.size(); ++i) {
      if (std::bernoulli_distribution(fleet.machines[i].inclusion_probability)(random)) {
        selected.push_back(i);
      }
    }
    return selected;
  }
  std::vector<std::vector<uint32_t>> strata = machines_by_stratum(fleet);
  for (size_t stratum = 0; stratum < strata.size(); ++stratum) {
    std::vector<uint32_t>& machines = strata[stratum];
    for (size_t i = 0; i < fleet.drawn[stratum]; ++i) {
      std::swap(machines[i], machines[std::uniform_int_distribution<size_t>(i, machines.size() - 1)(random)]);
      selected.push_back(machines[i]);
    }
  }
  return selected;
}

double count(double expected, Random& random) {
  return expected > 0 ? static_cast<double>(std::poisson_distribution<uint32_t>(expected)(random)) : 0;
}

// What came from a machine in one column.
struct Counted {
  double value = 0;
  double squares = 0;

  void add(double hits, double weight) {
    value += hits * weight;
    squares += hits * weight * weight;
  }
};

Counted count(double expected, const Machine& machine, Random& random) {
  Counted counted;
  counted.add(count(expected * (1 - machine.slow_part), random), 1);
  if (machine.slow_part > 0) {
    counted.add(count(expected * machine.slow_part / machine.slowdown, random), machine.slowdown);
  }
  return counted;
}

// Columns of one event: what each profile of a machine had of them, and what the hits of each stand for.
struct EventOfProfiles {
  std::vector<double> scales;             // by profile
  std::vector<std::vector<double>> hits;  // by column, then profile

  double all_of(size_t profile) const {
    double sum = 0;
    for (const auto& column : hits) {
      sum += column[profile];
    }
    return sum;
  }
};

// Periods are random: over some thousand samples their means differ by percents, and more where a rate was lowered.
constexpr double kSpreadOfScales = 0.15;

EventOfProfiles count_profiles(const std::vector<double>& expected, size_t profiles, Random& random) {
  EventOfProfiles event;
  event.hits.resize(expected.size());
  for (size_t profile = 0; profile < profiles; ++profile) {
    const double scale = std::exp(std::normal_distribution<double>(0, kSpreadOfScales)(random));
    event.scales.push_back(scale);
    for (size_t column = 0; column < expected.size(); ++column) {
      event.hits[column].push_back(count(expected[column] / static_cast<double>(profiles) / scale, random));
    }
  }
  return event;
}

// By column, and then of all.
std::vector<Counted> full(const EventOfProfiles& event) {
  std::vector<Counted> counted(event.hits.size() + 1);
  for (size_t column = 0; column < event.hits.size(); ++column) {
    for (size_t profile = 0; profile < event.scales.size(); ++profile) {
      counted[column].add(event.hits[column][profile], event.scales[profile]);
      counted.back().add(event.hits[column][profile], event.scales[profile]);
    }
  }
  return counted;
}

// Hits that are multiplied stand for one scale, and as many samples as give the sum of squares of all (store/rollup/hours.cc).
std::vector<Counted> rolled_up(const EventOfProfiles& event) {
  std::vector<store::ScaledHits> parts;
  double value = 0;
  double squares = 0;
  for (size_t profile = 0; profile < event.scales.size(); ++profile) {
    const double hits = event.all_of(profile);
    parts.push_back({event.scales[profile], static_cast<uint64_t>(hits)});
    value += hits * event.scales[profile];
    squares += hits * event.scales[profile] * event.scales[profile];
  }
  const auto common = store::common_scale(parts);
  std::vector<Counted> counted(event.hits.size() + 1);
  if (!common || common->hits == 0) {
    return counted;
  }
  const double of_a_hit = squares == 0 ? 0 : squares / static_cast<double>(common->hits);
  for (size_t column = 0; column < event.hits.size(); ++column) {
    double hits = 0;
    for (size_t profile = 0; profile < event.scales.size(); ++profile) {
      hits += event.hits[column][profile] * common->multipliers[profile];
    }
    counted[column] = {hits * common->scale, hits * of_a_hit};
  }
  counted.back() = {value, squares};
  return counted;
}

// By column of the fleet.
std::vector<Counted> count_hits_of_profiles(const Fleet& fleet, uint32_t machine, Random& random) {
  const auto counted_of = [&](const std::vector<double>& expected) {
    const EventOfProfiles event = count_profiles(expected, fleet.machines[machine].profiles, random);
    return fleet.machines[machine].is_rolled_up ? rolled_up(event) : full(event);
  };
  std::vector<double> parts;
  double rest = fleet.hits[0][machine];
  for (size_t column = 1; column <= fleet.parts; ++column) {
    parts.push_back(fleet.hits[column][machine]);
    rest -= parts.back();
  }
  parts.push_back(rest);
  const std::vector<Counted> of_parts = counted_of(parts);
  std::vector<Counted> counted{of_parts.back()};
  counted.insert(counted.end(), of_parts.begin(), of_parts.end() - 2);
  for (size_t column = fleet.parts + 1; column < fleet.hits.size(); ++column) {
    counted.push_back(counted_of({fleet.hits[column][machine]}).back());
  }
  return counted;
}

// By column.
std::vector<Counted> count_hits(const Fleet& fleet, uint32_t machine, Random& random) {
  std::vector<Counted> counted(fleet.hits.size());
  if (fleet.is_counted) {
    for (size_t column = 0; column < counted.size(); ++column) {
      counted[column] = {fleet.hits[column][machine], fleet.squares[column][machine]};
    }
    return counted;
  }
  if (fleet.machines[machine].profiles > 0) {
    return count_hits_of_profiles(fleet, machine, random);
  }
  const auto add_to_all = [&](const Counted& part) {
    counted[0].value += part.value;
    counted[0].squares += part.squares;
  };
  double rest = fleet.hits[0][machine];
  for (size_t column = 1; column < counted.size(); ++column) {
    counted[column] = count(fleet.hits[column][machine], fleet.machines[machine], random);
    if (column <= fleet.parts) {
      add_to_all(counted[column]);
      rest -= fleet.hits[column][machine];
    }
  }
  add_to_all(count(rest, fleet.machines[machine], random));
  return counted;
}

// Leaves those that answer; the others are made up for by them. By stratum, what that makes of weights.
std::vector<double> answer(const Fleet& fleet, std::vector<uint32_t>& selected, Random& random) {
  std::vector<statistics::StratumResponse> strata;
  std::vector<uint32_t> answering;
  for (const uint32_t i : selected) {
    const Machine& machine = fleet.machines[i];
    strata.resize(std::max<size_t>(strata.size(), machine.stratum + 1));
    statistics::StratumResponse& stratum = strata[machine.stratum];
    ++stratum.drawn;
    stratum.drawn_weight += 1 / machine.inclusion_probability;
    if (machine.response_probability == 1 ||
        std::bernoulli_distribution(machine.response_probability)(random)) {
      answering.push_back(i);
      ++stratum.answered;
      stratum.answered_weight += 1 / machine.inclusion_probability;
    }
  }
  selected = std::move(answering);
  statistics::hand_on_silent(strata);
  std::vector<double> factors;
  std::ranges::transform(strata, std::back_inserter(factors), &statistics::StratumResponse::weight_factor);
  return factors;
}

}  // namespace

double Fleet::truth(const Question& question) const {
  const double numerator = sum(hits[question.numerator]);
  return question.statistic == Statistic::kTotal ? numerator : numerator / sum(hits[question.denominator]);
}

void draw_evenly(double fraction, size_t least, Fleet& fleet) {
  std::vector<size_t> sizes;
  for (const Machine& machine : fleet.machines) {
    sizes.resize(std::max<size_t>(sizes.size(), machine.stratum + 1));
    ++sizes[machine.stratum];
  }
  fleet.drawn.clear();
  for (const size_t size : sizes) {
    const auto drawn = static_cast<size_t>(std::llround(fraction * static_cast<double>(size)));
    fleet.drawn.push_back(std::min(size, std::max(drawn, least)));
  }
  for (Machine& machine : fleet.machines) {
    machine.inclusion_probability =
        static_cast<double>(fleet.drawn[machine.stratum]) / static_cast<double>(sizes[machine.stratum]);
  }
}

Sample draw(const Fleet& fleet, Random& random) {
  Sample sample;
  sample.numbers = select(fleet, random);
  const std::vector<double> factors = answer(fleet, sample.numbers, random);
  sample.values.assign(fleet.hits.size(), std::vector<double>(sample.numbers.size()));
  sample.squares = sample.values;
  for (size_t i = 0; i < sample.numbers.size(); ++i) {
    const Machine& machine = fleet.machines[sample.numbers[i]];
    const double probability = machine.inclusion_probability / factors[machine.stratum];
    sample.machines.push_back({machine.stratum, probability});
    const std::vector<Counted> counted = count_hits(fleet, sample.numbers[i], random);
    for (size_t column = 0; column < counted.size(); ++column) {
      sample.values[column][i] = counted[column].value / probability;
      sample.squares[column][i] = counted[column].squares / (probability * probability);
    }
  }
  return sample;
}

Fleet collect_all(const Fleet& fleet, Random& random) {
  Fleet counted = fleet;
  counted.is_counted = true;
  counted.squares = counted.hits;
  for (uint32_t i = 0; i < fleet.machines.size(); ++i) {
    const std::vector<Counted> of_machine = count_hits(fleet, i, random);
    for (size_t column = 0; column < of_machine.size(); ++column) {
      counted.hits[column][i] = of_machine[column].value;
      counted.squares[column][i] = of_machine[column].squares;
    }
  }
  return counted;
}

statistics::Estimate estimate(const Question& question, const Sample& sample,
                              const statistics::Design& design) {
  const statistics::RowSums row{sample.values[question.numerator], sample.values[question.denominator],
                                sample.squares[question.numerator], sample.squares[question.denominator]};
  switch (question.statistic) {
    case Statistic::kShare:
      return statistics::share(design, row);
    case Statistic::kRatio:
      return statistics::ratio(design, row);
    case Statistic::kTotal:
      return statistics::total(design, row);
  }
  return {};
}

}  // namespace plimsoll::fleets
