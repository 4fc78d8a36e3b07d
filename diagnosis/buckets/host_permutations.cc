#include "diagnosis/buckets/host_permutations.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plimsoll::diagnosis {

HostPermutations::HostPermutations(const ComparedRequests& requests, size_t wanted, uint64_t seed)
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
  is_swapped_.assign(both_.size(), 0);
  const auto hosts = static_cast<double>(labels_.size());
  const auto of_new = static_cast<double>(std::ranges::count(labels_, 1));
  const double log_choices =
      std::lgamma(hosts + 1) - std::lgamma(of_new + 1) - std::lgamma(hosts - of_new + 1);
  ways_ = std::exp(log_choices) * std::exp2(static_cast<double>(both_.size()));
  size_ = wanted;
  if (is_exact()) {
    ways_ = std::round(ways_);
    size_ = static_cast<size_t>(ways_);
    std::ranges::sort(labels_);
  }
}

// Fisher and Yates; std::shuffle differs from library to library.
void HostPermutations::shuffle() {
  for (size_t i = labels_.size(); i > 1; --i) {
    std::swap(labels_[i - 1], labels_[random_() % i]);
  }
  for (uint8_t& is_swapped : is_swapped_) {
    is_swapped = static_cast<uint8_t>(random_() >> 63U);
  }
}

// Counts through the swaps, and for each of them through the labels.
void HostPermutations::advance() {
  if (std::next_permutation(labels_.begin(), labels_.end())) {
    return;
  }
  for (uint8_t& is_swapped : is_swapped_) {
    is_swapped = is_swapped == 0 ? 1 : 0;
    if (is_swapped != 0) {
      return;
    }
  }
}

std::vector<LaneBits> HostPermutations::next() {
  std::vector<LaneBits> cells(cells_, 0);
  const auto mark = [&cells](size_t cell, uint8_t flag, size_t lane) {
    cells[cell] = static_cast<LaneBits>(cells[cell] | flag << lane);
  };
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if (!is_exact()) {
      shuffle();
    }
    for (size_t i = 0; i < one_.size(); ++i) {
      mark(one_[i], labels_[i], lane);
    }
    for (size_t i = 0; i < both_.size(); ++i) {
      mark(2 * size_t{both_[i]}, is_swapped_[i], lane);
      mark(2 * size_t{both_[i]} + 1, is_swapped_[i] == 0 ? 1 : 0, lane);
    }
    if (is_exact()) {
      advance();
    }
  }
  return cells;
}

}  // namespace plimsoll::diagnosis
