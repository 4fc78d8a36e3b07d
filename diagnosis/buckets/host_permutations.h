// Other ways in which versions could have been rolled out over the same hosts. Internal to diagnosis/buckets.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "diagnosis/buckets/host_contrast.h"

namespace plimsoll::diagnosis {

// Hosts with one side exchange their sides; those with both swap them or not. Equal on every machine for one seed.
class HostPermutations {
 public:
  HostPermutations(const ComparedRequests& requests, uint64_t seed);

  // 1 / the number of ways there are: no p is smaller, however many are tried.
  double smallest_p() const;

  // The next kLanes of them, by cell; borrowed until the next call.
  std::span<const Lanes> next();

 private:
  void shuffle();

  std::mt19937_64 random_;
  std::vector<uint32_t> one_;  // cells of hosts with one side
  std::vector<float> labels_;
  std::vector<uint32_t> both_;  // hosts
  std::vector<Lanes> cells_;
};

}  // namespace plimsoll::diagnosis
