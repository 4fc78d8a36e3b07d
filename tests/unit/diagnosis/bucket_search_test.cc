// Buckets in which a version is slower, among generated requests of which the truth is known. Seeds were fixed beforehand.
#include "diagnosis/buckets/bucket_search.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "diagnosis/buckets/host_contrast.h"
#include "diagnosis/buckets/host_permutations.h"
#include "diagnosis/buckets/subset_means.h"
#include "diagnosis/buckets/version_scores.h"
#include "statistics/incomplete_beta.h"
#include "tests/traces/version_generator.h"

namespace plimsoll::diagnosis {
namespace {

std::string found_in(const ComparedRequests& requests) {
  std::string text;
  for (const FoundBucket& bucket : search_buckets(requests).found) {
    text += (text.empty() ? "" : "; ") + describe(bucket.terms, requests);
  }
  return text;
}

// The share that is exceeded with 5 % at most, by so many hits: Clopper and Pearson, Biometrika 26 (1934).
double upper_limit(double hits, double trials) {
  double low = hits / trials;
  double high = 1;
  while (high - low > 1e-6) {
    const double share = (low + high) / 2;
    // P(X <= hits) = I_(1-share)(trials - hits, hits + 1).
    (statistics::incomplete_beta(1 - share, share, trials - hits, hits + 1) > 0.05 ? low : high) = share;
  }
  return high;
}

TEST(BucketSearch, FindsAndNamesAPlantedRegression) {
  constexpr int kTrials = 100;
  int found = 0;
  int exact = 0;
  std::map<std::string, int> names;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    const std::string name = found_in(generated_versions({.seed = 1000 + seed, .factor = 1.25}));
    ++names[name];
    found += name.empty() ? 0 : 1;
    exact += name == "hw=1 and disk=1" ? 1 : 0;
  }
  std::string all;
  for (const auto& [name, count] : names) {
    all += "\n  " + std::to_string(count) + " " + name;
  }
  std::cout << "x 1.25: found " << found << ", named exactly " << exact << " of " << kTrials << all << "\n";
  // 19 and 17 of 20.
  EXPECT_GE(found, 95) << all;
  EXPECT_GE(exact, 85) << all;
}

TEST(BucketSearch, AccusesNothingWhereVersionsAreAlike) {
  constexpr int kTrials = 100;
  int accused = 0;
  for (const Disturbance disturbance :
       {Disturbance::kNone, Disturbance::kSlowHost, Disturbance::kOtherMix, Disturbance::kBusyHour}) {
    int of_kind = 0;
    std::string names;
    for (uint64_t seed = 0; seed < kTrials; ++seed) {
      const std::string name = found_in(generated_versions(
          {.seed = 2000 + seed, .requests = 15'000, .hosts = 200, .disturbance = disturbance}));
      of_kind += name.empty() ? 0 : 1;
      names += name.empty() ? "" : "\n  " + name;
    }
    std::cout << name_of(disturbance) << ": " << of_kind << " of " << kTrials << " accused" << names << "\n";
    accused += of_kind;
  }
  const double limit = upper_limit(accused, 4 * kTrials);
  std::cout << "no regression: " << accused << " of " << 4 * kTrials
            << " accused, upper limit of 95 % for the share " << limit << "\n";
  EXPECT_LE(limit, 0.05);
}

// 3 of 6 hosts run the new version, twice as slow: 20 ways to choose them are too few.
TEST(BucketSearch, SaysWhereThereAreTooFewHosts) {
  ComparedRequests requests;
  requests.hosts = 6;
  for (uint32_t i = 0; i < 600; ++i) {
    const uint32_t host = i % 6;
    requests.ms.push_back(static_cast<float>((host < 3 ? 20 : 10) + i % 7));
    requests.start_ns.push_back(i);
    requests.host.push_back(host);
    requests.is_new.push_back(host < 3 ? 1 : 0);
  }
  const BucketSearch search = search_buckets(requests);
  EXPECT_TRUE(search.found.empty());
  EXPECT_EQ(search.buckets, 1);
  EXPECT_NEAR(search.smallest_p, 1.0 / 20, 1e-9);
  EXPECT_EQ(search.verdict(), SearchVerdict::kTooFewWays);
}

// Each host ran one version and then the other, in an order of its own: hosts are compared with themselves.
TEST(BucketSearch, ComparesHostsWithThemselvesWhereTheyRanBoth) {
  ComparedRequests requests;
  requests.hosts = 12;
  for (uint32_t i = 0; i < 4800; ++i) {
    const uint32_t host = i % 12;
    const bool is_new = (i / 1200 + host) % 2 == 0;
    // Hosts differ by far more than versions do.
    requests.ms.push_back(static_cast<float>(100 * (host + 1) + (is_new ? 30 : 0) + i * 7919 % 97));
    requests.start_ns.push_back(i);
    requests.host.push_back(host);
    requests.is_new.push_back(is_new ? 1 : 0);
  }
  const BucketSearch search = search_buckets(requests);
  EXPECT_TRUE(search.is_within_hosts);
  ASSERT_EQ(search.found.size(), 1);
  EXPECT_EQ(describe(search.found.front().terms, requests), "all requests");
}

// 400 requests of the old version and 20 of the new one on each of 60 hosts, as while it is rolled out in place.
ComparedRequests rolled_out_in_place(uint64_t seed, double factor) {
  std::mt19937_64 random(seed);
  const auto uniform = [&random] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
  ComparedRequests made;
  made.hosts = 60;
  for (const int values : {3, 4, 3}) {
    BucketAttribute& added = made.attributes.emplace_back();
    added.name = std::string("a") + std::to_string(made.attributes.size());
    added.values.emplace_back();
    for (int value = 0; value < values; ++value) {
      added.values.push_back(std::to_string(value));
    }
  }
  for (uint32_t host = 0; host < made.hosts; ++host) {
    std::array<uint16_t, 3> values{};
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<uint16_t>(1 + random() % (made.attributes[i].values.size() - 1));
    }
    const double slower = 0.2 * uniform();
    for (int request = 0; request < 420; ++request) {
      const bool is_new = request >= 400;
      const double scatter = uniform() + uniform() + uniform();
      made.ms.push_back(static_cast<float>(20 * std::exp(slower + scatter) * (is_new ? factor : 1)));
      made.start_ns.push_back(static_cast<int64_t>(random() >> 20U));
      made.host.push_back(host);
      made.is_new.push_back(is_new ? 1 : 0);
      for (size_t i = 0; i < values.size(); ++i) {
        made.attributes[i].value_of.push_back(values[i]);
      }
    }
  }
  return made;
}

TEST(BucketSearch, AccusesNothingWhereHostsRanVersionsUnequally) {
  // 8 of 300 are within the limit: at the level of 1 % more are accused in 1 of 260 choices of seeds.
  constexpr int kTrials = 300;
  int accused = 0;
  for (uint64_t seed = 0; seed < kTrials; ++seed) {
    accused += found_in(rolled_out_in_place(3000 + seed, 1)).empty() ? 0 : 1;
  }
  std::cout << "400 to 20 requests a host: " << accused << " of " << kTrials << " accused\n";
  EXPECT_LE(upper_limit(accused, kTrials), 0.05);
  int found = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    found += found_in(rolled_out_in_place(4000 + seed, 1.2)) == "all requests" ? 1 : 0;
  }
  std::cout << "400 to 20 requests a host, x 1.2: " << found << " of 20 found\n";
  EXPECT_GE(found, 19);
}

// 2 of 102 hosts run the new version: buckets are there, but none that can be tested.
TEST(BucketSearch, CountsOnlyBucketsThatCanBeTested) {
  ComparedRequests requests;
  requests.hosts = 102;
  for (uint32_t i = 0; i < 2040; ++i) {
    const uint32_t host = i % 102;
    requests.ms.push_back(static_cast<float>((host < 2 ? 20 : 10) + i % 7));
    requests.start_ns.push_back(i);
    requests.host.push_back(host);
    requests.is_new.push_back(host < 2 ? 1 : 0);
  }
  const BucketSearch search = search_buckets(requests);
  EXPECT_TRUE(search.found.empty());
  EXPECT_EQ(search.buckets, 0);
  EXPECT_EQ(search.verdict(), SearchVerdict::kTooFewHosts);
}

// `of_new` of so many hosts run the new version, and take 20 ms instead of 10.
ComparedRequests separated(uint32_t hosts, uint32_t of_new, uint32_t per_host, uint32_t scatter) {
  ComparedRequests requests;
  requests.hosts = hosts;
  for (uint32_t i = 0; i < hosts * per_host; ++i) {
    const uint32_t host = i % hosts;
    requests.ms.push_back(static_cast<float>((host < of_new ? 20 : 10) + i / hosts % scatter));
    requests.start_ns.push_back(i);
    requests.host.push_back(host);
    requests.is_new.push_back(host < of_new ? 1 : 0);
  }
  return requests;
}

// 3 of 10 hosts: 120 ways, of which one is what happened. Drawn at random, some of 999 would be.
TEST(BucketSearch, GoesThroughAllWaysWhereTheyAreFew) {
  const BucketSearch search = search_buckets(separated(10, 3, 50, 7));
  ASSERT_EQ(search.found.size(), 1);
  EXPECT_NEAR(search.found.front().p, 1.0 / 120, 1e-9);
  // Latencies that are all alike leave no scatter: p is what the ways allow, and no less.
  for (uint32_t per_host = 100; per_host < 130; ++per_host) {
    EXPECT_NEAR(search_buckets(separated(6, 3, per_host, 1)).strongest.p, 1.0 / 20, 1e-9) << per_host;
  }
}

TEST(BucketSearch, LimitsHowManyBucketsItTests) {
  ComparedRequests requests = separated(20, 10, 40, 7);
  for (const char* name : {"one", "two", "constant"}) {
    BucketAttribute attribute{.name = name, .values = {"", "x", "y"}, .value_of = {}};
    for (uint32_t i = 0; i < requests.size(); ++i) {
      const uint32_t turn = name[0] == 'o' ? i / 20 : i / 40;
      attribute.value_of.push_back(name[0] == 'c' || turn % 2 == 0 ? 1 : 2);
    }
    requests.attributes.push_back(std::move(attribute));
  }
  const BucketSearch all = search_buckets(requests);
  EXPECT_EQ(all.buckets, 1 + 4 + 4) << "an attribute with one value makes no buckets";
  EXPECT_EQ(all.terms, 2) << "there are two attributes to search";
  EXPECT_FALSE(all.is_limited);
  // 800 requests are read four times: without attributes, by either, and by both.
  for (const BucketSearchOptions& options :
       {BucketSearchOptions{.max_cells = 150}, BucketSearchOptions{.max_reads = 3199}}) {
    const BucketSearch limited = search_buckets(requests, options);
    EXPECT_EQ(limited.buckets, 1 + 4);
    EXPECT_EQ(limited.terms, 1);
    EXPECT_TRUE(limited.is_limited);
  }
  EXPECT_FALSE(search_buckets(requests, {.max_reads = 3200}).is_limited);
}

TEST(HostPermutations, TellsWhichBucketsAreBeyondChance) {
  LargestByChance drawn(false, 0);
  for (int t = 1; t <= 999; ++t) {
    drawn.add(t);
  }
  EXPECT_EQ(drawn.p_of(1000), 0.001);
  EXPECT_EQ(drawn.p_of(995), 0.006);
  EXPECT_EQ(LargestByChance(drawn).p_of(2), 0.999);
}

// As many hosts as single precision cannot add up.
TEST(HostContrast, SumsOverAMillionHosts) {
  constexpr uint32_t kHosts = 1'000'000;
  std::mt19937_64 random(3);
  std::vector<HostMean> means;
  std::vector<LaneBits> labels(2 * size_t{kHosts}, 0);
  for (uint32_t host = 0; host < kHosts; ++host) {
    const uint32_t side = host % 2;
    const float weight = 0.9F;
    const float mean = static_cast<float>(random() % 1000) / 1000 - (side == 1 ? 0.494F : 0.5F);
    means.push_back({.cell = 2 * host + side,
                     .weight = weight,
                     .weighted = weight * mean,
                     .squared = weight * mean * mean});
    labels[2 * size_t{host} + side] = side == 1 ? 0xFF : 0;
  }
  const auto sides = side_sums(means);
  const double t = contrast(sides[1], sides[0], {}, 3).t;
  EXPECT_GT(t, 3);
  std::array<double, kLanes> max_t{};
  raise_max_t(means, labels, {}, 3, max_t);
  for (const double of : max_t) {
    EXPECT_NEAR(of, t, 1e-3 * t);
  }
}

// Of hosts that ran one side, both, or some of either: by how many standard errors sides differ where versions are alike.
TEST(HostContrast, CountsInStandardErrorsWhicheverSidesHostsRan) {
  constexpr int kDraws = 2000;
  constexpr uint32_t kHosts = 80;
  constexpr double kRequests = 200;
  const HostVariance variance{.between = 1, .ratio = 1};
  std::mt19937_64 random(11);
  // Of variance 1; equal on every machine.
  const auto deviation = [&random] {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      sum += static_cast<double>(random() >> 11U) * 0x1p-53;
    }
    return sum;
  };
  // As it happened, and the other way round.
  std::vector<LaneBits> labels(size_t{2} * kHosts, 0);
  for (size_t cell = 0; cell < labels.size(); ++cell) {
    labels[cell] = cell % 2 == 1 ? 0x01 : 0x02;
  }
  for (const uint32_t pairs : {uint32_t{0}, kHosts / 2, kHosts}) {
    double squares = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<HostMean> means;
      for (uint32_t host = 0; host < kHosts; ++host) {
        std::array<CellSum, 2> cells{};
        if (host < pairs) {
          // Half of the difference has the variance 1, too.
          for (CellSum& cell : cells) {
            cell = {.requests = kRequests / 2, .sum = kRequests / 2 * std::sqrt(2) * deviation()};
          }
        } else {
          cells[host % 2] = {.requests = kRequests, .sum = kRequests * deviation()};
        }
        add_host(host, host < pairs ? kRanBoth : host % 2 == 1 ? kRanNew : kRanBase, cells, variance, means);
      }
      const auto sides = side_sums(means);
      const double t = contrast(sides[1], sides[0], variance, 3).t;
      squares += t * t;
      std::array<double, kLanes> max_t{};
      max_t.fill(-INFINITY);
      raise_max_t(means, labels, variance, 3, max_t);
      ASSERT_NEAR(max_t[0], t, 1e-3) << pairs;
      ASSERT_NEAR(max_t[1], -t, 1e-3) << pairs;
    }
    // 2,000 draws leave 1.6 %, and the tails of t add 1 %.
    EXPECT_NEAR(std::sqrt(squares / kDraws), 1, 0.08) << pairs << " of " << kHosts << " hosts ran both";
  }
}

