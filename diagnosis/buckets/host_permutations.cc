#include "diagnosis/buckets/host_permutations.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plimsoll::diagnosis {

HostPermutations::HostPermutations(const ComparedRequests& requests, uint64_t seed)
    : random_(seed), cells_(2 * requests.hosts) {
  std::vector<uint8_t> sides(requests.hosts, 0);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests.add_side(i, sides[requests.host[i]]);
  }
  for (uint32_t host = 0; host < requests.hosts; ++host) {
    if (sides[host] == kRanBoth) {
      both_.push_back(host);
    } else if (sides[host] != 0) {
      one_.push_back(2 * host + (sides[host] == kRanNew ? 1U : 0U));
      labels_.push_back(sides[host] == kRanNew ? 1 : 0);
    }
  }
}

double HostPermutations::smallest_p() const {
  const auto hosts = static_cast<double>(labels_.size());
  const auto of_new = static_cast<double>(std::ranges::count(labels_, 1.0F));
  const double log_choices =
      std::lgamma(hosts + 1) - std::lgamma(of_new + 1) - std::lgamma(hosts - of_new + 1);
  return std::exp(-log_choices) * std::exp2(-static_cast<double>(both_.size()));
}

// Fisher and Yates; std::shuffle differs from library to library.
void HostPermutations::shuffle() {
  for (size_t i = labels_.size(); i > 1; --i) {
    std::swap(labels_[i - 1], labels_[random_() % i]);
  }
}

std::span<const Lanes> HostPermutations::next() {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    shuffle();
    for (size_t i = 0; i < one_.size(); ++i) {
      cells_[one_[i]][lane] = labels_[i];
    }
    for (const uint32_t host : both_) {
      const auto is_swapped = static_cast<float>(random_() >> 63U);
      cells_[2 * size_t{host}][lane] = is_swapped;
      cells_[2 * size_t{host} + 1][lane] = 1 - is_swapped;
    }
  }
  return cells_;
}

}  // namespace plimsoll::diagnosis
