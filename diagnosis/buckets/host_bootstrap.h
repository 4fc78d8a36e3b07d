// Hosts drawn again and again, to see how much an answer depends on which hosts there are. Internal to diagnosis/buckets.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "diagnosis/buckets/bucket_comparison.h"
#include "diagnosis/buckets/compared_requests.h"

namespace plimsoll::diagnosis {

// Sums by 2 x unit + side. The ratio of a side is sum over units of numerator / sum over units of denominator.
struct RatioSums {
  std::vector<double> numerator;
  std::span<const double> denominator;  // borrowed: many ratios may have one
};

struct RatioChange {
  ValueChange change;
  double deviation = 0;  // of the differences in all draws: standard error
};

// Draws are made again whenever they are wanted, equal each time: one is kept, not all.
class HostBootstrap {
 public:
  static constexpr size_t kDraws = 200;

  HostBootstrap(const ComparedRequests& requests, std::span<const uint32_t> members);

  bool is_by_hosts() const { return is_by_hosts_; }
  size_t units() const { return units_; }
  // Of the side with fewer.
  size_t fewer_units() const;
  // Of the member at a place of `members`: a unit, from 0.
  uint32_t unit_of(size_t place) const { return unit_of_[place]; }

  // Calls f with how often each unit was drawn, kDraws times.
  template <typename F>
  void each_draw(const F& f) const {
    std::mt19937_64 random(kSeed);
    std::vector<float> counts(units_);
    for (size_t i = 0; i < kDraws; ++i) {
      draw(random, counts);
      f(std::span<const float>(counts));
    }
  }

  // Of the differences in all draws: the middle 95 %.
  static void set_interval(std::vector<double>& differences, ValueChange& change);

  // kDraws x (units x ratios): about 1 ns each.
  std::vector<RatioChange> ratio_changes(std::span<const RatioSums> ratios) const;

 private:
  static constexpr uint64_t kSeed = 20;  // any: answers are to be equal from run to run
  void draw(std::mt19937_64& random, std::vector<float>& counts) const;

  size_t units_ = 0;
  bool is_by_hosts_ = true;
  std::vector<uint32_t> unit_of_;
  std::array<std::vector<uint32_t>, 4> strata_;  // units by the sides that they have
};

}  // namespace plimsoll::diagnosis
