#include "statistics/stability/permutation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

namespace plimsoll::statistics {
namespace {

using Random = std::mt19937_64;

enum class Side { kBoth, kX, kY };

// A machine's place in the windows' lists.
struct Member {
  size_t in_x = 0;
  size_t in_y = 0;
};

using Members = std::map<std::pair<uint32_t, Side>, std::vector<Member>>;  // by stratum and side

Members match(const Window& x, const Window& y) {
  Members members;
  size_t i = 0;
  size_t j = 0;
  while (i < x.machines.size() || j < y.machines.size()) {
    if (j == y.machines.size() || (i < x.machines.size() && x.machines[i] < y.machines[j])) {
      members[{x.strata[i], Side::kX}].push_back({.in_x = i});
      ++i;
    } else if (i == x.machines.size() || y.machines[j] < x.machines[i]) {
      members[{y.strata[j], Side::kY}].push_back({.in_y = j});
      ++j;
    } else {
      members[{x.strata[i], Side::kBoth}].push_back({.in_x = i, .in_y = j});
      ++i;
      ++j;
    }
  }
  return members;
}

size_t bundles_of(size_t members, size_t bundle) {
  return std::min(members, std::max<size_t>(2, (members + bundle - 1) / bundle));
}

}  // namespace

class WindowPermutation::Builder {
 public:
  Builder(const Window& x, const Window& y, WindowPermutation& permutation)
      : x_(x), y_(y), permutation_(permutation), random_(permutation.seed_) {}

  void build() {
    add_all(x_, permutation_.observed_.x);
    add_all(y_, permutation_.observed_.y);
    Members members = match(x_, y_);
    size_t count = 0;
    for (const auto& [key, of_key] : members) {
      count += of_key.size();
    }
    bundle_ = std::max<size_t>(1, (count + kPermutationUnits - 1) / kPermutationUnits);
    permutation_.base_ = permutation_.observed_;
    for (auto& [key, of_key] : members) {
      if (key.second == Side::kBoth) {
        add_pairs(of_key, rate_of(key.first));
      } else if (key.second == Side::kX) {
        const auto others = members.find({key.first, Side::kY});
        if (others != members.end()) {
          add_strangers(of_key, others->second, rate_of(key.first));
        }
      }
    }
  }

 private:
  // How much less a machine of the stratum stands for in y than in x.
  double rate_of(uint32_t stratum) const {
    const double rate = size_of(y_, stratum) / size_of(x_, stratum);
    return std::isfinite(rate) && rate > 0 ? rate : 1;
  }

  // Of a machine, on average; where sizes are not known, a part of what the window's all stand for.
  static double size_of(const Window& window, uint32_t stratum) {
    double machines = 0;
    double size = window.sizes.empty() ? 1 : 0;
    for (size_t place = 0; place < window.machines.size(); ++place) {
      if (window.strata[place] == stratum) {
        machines += 1;
        size += window.sizes.empty() ? 0 : window.sizes[place];
      }
    }
    return size / machines;
  }

  std::span<const double> values(const Window& window, size_t place) const {
    return window.values.subspan(place * permutation_.rows_, permutation_.rows_);
  }

  void add_all(const Window& window, std::vector<double>& totals) const {
    totals.assign(permutation_.rows_, 0);
    for (size_t place = 0; place < window.machines.size(); ++place) {
      add(values(window, place), 1, totals);
    }
  }

  static void add(std::span<const double> values, double factor, std::span<double> totals) {
    for (size_t row = 0; row < values.size(); ++row) {
      totals[row] += factor * values[row];
    }
  }

  // A new unit, and what it moves: so far nothing.
  std::span<double> add_unit(double rate) {
    permutation_.pools_.back().units.push_back(static_cast<uint32_t>(permutation_.units_.size()));
    permutation_.units_.push_back({rate});
    permutation_.gains_.resize(permutation_.gains_.size() + permutation_.rows_);
    return std::span(permutation_.gains_).last(permutation_.rows_);
  }

