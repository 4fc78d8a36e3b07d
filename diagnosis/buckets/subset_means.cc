#include "diagnosis/buckets/subset_means.h"

#include <algorithm>
#include <numeric>

namespace plimsoll::diagnosis {

SubsetMeans::SubsetMeans(const ComparedRequests& requests, std::span<const float> score,
                         const HostVariance& variance)
    : requests_(requests),
      score_(score),
      variance_(variance),
      by_host_(requests.size()),
      sides_(requests.hosts, 0) {
  for (size_t i = 0; i < requests.size(); ++i) {
    requests.add_side(i, sides_[requests.host[i]]);
  }
  std::iota(by_host_.begin(), by_host_.end(), 0U);
  std::sort(by_host_.begin(), by_host_.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(requests.host[a], a) < std::pair(requests.host[b], b);
  });
}

std::span<const std::vector<HostMean>> SubsetMeans::of(std::span<const uint32_t> attributes) {
  size_t keys = 1;
  for (const uint32_t attribute : attributes) {
    keys *= requests_.attributes[attribute].values.size();
  }
  // Each key keeps the room of the largest bucket that any call put there: over hundreds of calls that adds up.
  size_t kept = 0;
  for (const std::vector<HostMean>& means : means_) {
    kept += means.capacity();
  }
  if (kept > kMaxKeptBytes / sizeof(HostMean)) {
    means_.clear();
  }
  means_.resize(std::max(means_.size(), keys));
  cells_.resize(std::max(cells_.size(), keys));
  for (size_t key = 0; key < keys; ++key) {
    means_[key].clear();
  }
  std::vector<size_t> touched;
  for (size_t place = 0; place < by_host_.size(); ++place) {
    const uint32_t request = by_host_[place];
    size_t key = 0;
    bool is_whole = true;
    for (const uint32_t attribute : attributes) {
      const uint16_t value = requests_.attributes[attribute].value_of[request];
      key = key * requests_.attributes[attribute].values.size() + value;
      is_whole = is_whole && value != 0;
    }
    if (is_whole) {
      if (cells_[key][0].requests + cells_[key][1].requests == 0) {
        touched.push_back(key);
      }
      add(request, cells_[key]);
    }
    if (is_last_of_host(place)) {
      const uint32_t host = requests_.host[request];
      for (const size_t of : touched) {
        add_host(host, sides_[host], std::exchange(cells_[of], {}), variance_, means_[of]);
      }
      touched.clear();
    }
  }
  return std::span(means_).first(keys);
}

std::vector<BucketTerm> SubsetMeans::terms_of(std::span<const uint32_t> attributes, size_t key) const {
  std::vector<BucketTerm> terms(attributes.size());
  for (size_t i = attributes.size(); i > 0; --i) {
    const size_t values = requests_.attributes[attributes[i - 1]].values.size();
    terms[i - 1] = {attributes[i - 1], static_cast<uint16_t>(key % values)};
    key /= values;
  }
  return terms;
}

}  // namespace plimsoll::diagnosis
