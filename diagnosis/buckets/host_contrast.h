// Host means of scores, and how far those of two sides are apart. Internal to diagnosis/buckets.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/buckets/compared_requests.h"

namespace plimsoll::diagnosis {

// What a host's requests of one side say of a bucket.
struct HostMean {
  uint32_t cell = 0;  // 2 x host + side
  float weight = 0;
  float weighted = 0;    // weight x mean
  float squared = 0;     // weight x mean^2
  bool is_pair = false;  // half a difference: the host's other side has the same weight, and minus the mean
};

// Of all requests: how much hosts differ. By the median deviation of host means, which hosts of a bucket that is slower hardly move.
struct HostVariance {
  double between = 1;  // v: at least a thousandth of that within hosts
  double ratio = 1;    // k: that within hosts over v, from 1 to 1,000
};
HostVariance host_variance(const ComparedRequests& requests, std::span<const float> score);

// A host's requests of one side in a bucket.
struct CellSum {
  double requests = 0;
  double sum = 0;  // of scores
};

// Adds what a host says of a bucket to `means`: its mean, or with both sides half their difference, either way and with one weight, so that
// swapping sides changes the sign and nothing else, however unequal the sides are. A host that ran both (`sides`), but only one in the bucket,
// says nothing: which one is a matter of which had more requests.
void add_host(uint32_t host, uint8_t sides, const std::array<CellSum, 2>& cells, const HostVariance& variance,
              std::vector<HostMean>& means);

// Sums over the hosts of one side.
struct SideSums {
  double hosts = 0;
  double weight = 0;
  double weighted = 0;
  double squared = 0;
  double paired = 0;  // weight of hosts that stand on both sides: equal for both
};

struct Contrast {
  double difference = 0;  // of the sides' means
  double t = 0;           // of the difference and its error; 0 with too few hosts on a side
  // With the variance of all requests, equal for all buckets: its square is by how much a slower bucket brings the host means of both sides
  // nearer to what is expected (least squares).
  double fit = 0;
  // Standard error of the difference. A pair is in both sides' means with opposite signs: what it deviates by counts for both at once, and
  // not as two independent hosts.
  double error = 0;
};
// By side.
std::array<SideSums, 2> side_sums(std::span<const HostMean> means);

Contrast contrast(const SideSums& of_new, const SideSums& base, const HostVariance& variance,
                  double min_hosts);

// Versions over hosts, `kLanes` ways at a time: a byte for each cell, with a bit for each way in which it counts as new. As they were rolled
// out the cells of side 1 do.
inline constexpr size_t kLanes = 8;
using LaneBits = uint8_t;

// The largest t of each lane over one bucket is put into `max_t` where it is larger. In double, but for sums over some hundred hosts.
void raise_max_t(std::span<const HostMean> means, std::span<const LaneBits> is_new,
                 const HostVariance& variance, double min_hosts, std::span<double, kLanes> max_t);

}  // namespace plimsoll::diagnosis
