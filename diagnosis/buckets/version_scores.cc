#include "diagnosis/buckets/version_scores.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cmath>
#include <numeric>
#include <utility>

namespace plimsoll::diagnosis {
namespace {

constexpr size_t kMinPerStratum = 20;
// Fewer will do where they are half of those of the stratum that is split.
constexpr uint32_t kMinHostsOfStratum = 10;
constexpr size_t kRequestsPerBlock = 500;
constexpr size_t kMaxBlocks = 96;
// A block has both sides where each has this part of its share in all requests. Blocks have so many requests, and so many of the rarer
// side on average: with 8 two suffice, and 1 block in 300 lacks them by chance.
constexpr double kMinShareOfSide = 0.2;
constexpr double kMinPerOverlapBlock = 20;
constexpr double kRarerPerOverlapBlock = 8;
constexpr uint32_t kNoGroup = UINT32_MAX;
constexpr int kRounds = 2;

// Numbers from 0 for the pairs of two numbers.
std::vector<uint32_t> crossed(const std::vector<uint32_t>& group, const std::vector<uint16_t>& value,
                              uint32_t& groups) {
  boost::unordered_flat_map<uint64_t, uint32_t> numbers;
  std::vector<uint32_t> made(group.size());
  for (size_t i = 0; i < group.size(); ++i) {
    const auto next = static_cast<uint32_t>(numbers.size());
    made[i] = numbers.try_emplace(uint64_t{group[i]} << 16U | value[i], next).first->second;
  }
  groups = static_cast<uint32_t>(numbers.size());
  return made;
}

// Dense numbers from 0, in the order in which they come; returns how many.
uint32_t renumber(std::vector<uint32_t>& group, uint32_t groups) {
  std::vector<uint32_t> numbers(groups, UINT32_MAX);
  uint32_t next = 0;
  for (uint32_t& of : group) {
    if (numbers[of] == UINT32_MAX) {
      numbers[of] = next++;
    }
    of = numbers[of];
  }
  return next;
}

// How many hosts each group of requests has; `by_host`: the requests, those of one host together.
std::vector<uint32_t> hosts_of(const ComparedRequests& requests, const std::vector<uint32_t>& by_host,
                               const std::vector<uint32_t>& group, uint32_t groups) {
  std::vector<uint32_t> hosts(groups, 0);
  std::vector<uint32_t> last(groups, UINT32_MAX);
  for (const uint32_t request : by_host) {
    if (std::exchange(last[group[request]], requests.host[request]) != requests.host[request]) {
      ++hosts[group[request]];
    }
  }
  return hosts;
}

// Groups of requests that an attribute could split strata into: those with enough requests and hosts. Scores in a stratum of few hosts,
// which may all have run the same side, say nothing of versions.
class StratumSplit {
 public:
  StratumSplit(const ComparedRequests& requests, const std::vector<uint32_t>& by_host,
               const std::vector<uint32_t>& stratum, uint32_t strata, const BucketAttribute& attribute)
      : requests_(requests), by_host_(by_host), stratum_(stratum), strata_(strata) {
    group_ = crossed(stratum, attribute.value_of, parts_);
    whole_hosts_ = hosts_of(requests, by_host, stratum, strata);
  }

  // Small parts of a stratum are taken together, and where they are small even then, as part of the largest.
  std::vector<uint32_t> groups(uint32_t& count) {
    const uint32_t all = parts_ + strata_;  // behind the parts the rest of each stratum
    std::vector<uint32_t> rest(all);
    std::iota(rest.begin(), rest.end(), 0U);
    count_groups(all);
    std::vector<uint32_t> largest(strata_, UINT32_MAX);
    for (uint32_t part = 0; part < parts_; ++part) {
      uint32_t& of = largest[whole_[part]];
      if (is_small(part)) {
        rest[part] = parts_ + whole_[part];
      } else if (of == UINT32_MAX || sizes_[part] > sizes_[of]) {
        of = part;
      }
    }
    replace_groups(rest);
    count_groups(all);
    for (uint32_t of = parts_; of < all; ++of) {
      const bool is_joined = sizes_[of] > 0 && is_small(of) && largest[of - parts_] != UINT32_MAX;
      rest[of] = is_joined ? largest[of - parts_] : of;
    }
    replace_groups(rest);
    count = renumber(group_, all);
    return std::move(group_);
  }

