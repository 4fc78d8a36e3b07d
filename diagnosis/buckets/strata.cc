#include "diagnosis/buckets/strata.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <numeric>
#include <utility>

namespace plimsoll::diagnosis {
namespace {

// Fewer will do where they are half of all hosts. Half of those of the stratum that is split would be one host after some
// attributes.
constexpr uint32_t kMinHostsOfStratum = 10;

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
  StratumSplit(const ComparedRequests& requests, const std::vector<uint32_t>& by_host, uint32_t min_hosts,
               const std::vector<uint32_t>& stratum, uint32_t strata, const BucketAttribute& attribute)
      : requests_(requests), by_host_(by_host), min_hosts_(min_hosts), stratum_(stratum), strata_(strata) {
    group_ = crossed(stratum, attribute.value_of, parts_);
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
    return sizes_[group] < kMinPerStratum || group_hosts_[group] < min_hosts_;
  }
  void replace_groups(const std::vector<uint32_t>& by) {
    for (uint32_t& group : group_) {
      group = by[group];
    }
  }

  const ComparedRequests& requests_;
  const std::vector<uint32_t>& by_host_;
  uint32_t min_hosts_ = 0;
  const std::vector<uint32_t>& stratum_;
  uint32_t strata_ = 0;
  uint32_t parts_ = 0;
  std::vector<uint32_t> group_;                        // by request
  std::vector<uint32_t> sizes_, group_hosts_, whole_;  // by group
};

}  // namespace

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

std::vector<uint32_t> strata_of(const ComparedRequests& requests, uint32_t& strata) {
  std::vector<uint32_t> by_host(requests.size());
  std::iota(by_host.begin(), by_host.end(), 0U);
  std::sort(by_host.begin(), by_host.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(requests.host[a], a) < std::pair(requests.host[b], b);
  });
  std::vector<uint32_t> stratum(requests.size(), 0);
  strata = 1;
  const uint32_t all_hosts = hosts_of(requests, by_host, stratum, strata).front();
  const uint32_t min_hosts = std::min(kMinHostsOfStratum, (all_hosts + 1) / 2);
  for (const BucketAttribute& attribute : requests.attributes) {
    uint32_t split = 0;
    std::vector<uint32_t> next =
        StratumSplit(requests, by_host, min_hosts, stratum, strata, attribute).groups(split);
    stratum = std::move(next);
    strata = split;
  }
  return stratum;
}

}  // namespace plimsoll::diagnosis
