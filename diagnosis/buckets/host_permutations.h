// Other ways in which versions could have been rolled out over the same hosts. Internal to diagnosis/buckets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "diagnosis/buckets/host_contrast.h"

namespace plimsoll::diagnosis {

// Hosts with one side exchange their sides; those with both swap them or not. Up to kMaxEnumerated ways are gone through, the one that
// happened among them; of more so many are drawn as are wanted. Equal on every machine for one seed.
class HostPermutations {
 public:
  static constexpr double kMaxEnumerated = 5000;

  HostPermutations(const ComparedRequests& requests, size_t wanted, uint64_t seed);

  // 1 / the number of ways there are: no p is smaller, however many are tried.
  double smallest_p() const { return 1 / ways_; }
  bool is_exact() const { return ways_ <= kMaxEnumerated; }
  size_t size() const { return size_; }

  // The next kLanes of them, by cell. Beyond size() they mean nothing.
  std::vector<LaneBits> next();

 private:
  void shuffle();
  void advance();

  std::mt19937_64 random_;
  std::vector<uint32_t> one_;    // cells of hosts with one side
  std::vector<uint8_t> labels_;  // by place in one_
  std::vector<uint32_t> both_;   // hosts
  std::vector<uint8_t> is_swapped_;
  size_t cells_ = 0;
  double ways_ = 1;
  size_t size_ = 0;
};

// The largest t over all buckets, in other ways of rolling out.
class LargestByChance {
 public:
  LargestByChance(bool is_exact, double smallest_p) : is_exact_(is_exact), smallest_p_(smallest_p) {}

  void add(double max_t) { all_.push_back(max_t); }
  size_t size() const { return all_.size(); }
  size_t as_large_as(double t) const {
    // Sums in single precision must not decide.
    return static_cast<size_t>(std::ranges::count_if(all_, [t](double of) { return of >= t * (1 - 1e-4); }));
  }
  // Of any bucket having a t as large. Where all ways were tried, the one that happened is among them.
  double p_of(double t) const {
    const auto tried = static_cast<double>(all_.size());
    const auto as_large = static_cast<double>(as_large_as(t));
    return std::max(smallest_p_, is_exact_ ? as_large / tried : (as_large + 1) / (tried + 1));
  }

 private:
  bool is_exact_;
  double smallest_p_;
  std::vector<double> all_;
};

}  // namespace plimsoll::diagnosis