// Hosts differ by ten times as much as requests of one host do.
TEST(HostContrast, KnowsHowMuchHostsDiffer) {
  ComparedRequests requests;
  requests.hosts = 20;
  std::vector<float> score;
  for (uint32_t i = 0; i < 2000; ++i) {
    const uint32_t host = i % 20;
    requests.ms.push_back(1);
    requests.start_ns.push_back(i);
    requests.host.push_back(host);
    requests.is_new.push_back(host % 2 == 1 ? 1 : 0);
    score.push_back(static_cast<float>(host) + static_cast<float>(i / 20 % 2));
  }
  const HostVariance variance = host_variance(requests, score);
  EXPECT_GT(variance.between, 20);
  EXPECT_EQ(variance.ratio, 1);
}

// Six attributes, each with all of a million hosts in a bucket of another key.
TEST(SubsetMeans, KeepsNoMoreMemoryThanItMay) {
  constexpr uint32_t kHosts = 1'000'000;
  ComparedRequests requests;
  requests.hosts = kHosts;
  requests.ms.assign(kHosts, 1);
  requests.start_ns.assign(kHosts, 0);
  requests.is_new.assign(kHosts, 0);
  requests.host.resize(kHosts);
  std::iota(requests.host.begin(), requests.host.end(), 0U);
  for (uint16_t value = 1; value <= 6; ++value) {
    BucketAttribute& attribute = requests.attributes.emplace_back();
    attribute.values.resize(7);
    attribute.value_of.assign(kHosts, value);
  }
  const std::vector<float> score(kHosts, 0);
  const HostVariance variance;
  SubsetMeans means(requests, score, variance);
  size_t largest = 0;
  for (uint32_t attribute = 0; attribute < requests.attributes.size(); ++attribute) {
    size_t kept = 0;
    size_t hosts = 0;
    for (const std::vector<HostMean>& of : means.of(std::array{attribute})) {
      kept += of.capacity() * sizeof(HostMean);
      hosts += of.size();
    }
    EXPECT_EQ(hosts, kHosts);
    largest = std::max(largest, kept);
  }
  // Besides what was kept those of the last call, with room for twice as many.
  EXPECT_LE(largest, SubsetMeans::kMaxKeptBytes + 2 * kHosts * sizeof(HostMean));
}