  // Each machine's two profiles: its gain is the other less the one, in the weights of x.
  void add_pairs(std::vector<Member>& members, double rate) {
    permutation_.pools_.push_back({.is_paired = true});
    std::ranges::shuffle(members, random_);
    const size_t bundles = bundles_of(members.size(), bundle_);
    for (size_t bundle = 0; bundle < bundles; ++bundle) {
      const std::span<double> gain = add_unit(rate);
      for (size_t i = bundle; i < members.size(); i += bundles) {
        add(values(x_, members[i].in_x), -1, gain);
        add(values(y_, members[i].in_y), 1 / rate, gain);
      }
    }
  }

  void add_strangers(std::vector<Member>& in_x, std::vector<Member>& in_y, double rate) {
    permutation_.pools_.push_back({.chosen = bundles_of(in_x.size(), bundle_)});
    std::ranges::shuffle(in_x, random_);
    std::ranges::shuffle(in_y, random_);
    const size_t x_units = bundles_of(in_x.size(), bundle_);
    for (size_t unit = 0; unit < x_units; ++unit) {
      const std::span<double> gain = add_unit(rate);
      for (size_t i = unit; i < in_x.size(); i += x_units) {
        add(values(x_, in_x[i].in_x), 1, gain);
      }
      // The base is of no unit chosen: all of them in the other window.
      add(gain, -1, permutation_.base_.x);
      add(gain, rate, permutation_.base_.y);
    }
    const size_t y_units = bundles_of(in_y.size(), bundle_);
    for (size_t unit = 0; unit < y_units; ++unit) {
      const std::span<double> gain = add_unit(rate);
      for (size_t i = unit; i < in_y.size(); i += y_units) {
        add(values(y_, in_y[i].in_y), 1 / rate, gain);
      }
    }
  }

  const Window& x_;
  const Window& y_;
  WindowPermutation& permutation_;
  Random random_;
  size_t bundle_ = 1;
};

WindowPermutation::WindowPermutation(const Window& x, const Window& y, size_t rows, uint64_t seed)
    : rows_(rows), seed_(seed) {
  Builder(x, y, *this).build();
}

void WindowPermutation::choose(Random& random, std::vector<uint32_t>& chosen) const {
  chosen.clear();
  for (const Pool& pool : pools_) {
    if (pool.is_paired) {
      std::ranges::copy_if(pool.units, std::back_inserter(chosen),
                           [&](uint32_t) { return (random() & 1U) != 0; });
    } else {
      std::ranges::sample(pool.units, std::back_inserter(chosen), static_cast<ptrdiff_t>(pool.chosen),
                          random);
    }
  }
}

void WindowPermutation::add_gains(std::span<const uint32_t> chosen, size_t first, size_t last,
                                  WindowTotals& totals) const {
  for (const uint32_t unit : chosen) {
    const double* const gain = gains_.data() + unit * rows_;
    const double rate = units_[unit].rate;
    for (size_t row = first; row < last; ++row) {
      totals.x[row] += gain[row];
      totals.y[row] -= rate * gain[row];
    }
  }
}

void WindowPermutation::run(size_t permutations, const EachPermutation& each) const {
  // Some permutations at a time take a few columns of the gains each, which then stay in the cache.
  constexpr size_t kBatch = 32;
  constexpr size_t kColumns = 64;
  Random random(seed_);
  std::vector<WindowTotals> totals(kBatch);
  std::vector<std::vector<uint32_t>> chosen(kBatch);
  for (size_t done = 0; done < permutations; done += kBatch) {
    const size_t batch = std::min(kBatch, permutations - done);
    for (size_t i = 0; i < batch; ++i) {
      choose(random, chosen[i]);
      totals[i] = base_;
    }
    for (size_t first = 0; first < rows_; first += kColumns) {
      for (size_t i = 0; i < batch; ++i) {
        add_gains(chosen[i], first, std::min(rows_, first + kColumns), totals[i]);
      }
    }
    for (size_t i = 0; i < batch; ++i) {
      each(totals[i].x, totals[i].y);
    }
  }
}

}  // namespace plimsoll::statistics