 private:
  void count_groups(uint32_t all) {
    sizes_.assign(all, 0);
    whole_.assign(all, 0);
    for (size_t i = 0; i < group_.size(); ++i) {
      ++sizes_[group_[i]];
      whole_[group_[i]] = stratum_[i];
    }
    group_hosts_ = hosts_of(requests_, by_host_, group_, all);
  }
  bool is_small(uint32_t group) const {
    const bool has_hosts =
        group_hosts_[group] >= kMinHostsOfStratum || 2 * group_hosts_[group] >= whole_hosts_[whole_[group]];
    return sizes_[group] < kMinPerStratum || !has_hosts;
  }
  void replace_groups(const std::vector<uint32_t>& by) {
    for (uint32_t& group : group_) {
      group = by[group];
    }
  }

  const ComparedRequests& requests_;
  const std::vector<uint32_t>& by_host_;
  const std::vector<uint32_t>& stratum_;
  uint32_t strata_ = 0;
  uint32_t parts_ = 0;
  std::vector<uint32_t> group_;                        // by request
  std::vector<uint32_t> whole_hosts_;                  // by stratum
  std::vector<uint32_t> sizes_, group_hosts_, whole_;  // by group
};

std::vector<uint32_t> strata_of(const ComparedRequests& requests, uint32_t& strata) {
  std::vector<uint32_t> by_host(requests.size());
  std::iota(by_host.begin(), by_host.end(), 0U);
  std::sort(by_host.begin(), by_host.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(requests.host[a], a) < std::pair(requests.host[b], b);
  });
  std::vector<uint32_t> stratum(requests.size(), 0);
  strata = 1;
  for (const BucketAttribute& attribute : requests.attributes) {
    uint32_t split = 0;
    std::vector<uint32_t> next = StratumSplit(requests, by_host, stratum, strata, attribute).groups(split);
    stratum = std::move(next);
    strata = split;
  }
  return stratum;
}

void set_ranks(const ComparedRequests& requests, const std::vector<uint32_t>& stratum,
               std::vector<float>& score) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return stratum[a] != stratum[b] ? stratum[a] < stratum[b] : requests.ms[a] < requests.ms[b];
  });
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && stratum[order[end]] == stratum[order[begin]]) {
      ++end;
    }
    const auto size = static_cast<double>(end - begin);
    for (size_t tie = begin; tie < end;) {
      size_t after = tie;
      while (after < end && requests.ms[order[after]] == requests.ms[order[tie]]) {
        ++after;
      }
      const double rank = static_cast<double>(tie + after - 2 * begin + 1) / 2;
      for (; tie < after; ++tie) {
        score[order[tie]] = static_cast<float>(rank / (size + 1) - 0.5);
      }
    }
    begin = end;
  }
}

void take_means_away(const std::vector<uint32_t>& group, uint32_t groups, std::vector<float>& score) {
  std::vector<double> sums(groups, 0);
  std::vector<uint32_t> counts(groups, 0);
  for (size_t i = 0; i < group.size(); ++i) {
    if (group[i] != kNoGroup) {
      sums[group[i]] += static_cast<double>(score[i]);
      ++counts[group[i]];
    }
  }
  for (uint32_t of = 0; of < groups; ++of) {
    sums[of] /= std::max(counts[of], 1U);
  }
  for (size_t i = 0; i < group.size(); ++i) {
    score[i] -= group[i] == kNoGroup ? 0 : static_cast<float>(sums[group[i]]);
  }
}

std::vector<uint32_t> by_time(const ComparedRequests& requests) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return requests.start_ns[a] < requests.start_ns[b]; });
  return order;
}

// Blocks have as many requests each.
std::vector<uint32_t> blocks_of(const std::vector<uint32_t>& order, uint32_t& blocks) {
  blocks = static_cast<uint32_t>(std::clamp<size_t>(order.size() / kRequestsPerBlock, size_t{1}, kMaxBlocks));
  std::vector<uint32_t> block(order.size());
  for (size_t place = 0; place < order.size(); ++place) {
    block[order[place]] = static_cast<uint32_t>(place * blocks / order.size());
  }
  return block;
}

