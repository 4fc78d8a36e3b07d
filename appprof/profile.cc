#include "appprof/profile.h"

#include <time.h>

#include <map>
#include <tuple>

#include "appprof/site_table.h"

namespace plimsoll::appprof {
namespace {

using Key = std::tuple<std::vector<uintptr_t>, Labels, std::string, bool>;

Key key_of(const Sample& sample) {
  return {sample.stack, sample.labels, sample.stand_in, sample.is_leaf_exact};
}

int64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

void merge_equal(Profile& profile) {
  std::map<Key, size_t> places;
  std::vector<Sample> merged;
  for (Sample& sample : profile.samples) {
    const auto [place, is_new] = places.try_emplace(key_of(sample), merged.size());
    if (is_new) {
      merged.push_back(std::move(sample));
    } else {
      merged[place->second].values[0] += sample.values[0];
      merged[place->second].values[1] += sample.values[1];
    }
  }
  profile.samples = std::move(merged);
}

Profile difference(const Profile& earlier, Profile later) {
  std::map<Key, std::array<double, 2>> before;
  for (const Sample& sample : earlier.samples) {
    before[key_of(sample)] = sample.values;
  }
  std::vector<Sample> changed;
  for (Sample& sample : later.samples) {
    if (const auto found = before.find(key_of(sample)); found != before.end()) {
      sample.values[0] -= found->second[0];
      sample.values[1] -= found->second[1];
    }
    if (sample.values[0] > 0 || sample.values[1] > 0) {
      changed.push_back(std::move(sample));
    }
  }
  later.samples = std::move(changed);
  later.duration_ns = later.monotonic_ns - earlier.monotonic_ns;
  return later;
}

void add_sites(const SiteTable& sites, Profile& profile) {
  const auto values_of = [](const SiteTable::Sums& sums) {
    return std::array<double, 2>{static_cast<double>(sums.count) / static_cast<double>(SiteTable::kOne),
                                 static_cast<double>(sums.amount)};
  };
  sites.for_each([&](std::span<const uintptr_t> frames, uint32_t labels, const SiteTable::Sums& sums) {
    Sample& sample = profile.samples.emplace_back();
    sample.stack.assign(frames.begin(), frames.end());
    sample.labels = labels_of(labels);
    sample.values = values_of(sums);
  });
  if (const SiteTable::Sums lost = sites.overflow(); lost.count > 0) {
    Sample& sample = profile.samples.emplace_back();
    sample.stand_in = "[sites beyond the table]";
    sample.values = values_of(lost);
  }
}

int64_t unix_time_ns() {
  return clock_ns(CLOCK_REALTIME);
}
int64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

}  // namespace plimsoll::appprof
