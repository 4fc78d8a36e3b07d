#include "diagnosis/buckets/host_bootstrap.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <iterator>
#include <numeric>

#include "statistics/robust.h"

namespace plimsoll::diagnosis {
namespace {

constexpr size_t kMinHosts = 5;
constexpr size_t kBlocks = 20;

double ratio_of(const RatioSums& sums, size_t side, std::span<const float> counts) {
  double above = 0;
  double below = 0;
  for (size_t unit = 0; unit < counts.size(); ++unit) {
    const auto count = static_cast<double>(counts[unit]);
    above += count * sums.numerator[2 * unit + side];
    below += count * sums.denominator[2 * unit + side];
  }
  return below > 0 ? above / below : 0;
}

double deviation_of(std::span<const double> values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
  }
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

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
  // Or of blocks of time, once they stand for hosts.
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
    // A version that came last has a block or two of all: drawn from those alone it would not scatter. It has blocks of its own then.
    if (std::min(hosts_of(kRanBase), hosts_of(kRanNew)) < kMinHosts) {
      sides.clear();
      for (const uint8_t side : {kRanBase, kRanNew}) {
        std::vector<uint32_t> of_side;
        std::ranges::copy_if(order, std::back_inserter(of_side), [&](uint32_t place) {
          return (requests.is_new[members[place]] != 0) == (side == kRanNew);
        });
        const size_t blocks = std::min(kBlocks, of_side.size());
        for (size_t i = 0; i < of_side.size(); ++i) {
          unit_of_[of_side[i]] = static_cast<uint32_t>(sides.size() + i * blocks / of_side.size());
        }
        sides.resize(sides.size() + blocks, side);
      }
    }
  }
  units_ = sides.size();

  for (uint32_t unit = 0; unit < units_; ++unit) {
    strata_[sides[unit]].push_back(unit);
  }
}

size_t HostBootstrap::fewer_units() const {
  return std::min(strata_[kRanBase].size(), strata_[kRanNew].size()) + strata_[kRanBoth].size();
}

void HostBootstrap::draw(std::mt19937_64& random, std::vector<float>& counts) const {
  std::ranges::fill(counts, 0.0F);
  for (const std::vector<uint32_t>& stratum : strata_) {
    for (size_t drawn = 0; drawn < stratum.size(); ++drawn) {
      counts[stratum[random() % stratum.size()]] += 1;
    }
  }
}

void HostBootstrap::set_interval(std::vector<double>& differences, ValueChange& change) {
  std::ranges::sort(differences);
  constexpr double kTail = 0.025;
  change.low = statistics::quantile_of_sorted(differences, kTail);
  change.high = statistics::quantile_of_sorted(differences, 1 - kTail);
}

std::vector<RatioChange> HostBootstrap::ratio_changes(std::span<const RatioSums> ratios) const {
  const std::vector<float> once(units_, 1);
  std::vector<RatioChange> changes(ratios.size());
  std::vector<std::vector<double>> differences(ratios.size());
  for (size_t i = 0; i < ratios.size(); ++i) {
    changes[i].change.base = ratio_of(ratios[i], 0, once);
    changes[i].change.current = ratio_of(ratios[i], 1, once);
  }
  each_draw([&](std::span<const float> counts) {
    for (size_t i = 0; i < ratios.size(); ++i) {
      differences[i].push_back(ratio_of(ratios[i], 1, counts) - ratio_of(ratios[i], 0, counts));
    }
  });
  for (size_t i = 0; i < ratios.size(); ++i) {
    changes[i].deviation = deviation_of(differences[i]);
    set_interval(differences[i], changes[i].change);
  }
  return changes;
}

}  // namespace plimsoll::diagnosis
