// Host means of the buckets of some attributes, made again whenever they are wanted: all at once would take gigabytes. Internal to
// diagnosis/buckets.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "diagnosis/buckets/host_contrast.h"

namespace plimsoll::diagnosis {

class SubsetMeans {
 public:
  // Room for host means that may be kept from call to call.
  static constexpr size_t kMaxKeptBytes = size_t{64} << 20U;

  // Borrows all.
  SubsetMeans(const ComparedRequests& requests, std::span<const float> score, const HostVariance& variance);

  // A bucket for each combination of values of these attributes, by key; those without a value are in none. Borrowed until the next call.
  // About 10 ns a request.
  std::span<const std::vector<HostMean>> of(std::span<const uint32_t> attributes);
  std::vector<BucketTerm> terms_of(std::span<const uint32_t> attributes, size_t key) const;

  // Of one bucket: those requests.
  template <typename IsIn>
  std::vector<HostMean> where(const IsIn& is_in) const {
    std::vector<HostMean> means;
    Cells cells{};
    for (size_t place = 0; place < by_host_.size(); ++place) {
      const uint32_t request = by_host_[place];
      if (is_in(request)) {
        add(request, cells);
      }
      if (is_last_of_host(place)) {
        const uint32_t host = requests_.host[request];
        add_host(host, sides_[host], std::exchange(cells, {}), variance_, means);
      }
    }
    return means;
  }

 private:
  using Cells = std::array<CellSum, 2>;

  void add(uint32_t request, Cells& cells) const {
    CellSum& cell = cells[requests_.is_new[request]];
    cell.requests += 1;
    cell.sum += static_cast<double>(score_[request]);
  }
  bool is_last_of_host(size_t place) const {
    return place + 1 == by_host_.size() ||
           requests_.host[by_host_[place + 1]] != requests_.host[by_host_[place]];
  }

  const ComparedRequests& requests_;
  std::span<const float> score_;
  const HostVariance& variance_;
  std::vector<uint32_t> by_host_;  // requests, those of one host together
  std::vector<uint8_t> sides_;     // by host
  std::vector<std::vector<HostMean>> means_;
  std::vector<Cells> cells_;  // of the host at hand, by key
};

}  // namespace plimsoll::diagnosis
