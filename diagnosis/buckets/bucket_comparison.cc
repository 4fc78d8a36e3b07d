#include "diagnosis/buckets/bucket_comparison.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>

#include "diagnosis/buckets/host_bootstrap.h"
#include "diagnosis/buckets/method_changes.h"

namespace plimsoll::diagnosis {
namespace {

// Requests of a side by ascending time.
struct Latencies {
  std::vector<float> ms;
  std::vector<uint32_t> unit;
};

// The requests `shares` of which are faster, where each counts as often as its unit was drawn. `shares` ascend.
std::array<double, kComparedShares.size()> weighted_quantiles(const Latencies& side,
                                                              std::span<const float> counts) {
  double total = 0;
  for (const uint32_t unit : side.unit) {
    total += static_cast<double>(counts[unit]);
  }
  std::array<double, kComparedShares.size()> found{};
  double passed = 0;
  size_t next = 0;
  for (size_t i = 0; i < side.ms.size() && next < found.size(); ++i) {
    passed += static_cast<double>(counts[side.unit[i]]);
    while (next < found.size() && passed > kComparedShares[next] * total) {
      found[next++] = static_cast<double>(side.ms[i]);
    }
  }
  return found;
}

// One bucket while it is compared.
class BucketAtHand {
 public:
  BucketAtHand(const ComparedRequests& requests, std::span<const uint32_t> members, const CallForest* forest)
      : requests_(requests), members_(members), forest_(forest), bootstrap_(requests, members) {}

  BucketComparison compare();

 private:
  size_t side_of(size_t place) const { return requests_.is_new[members_[place]]; }
  void count_sides(BucketComparison& made) const;
  void compare_percentiles(BucketComparison& made) const;

  const ComparedRequests& requests_;
  std::span<const uint32_t> members_;
  const CallForest* forest_;
  HostBootstrap bootstrap_;
};

void BucketAtHand::count_sides(BucketComparison& made) const {
  made.is_by_hosts = bootstrap_.is_by_hosts();
  boost::unordered_flat_map<uint32_t, uint8_t> sides;
  std::array<double, 2> sums{};
  double squares = 0;
  made.first_current_ns = INT64_MAX;
  for (size_t place = 0; place < members_.size(); ++place) {
    const uint32_t request = members_[place];
    const auto ms = static_cast<double>(requests_.ms[request]);
    sums[side_of(place)] += ms;
    squares += ms * ms;
    requests_.add_side(request, sides[requests_.host[request]]);
    ++(side_of(place) == 1 ? made.current_requests : made.base_requests);
    if (side_of(place) == 1) {
      made.first_current_ns = std::min(made.first_current_ns, requests_.start_ns[request]);
    }
  }
  for (const auto& [host, side] : sides) {
    made.base_hosts += side & 1U;
    made.current_hosts += side >> 1U;
  }
  const auto all = static_cast<double>(members_.size());
  const double mean = (sums[0] + sums[1]) / all;
  const double deviation = std::sqrt(std::max(0.0, squares / all - mean * mean));
  if (made.base_requests > 0 && made.current_requests > 0 && deviation > 0) {
    made.paper_score = (sums[1] / static_cast<double>(made.current_requests) -
                        sums[0] / static_cast<double>(made.base_requests)) /
                       deviation;
  }
}

void BucketAtHand::compare_percentiles(BucketComparison& made) const {
  std::vector<uint32_t> order(members_.size());
  for (uint32_t place = 0; place < order.size(); ++place) {
    order[place] = place;
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return requests_.ms[members_[a]] < requests_.ms[members_[b]]; });
  std::array<Latencies, 2> sides;
  for (const uint32_t place : order) {
    Latencies& side = sides[side_of(place)];
    side.ms.push_back(requests_.ms[members_[place]]);
    side.unit.push_back(bootstrap_.unit_of(place));
  }
  const std::vector<float> once(bootstrap_.units(), 1);
  const auto base = weighted_quantiles(sides[0], once);
  const auto current = weighted_quantiles(sides[1], once);
  std::array<std::vector<double>, kComparedShares.size()> differences;
  bootstrap_.each_draw([&](std::span<const float> counts) {
    const auto of_base = weighted_quantiles(sides[0], counts);
    const auto of_current = weighted_quantiles(sides[1], counts);
    for (size_t i = 0; i < differences.size(); ++i) {
      differences[i].push_back(of_current[i] - of_base[i]);
    }
  });
  for (size_t i = 0; i < differences.size(); ++i) {
    made.percentiles_ms[i].base = base[i];
    made.percentiles_ms[i].current = current[i];
    HostBootstrap::set_interval(differences[i], made.percentiles_ms[i]);
  }
}

BucketComparison BucketAtHand::compare() {
  BucketComparison made;
  count_sides(made);
  if (made.base_requests == 0 || made.current_requests == 0) {
    return made;
  }
  compare_percentiles(made);
  if (forest_ != nullptr) {
    add_methods(requests_, members_, *forest_, bootstrap_, made);
  }
  return made;
}

}  // namespace

BucketComparison compare_bucket(const ComparedRequests& requests, std::span<const uint32_t> members,
                                const CallForest* forest) {
  return BucketAtHand(requests, members, forest).compare();
}

}  // namespace plimsoll::diagnosis
