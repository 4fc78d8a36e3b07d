#include "diagnosis/buckets/version_scores.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <numeric>
#include <utility>

namespace plimsoll::diagnosis {
namespace {

constexpr size_t kMinPerStratum = 20;
// Fewer will do where they are half of those of the stratum that is split.
constexpr uint32_t kMinHostsOfStratum = 10;
constexpr size_t kRequestsPerBlock = 500;
constexpr size_t kMaxBlocks = 96;
// Of the requests of a block, that the rarer side has, for the block to count as one with both.
constexpr double kMinShareOfSide = 0.05;
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

// A stratum is split by the next attribute where each part has enough requests and hosts: scores in a stratum of few hosts, which may all
// have run the same side, say nothing of versions.
std::vector<uint32_t> strata_of(const ComparedRequests& requests, uint32_t& strata) {
  std::vector<uint32_t> by_host(requests.size());
  std::iota(by_host.begin(), by_host.end(), 0U);
  std::sort(by_host.begin(), by_host.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(requests.host[a], a) < std::pair(requests.host[b], b);
  });
  std::vector<uint32_t> stratum(requests.size(), 0);
  strata = 1;
  for (const BucketAttribute& attribute : requests.attributes) {
    uint32_t parts = 0;
    const std::vector<uint32_t> part = crossed(stratum, attribute.value_of, parts);
    const std::vector<uint32_t> hosts = hosts_of(requests, by_host, stratum, strata);
    const std::vector<uint32_t> part_hosts = hosts_of(requests, by_host, part, parts);
    std::vector<uint32_t> sizes(parts, 0);
    std::vector<uint32_t> whole(parts, 0);
    for (size_t i = 0; i < part.size(); ++i) {
      ++sizes[part[i]];
      whole[part[i]] = stratum[i];
    }
    std::vector<uint8_t> is_kept(strata, 0);
    for (uint32_t of = 0; of < parts; ++of) {
      const bool has_hosts = part_hosts[of] >= kMinHostsOfStratum || 2 * part_hosts[of] >= hosts[whole[of]];
      if (sizes[of] < kMinPerStratum || !has_hosts) {
        is_kept[whole[of]] = 1;
      }
    }
    // Those that are split get the numbers of their parts, behind those that are not.
    for (size_t i = 0; i < part.size(); ++i) {
      stratum[i] = is_kept[stratum[i]] != 0 ? stratum[i] : strata + part[i];
    }
    strata = renumber(stratum, strata + parts);
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
    sums[group[i]] += score[i];
    ++counts[group[i]];
  }
  for (uint32_t of = 0; of < groups; ++of) {
    sums[of] /= std::max(counts[of], 1U);
  }
  for (size_t i = 0; i < group.size(); ++i) {
    score[i] -= static_cast<float>(sums[group[i]]);
  }
}

// Blocks have as many requests each.
std::vector<uint32_t> blocks_of(const ComparedRequests& requests, uint32_t& blocks) {
  std::vector<uint32_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return requests.start_ns[a] < requests.start_ns[b]; });
  blocks =
      static_cast<uint32_t>(std::clamp<size_t>(requests.size() / kRequestsPerBlock, size_t{1}, kMaxBlocks));
  std::vector<uint32_t> block(requests.size());
  for (size_t place = 0; place < order.size(); ++place) {
    block[order[place]] = static_cast<uint32_t>(place * blocks / order.size());
  }
  return block;
}

double overlap_of(const ComparedRequests& requests, const std::vector<uint32_t>& block, uint32_t blocks) {
  std::vector<double> all(blocks, 0);
  std::vector<double> of_new(blocks, 0);
  for (size_t i = 0; i < block.size(); ++i) {
    all[block[i]] += 1;
    of_new[block[i]] += requests.is_new[i];
  }
  double shared = 0;
  for (uint32_t i = 0; i < blocks; ++i) {
    shared += std::min(of_new[i], all[i] - of_new[i]) >= kMinShareOfSide * all[i] ? all[i] : 0;
  }
  return requests.size() == 0 ? 0 : shared / static_cast<double>(requests.size());
}

// Hosts with both sides by number from 1; 0: the others, whose mean is not theirs to lose. Empty where few hosts are so.
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
    group[i] = sides[requests.host[i]] == kRanBoth ? requests.host[i] + 1 : 0;
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
  const std::vector<uint32_t> block = blocks_of(requests, blocks);
  made.overlap = overlap_of(requests, block, blocks);
  const std::vector<uint32_t> hosts = shared_hosts(requests);
  made.is_within_hosts = !hosts.empty();

  std::vector<std::pair<std::vector<uint32_t>, uint32_t>> groups;
  if (made.overlap >= kMinOverlap) {
    groups.emplace_back(block, blocks);
    for (const BucketAttribute& attribute : requests.attributes) {
      uint32_t size = 0;
      std::vector<uint32_t> group = crossed(block, attribute.value_of, size);
      if (size * kMinPerStratum <= requests.size()) {
        groups.emplace_back(std::move(group), size);
      }
    }
  }
  if (made.is_within_hosts) {
    groups.emplace_back(hosts, static_cast<uint32_t>(requests.hosts + 1));
  }
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& [group, size] : groups) {
      take_means_away(group, size, made.score);
    }
  }
  return made;
}

}  // namespace plimsoll::diagnosis
