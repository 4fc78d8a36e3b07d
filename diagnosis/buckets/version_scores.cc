#include "diagnosis/buckets/version_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "diagnosis/buckets/strata.h"

namespace plimsoll::diagnosis {
namespace {

constexpr size_t kRequestsPerBlock = 500;
constexpr size_t kMaxBlocks = 96;
// A block has both sides where each has this part of its share in all requests. Blocks have so many requests, and so many of
// the rarer side on average: with 5 one suffices, and 1 block in 150 lacks it by chance. With 20 of the rarer side, the
// fewest that a version may have, there are three blocks or more: the one in which a side follows the other is a third.
constexpr double kMinShareOfSide = 0.2;
constexpr double kMinPerOverlapBlock = 10;
constexpr double kRarerPerOverlapBlock = 5;
constexpr uint32_t kNoGroup = UINT32_MAX;
constexpr int kRounds = 2;

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

// Hosts with both sides by their number. The others keep their mean, less that of the block, which both sides lose alike
// where a block has both. Empty where few hosts are so.
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
