// Hosts drawn again and again, to see how much an answer depends on which hosts there are. Internal to diagnosis/buckets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/buckets/bucket_comparison.h"
#include "diagnosis/buckets/compared_requests.h"

namespace plimsoll::diagnosis {

class HostBootstrap {
 public:
  static constexpr size_t kDraws = 200;

  HostBootstrap(const ComparedRequests& requests, std::span<const uint32_t> members);

  bool is_by_hosts() const { return is_by_hosts_; }
  size_t units() const { return units_; }
  // Of the member at a place of `members`: a unit, from 0.
  uint32_t unit_of(size_t place) const { return unit_of_[place]; }
  // How often each unit was drawn.
  std::span<const float> draw(size_t i) const { return std::span(counts_).subspan(i * units_, units_); }

  // Of the differences in all draws: the middle 95 %.
  static void set_interval(std::vector<double>& differences, ValueChange& change);

  // sum over units of numerator / denominator, by side; both have 2 x unit + side.
  ValueChange ratio_change(std::span<const double> numerator, std::span<const double> denominator) const;

 private:
  size_t units_ = 0;
  bool is_by_hosts_ = true;
  std::vector<uint32_t> unit_of_;
  std::vector<float> counts_;
};

}  // namespace plimsoll::diagnosis