// `is_new(i)` of request i of so many, on 20 hosts of either side in turns.
template <typename IsNew>
double overlap_of(uint32_t count, IsNew is_new) {
  ComparedRequests requests;
  requests.hosts = 40;
  for (uint32_t i = 0; i < count; ++i) {
    const bool is_of_new = is_new(i);
    requests.ms.push_back(static_cast<float>(10 + i % 7));
    requests.start_ns.push_back(i);
    requests.host.push_back(i % 20 + (is_of_new ? 20 : 0));
    requests.is_new.push_back(is_of_new ? 1 : 0);
  }
  return version_scores(requests).overlap;
}

TEST(VersionScores, TellsVersionsAtOnceFromOneAfterAnother) {
  const auto scattered = [](uint32_t percent) {
    return
        [percent, random = std::mt19937_64(5)](uint32_t /*i*/) mutable { return random() % 100 < percent; };
  };
  EXPECT_GT(overlap_of(10'000, scattered(3)), 0.9) << "a canary";
  EXPECT_GT(overlap_of(10'000, scattered(97)), 0.9);
  EXPECT_GT(overlap_of(600, scattered(50)), 0.9);
  EXPECT_LT(overlap_of(600, [](uint32_t i) { return i >= 300; }), 0.1);
  EXPECT_LT(overlap_of(1400, [](uint32_t i) { return i >= 700; }), 0.1);
  EXPECT_LT(overlap_of(10'000, [](uint32_t i) { return i >= 9700; }), 0.2);
  EXPECT_LT(overlap_of(1000, [](uint32_t i) { return i >= 980; }), kMinOverlap) << "the rarest canary";
  EXPECT_LT(overlap_of(50, [](uint32_t i) { return i >= 28; }), kMinOverlap);
}

// Ten operations of different length have 95 % of the requests, single ones the others; the new version gets more of the long ones.
TEST(BucketSearch, AdjustsForAnAttributeWithALongTail) {
  std::mt19937_64 random(7);
  ComparedRequests requests;
  requests.hosts = 40;
  BucketAttribute workload{.name = "workload", .values = {""}, .value_of = {}, .is_searched = false};
  for (uint32_t i = 0; i < 10'000; ++i) {
    const uint32_t host = i % 40;
    const bool is_new = host % 2 == 1;
    const bool is_single = random() % 20 == 0;
    const auto operation = static_cast<uint32_t>(random() % 10);
    const uint32_t longer = is_new ? std::max(operation, static_cast<uint32_t>(random() % 10)) : operation;
    while (workload.values.size() < 11) {
      workload.values.push_back(std::to_string(workload.values.size()));
    }
    if (is_single) {
      workload.values.push_back(std::to_string(workload.values.size()));
    }
    workload.value_of.push_back(static_cast<uint16_t>(is_single ? workload.values.size() - 1 : 1 + longer));
    requests.ms.push_back(static_cast<float>(is_single ? 50 : 10 * (longer + 1)) +
                          static_cast<float>(random() % 1000) / 100);
    requests.start_ns.push_back(i);
    requests.host.push_back(host);
    requests.is_new.push_back(is_new ? 1 : 0);
  }
  requests.attributes.push_back(std::move(workload));
  EXPECT_EQ(found_in(requests), "");
  EXPECT_EQ(version_scores(requests).strata, 11);
}

// 16 hosts with four attributes that halve them again and again, the new version on half of the hosts of each value: strata
// are not halved down to one host, which has nothing to be compared with.
TEST(BucketSearch, FindsWhatIsSlowerOnFewHostsOfManyAttributes) {
  ComparedRequests requests;
  requests.hosts = 16;
  for (const char* name : {"hw", "kernel", "region", "zone"}) {
    requests.attributes.push_back({.name = name, .values = {"", "a", "b"}, .value_of = {}});
  }
  for (uint32_t i = 0; i < 3200; ++i) {
    const uint32_t host = i % 16;
    const bool is_new = std::popcount(host) % 2 == 1;
    requests.ms.push_back(static_cast<float>((is_new ? 2U : 1U) * (100 + i * 7919 % 97)));
    requests.start_ns.push_back(i);
    requests.host.push_back(host);
    requests.is_new.push_back(is_new ? 1 : 0);
    for (size_t bit = 0; bit < requests.attributes.size(); ++bit) {
      requests.attributes[bit].value_of.push_back((host >> bit & 1U) != 0 ? 2 : 1);
    }
  }
  EXPECT_EQ(version_scores(requests).strata, 2);
  EXPECT_EQ(found_in(requests), "all requests");
}

// 6 hosts ran both sides, 4 that are slower one each: those have nothing that they could be compared with themselves in,
// and lose only what the mean of the one block of time takes in either round: 0.3 - 0.4 x 0.3 = 0.18 is left.
TEST(VersionScores, LeavesHostsOfOneSideTheirMeanLessThatOfTheBlock) {
  ComparedRequests requests;
  requests.hosts = 10;
  for (uint32_t i = 0; i < 800; ++i) {
    const uint32_t host = i % 10;
    requests.ms.push_back(static_cast<float>((host < 6 ? 10 : 100) + i * 7919 % 97));
    requests.start_ns.push_back(i);
    requests.host.push_back(host);
    requests.is_new.push_back((host < 6 ? i / 10 : host) % 2 == 1 ? 1 : 0);
  }
  const VersionScores scores = version_scores(requests);
  ASSERT_TRUE(scores.is_within_hosts);
  std::array<double, 2> means{};
  for (uint32_t i = 0; i < 800; ++i) {
    means[i % 10 < 6 ? 0 : 1] += static_cast<double>(scores.score[i]) / (i % 10 < 6 ? 480 : 320);
  }
  EXPECT_NEAR(means[0], 0, 0.01);
  EXPECT_NEAR(means[1], 0.18, 0.02);
}

}  // namespace
}  // namespace plimsoll::diagnosis
