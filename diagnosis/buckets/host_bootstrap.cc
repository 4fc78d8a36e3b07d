#include "diagnosis/buckets/host_bootstrap.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <numeric>
#include <random>

#include "statistics/robust.h"

namespace plimsoll::diagnosis {
namespace {

constexpr size_t kMinHosts = 5;
constexpr size_t kBlocks = 20;
constexpr uint64_t kSeed = 20;  // any: answers are to be equal from run to run

}  // namespace

HostBootstrap::HostBootstrap(const ComparedRequests& requests, std::span<const uint32_t> members)
    : unit_of_(members.size()) {
  boost::unordered_flat_map<uint32_t, uint32_t> numbers;
  std::vector<uint8_t> sides;
  for (size_t place = 0; place < members.size(); ++place) {
    const auto next = static_cast<uint32_t>(numbers.size());
    unit_of_[place] = numbers.try_emplace(requests.host[members[place]], next).first->second;
    sides.resize(numbers.size(), 0);
    requests.add_side(members[place], sides[unit_of_[place]]);
  }
  const auto hosts_of = [&](uint8_t side) {
    return static_cast<size_t>(std::ranges::count_if(sides, [side](uint8_t of) { return (of & side) != 0; }));
  };
  if (std::min(hosts_of(kRanBase), hosts_of(kRanNew)) < kMinHosts) {
    is_by_hosts_ = false;
    std::vector<uint32_t> order(members.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return requests.start_ns[members[a]] < requests.start_ns[members[b]];
    });
    sides.assign(std::min(kBlocks, members.size()), 0);
    for (size_t i = 0; i < order.size(); ++i) {
      unit_of_[order[i]] = static_cast<uint32_t>(i * sides.size() / order.size());
      requests.add_side(members[order[i]], sides[unit_of_[order[i]]]);
    }
  }
  units_ = sides.size();

  std::array<std::vector<uint32_t>, 4> strata;
  for (uint32_t unit = 0; unit < units_; ++unit) {
    strata[sides[unit]].push_back(unit);
  }
  std::mt19937_64 random(kSeed);
  counts_.assign(kDraws * units_, 0);
  for (size_t i = 0; i < kDraws; ++i) {
    for (const std::vector<uint32_t>& stratum : strata) {
      for (size_t drawn = 0; drawn < stratum.size(); ++drawn) {
        counts_[i * units_ + stratum[random() % stratum.size()]] += 1;
      }
    }
  }
}

void HostBootstrap::set_interval(std::vector<double>& differences, ValueChange& change) {
  std::ranges::sort(differences);
  constexpr double kTail = 0.025;
  change.low = statistics::quantile_of_sorted(differences, kTail);
  change.high = statistics::quantile_of_sorted(differences, 1 - kTail);
}

ValueChange HostBootstrap::ratio_change(std::span<const double> numerator,
                                        std::span<const double> denominator) const {
  const auto ratio = [&](size_t side, std::span<const float> counts) {
    double above = 0;
    double below = 0;
    for (size_t unit = 0; unit < units_; ++unit) {
      const double count = counts.empty() ? 1 : static_cast<double>(counts[unit]);
      above += count * numerator[2 * unit + side];
      below += count * denominator[2 * unit + side];
    }
    return below > 0 ? above / below : 0;
  };
  ValueChange change{.base = ratio(0, {}), .current = ratio(1, {})};
  std::vector<double> differences;
  for (size_t i = 0; i < kDraws; ++i) {
    differences.push_back(ratio(1, draw(i)) - ratio(0, draw(i)));
  }
  set_interval(differences, change);
  return change;
}

}  // namespace plimsoll::diagnosis