double overlap_of(const ComparedRequests& requests, const std::vector<uint32_t>& order) {
  const auto all = static_cast<double>(requests.size());
  const auto of_new = static_cast<double>(std::ranges::count(requests.is_new, 1));
  const double rarer = std::min(of_new, all - of_new) / all;
  if (order.empty() || rarer == 0) {
    return 0;
  }
  const auto size =
      static_cast<size_t>(std::max(kMinPerOverlapBlock, std::ceil(kRarerPerOverlapBlock / rarer)));
  const size_t blocks = std::max<size_t>(1, order.size() / size);
  double shared = 0;
  for (size_t block = 0; block < blocks; ++block) {
    const size_t begin = block * order.size() / blocks;
    const size_t end = (block + 1) * order.size() / blocks;
    std::array<double, 2> sides{};
    for (size_t place = begin; place < end; ++place) {
      sides[requests.is_new[order[place]]] += 1;
    }
    const auto count = static_cast<double>(end - begin);
    const bool has_both = sides[1] >= kMinShareOfSide * count * of_new / all &&
                          sides[0] >= kMinShareOfSide * count * (all - of_new) / all;
    shared += has_both ? count : 0;
  }
  return shared / all;
}

// By block of time and value. Values with few requests in a block are taken together there, and lose no mean of their own where those are
// few, too.
std::vector<uint32_t> block_values(const std::vector<uint32_t>& block, uint32_t blocks,
                                   const BucketAttribute& attribute, uint32_t& groups) {
  uint32_t cells = 0;
  std::vector<uint32_t> group = crossed(block, attribute.value_of, cells);
  groups = cells + blocks;
  std::vector<uint32_t> sizes(groups, 0);
  for (const uint32_t cell : group) {
    ++sizes[cell];
  }
  for (size_t i = 0; i < group.size(); ++i) {
    if (sizes[group[i]] < kMinPerStratum) {
      group[i] = cells + block[i];
      ++sizes[group[i]];
    }
  }
  for (uint32_t& of : group) {
    of = sizes[of] < kMinPerStratum ? kNoGroup : of;
  }
  return group;
}

// Hosts with both sides by their number; the others keep their mean. Empty where few hosts are so.
std::vector<uint32_t> shared_hosts(const ComparedRequests& requests) {
  std::vector<uint8_t> sides(requests.hosts, 0);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests.add_side(i, sides[requests.host[i]]);
  }
  // Hosts all of whose requests an earlier pass found have no side.
  const auto hosts = sides.size() - static_cast<size_t>(std::ranges::count(sides, 0));
  if (2 * static_cast<size_t>(std::ranges::count(sides, kRanBoth)) < hosts) {
    return {};
  }
  std::vector<uint32_t> group(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    group[i] = sides[requests.host[i]] == kRanBoth ? requests.host[i] : kNoGroup;
  }
  return group;
}

}  // namespace

VersionScores version_scores(const ComparedRequests& requests) {
  VersionScores made{.score = std::vector<float>(requests.size(), 0)};
  uint32_t strata = 0;
  set_ranks(requests, strata_of(requests, strata), made.score);
  made.strata = strata;
  uint32_t blocks = 0;
  const std::vector<uint32_t> order = by_time(requests);
  const std::vector<uint32_t> block = blocks_of(order, blocks);
  made.overlap = overlap_of(requests, order);
  const std::vector<uint32_t> hosts = shared_hosts(requests);
  made.is_within_hosts = !hosts.empty();

  std::vector<std::pair<std::vector<uint32_t>, uint32_t>> groups;
  if (made.overlap >= kMinOverlap) {
    groups.emplace_back(block, blocks);
    for (const BucketAttribute& attribute : requests.attributes) {
      uint32_t size = 0;
      std::vector<uint32_t> group = block_values(block, blocks, attribute, size);
      groups.emplace_back(std::move(group), size);
    }
  }
  if (made.is_within_hosts) {
    groups.emplace_back(hosts, static_cast<uint32_t>(requests.hosts));
  }
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& [group, size] : groups) {
      take_means_away(group, size, made.score);
    }
  }
  return made;
}

}  // namespace plimsoll::diagnosis
