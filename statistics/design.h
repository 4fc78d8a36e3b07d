// How the machines behind an answer were drawn: all that the variance of a sum over them rests on (docs/statistics.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::statistics {

// One machine in one draw, that answered. A machine of two independent draws is two of these; what must not be split (draws that
// keep the machines of the one before) the caller adds up first.
struct SampledMachine {
  uint32_t stratum =
      0;  // one for each part drawn from separately in each draw; neighbours alike (collapse.h)
  // That it was drawn and answered, in (0, 1]; nothing: not known. Then it counts as one of very many, which makes margins
  // wider rather than narrower.
  std::optional<double> inclusion_probability = {};
};

enum class Selection {
  kFixedSize,    // so many machines from each stratum
  kIndependent,  // each machine by its own probability, so that their number varies (Poisson sampling)
};

// The variance of a sum over drawn machines, from one draw to another.
struct Spread {
  double variance = 0;
  // What the variance itself rests on, at most machines - strata: fewer where some machines stand out.
  double degrees = 0;
};

// With the variance of counts within the machines added, which rests on many samples. By Satterthwaite.
Spread plus_counts(const Spread& between, double within_variance);

// Immutable. Its machines are numbered in the order in which they were given; every span of values is in that order.
class Design {
 public:
  // Costs a pass over the machines. Strata must be numbered densely enough to be an index.
  explicit Design(std::span<const SampledMachine> machines, Selection selection = Selection::kFixedSize);

  size_t machines() const { return machines_.size(); }
  // After strata with one machine were collapsed.
  size_t strata() const { return strata_.size(); }
  uint32_t stratum_of(size_t machine) const { return machines_[machine].stratum; }
  size_t machines_of(size_t stratum) const { return strata_[stratum].machines; }
  // 1 / weight; 0 where it is not known.
  double inclusion_probability(size_t machine) const { return machines_[machine].probability; }
  // The part of the variance between machines that is left where so many of them were drawn: 1 - probability, its mean.
  double correction_of(size_t stratum) const;
  // Every machine that there is was observed: nothing is left to chance but the counts.
  bool is_census() const;

  // Of the sum of `values`, one for each machine. Costs two passes over them.
  Spread spread(std::span<const double> values) const;

 private:
  // The deviation of a value z_i from what its stratum expects of it: z_i - scale_i x (sum over the stratum of pull_j z_j).
  // Its square times factor_i estimates what the machine adds to the variance.
  struct Machine {
    uint32_t stratum = 0;
    double probability = 0;
    double scale = 0;
    double pull = 0;
    double factor = 0;
  };
  struct Stratum {
    size_t machines = 0;
    bool is_joined = false;
    double correction = 0;
  };

  void number_strata(std::span<const SampledMachine> machines);
  void weigh(size_t stratum, std::span<const uint32_t> members);
  void weigh_joined(std::span<const uint32_t> members);

  const Selection selection_;
  std::vector<Machine> machines_;
  std::vector<Stratum> strata_;
};

}  // namespace plimsoll::statistics
