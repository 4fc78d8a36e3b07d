#include "diagnosis/buckets/bucket_search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/stop_scope.h"
#include "diagnosis/buckets/host_contrast.h"
#include "diagnosis/buckets/host_permutations.h"
#include "diagnosis/buckets/subset_means.h"
#include "diagnosis/buckets/version_scores.h"

namespace plimsoll::diagnosis {
namespace {

// Standard errors by which requests that only a shorter description has must be less slow for the longer one to stay.
constexpr double kMinLessSlow = 2;
// Ways of rolling out that are tried before it is first seen whether p can still become small, in batches of kLanes; then four times as many,
// and so on. Means are made again for each such round.
constexpr size_t kFirstBatches = 5;
constexpr size_t kLabelBytesPerRound = 128U << 20U;

// How many sets of `size` there are.
double sets_of(size_t attributes, size_t size) {
  double sets = 1;
  for (size_t i = 0; i < size; ++i) {
    sets *= static_cast<double>(attributes - i) / static_cast<double>(i + 1);
  }
  return sets;
}

// All sets of `size` of these.
std::vector<std::vector<uint32_t>> subsets_of(const std::vector<uint32_t>& searched, size_t size) {
  std::vector<std::vector<uint32_t>> made;
  std::vector<uint8_t> is_in(searched.size(), 0);
  std::fill_n(is_in.begin(), size, uint8_t{1});
  do {
    std::vector<uint32_t>& subset = made.emplace_back();
    for (size_t i = 0; i < searched.size(); ++i) {
      if (is_in[i] != 0) {
        subset.push_back(searched[i]);
      }
    }
  } while (std::prev_permutation(is_in.begin(), is_in.end()));
  return made;
}

struct Bucket {
  std::vector<BucketTerm> terms;
  double t = 0;
  double fit = 0;
};

// One pass of the search, over the requests that no bucket found earlier has.
class SearchPass {
 public:
  SearchPass(const ComparedRequests& requests, const BucketSearchOptions& options)
      : requests_(requests),
        options_(options),
        scores_(version_scores(requests)),
        variance_(host_variance(requests, scores_.score)),
        means_(requests, scores_.score, variance_) {
    test_buckets();
  }

  const VersionScores& scores() const { return scores_; }
  size_t buckets() const { return tested_; }
  size_t terms() const { return terms_; }
  bool is_limited() const { return is_limited_; }
  // What is slower beyond chance, described as shortly as possible; else the bucket with the largest t, with p above max_p.
  FoundBucket strongest();

 private:
  using Sides = std::array<SideSums, 2>;

  double min_hosts() const { return static_cast<double>(options_.min_hosts); }
  bool can_be_tested(const std::vector<HostMean>& means) const {
    return means.size() >= 2 * options_.min_hosts;
  }
  std::vector<uint32_t> searched_attributes() const;
  void test_buckets();
  bool add_buckets_of(const std::vector<uint32_t>& searched, size_t size);
  bool add_buckets(const std::vector<uint32_t>& attributes);
  LargestByChance largest_by_chance(double t);
  template <typename IsIn>
  Sides sides_of(const IsIn& is_in) const {
    return side_sums(means_.where(is_in));
  }
  Contrast contrast_of(const Sides& sides) const {
    return contrast(sides[1], sides[0], variance_, min_hosts());
  }
  FoundBucket pruned(std::vector<BucketTerm> terms, const LargestByChance& chance) const;

  const ComparedRequests& requests_;
  const BucketSearchOptions& options_;
  VersionScores scores_;
  HostVariance variance_;
  SubsetMeans means_;
  std::vector<std::vector<uint32_t>> subsets_;  // of attributes, that are searched
  size_t terms_ = 0;                            // at most, of a bucket
  size_t cells_ = 0;                            // host means of all subsets
  std::vector<Bucket> buckets_;                 // with enough hosts of both sides
  size_t tested_ = 0;
  bool is_limited_ = false;
};

// Those that tell requests apart.
std::vector<uint32_t> SearchPass::searched_attributes() const {
  std::vector<uint32_t> searched;
  for (uint32_t i = 0; i < requests_.attributes.size(); ++i) {
    const BucketAttribute& attribute = requests_.attributes[i];
    const bool is_one_value =
        std::ranges::adjacent_find(attribute.value_of, std::not_equal_to<>()) == attribute.value_of.end();
    if (attribute.is_searched && attribute.values.size() <= options_.max_values + 1 && !is_one_value) {
      searched.push_back(i);
    }
  }
  return searched;
}

// By number of terms, as far as attributes and limits go.
void SearchPass::test_buckets() {
  const std::vector<uint32_t> searched = searched_attributes();
  double reads = 0;
  for (size_t size = 0; size <= std::min(options_.max_terms, searched.size()); ++size) {
    // Before sets are made: of 3 of 256 attributes there are millions.
    reads += sets_of(searched.size(), size) * static_cast<double>(requests_.size());
    const bool is_too_much = size > 1 && reads > static_cast<double>(options_.max_reads);
    if (is_too_much || !add_buckets_of(searched, size)) {
      is_limited_ = true;
      break;
    }
    terms_ = size;
  }
  tested_ = buckets_.size();
}

// Those with `size` terms. Where they have too many host means, all of them are left out: false.
bool SearchPass::add_buckets_of(const std::vector<uint32_t>& searched, size_t size) {
  const size_t buckets = buckets_.size();
  const size_t subsets = subsets_.size();
  for (std::vector<uint32_t>& subset : subsets_of(searched, size)) {
    if ((!add_buckets(subset) && size > 1) || !check_stop()) {
      buckets_.resize(buckets);
      subsets_.resize(subsets);
      return false;
    }
    subsets_.push_back(std::move(subset));
  }
  return true;
}

// False where there are too many host means.
bool SearchPass::add_buckets(const std::vector<uint32_t>& attributes) {
  const auto all = means_.of(attributes);
  for (size_t key = 0; key < all.size(); ++key) {
    cells_ += all[key].size();
    const Sides sides = side_sums(all[key]);
    if (std::min(sides[0].hosts, sides[1].hosts) < min_hosts()) {
      continue;
    }
    const Contrast found = contrast_of(sides);
    buckets_.push_back({.terms = means_.terms_of(attributes, key), .t = found.t, .fit = found.fit});
  }
  return cells_ <= options_.max_cells;
}

// Ends early where more are as large as `t` than p = max_p allows for.
LargestByChance SearchPass::largest_by_chance(double t) {
  HostPermutations versions(requests_, options_.permutations, options_.seed);
  LargestByChance chance(versions.is_exact(), versions.smallest_p());
  const double allowed = options_.max_p * static_cast<double>(options_.permutations + 1) - 1;
  const size_t max_batches =
      std::max<size_t>(1, kLabelBytesPerRound / std::max<size_t>(1, 2 * requests_.hosts));
  for (size_t batches = kFirstBatches; chance.size() < versions.size(); batches *= 4) {
    const size_t left = (versions.size() - chance.size() + kLanes - 1) / kLanes;
    std::vector<std::vector<LaneBits>> labels(std::min({batches, left, max_batches}));
    std::ranges::generate(labels, [&versions] { return versions.next(); });
    std::vector<std::array<double, kLanes>> max_t(labels.size());
    for (const std::vector<uint32_t>& subset : subsets_) {
      for (const std::vector<HostMean>& means : means_.of(subset)) {
        // Those that other ways of rolling out could test count for chance, too.
        for (size_t batch = 0; can_be_tested(means) && batch < labels.size(); ++batch) {
          raise_max_t(means, labels[batch], variance_, min_hosts(), max_t[batch]);
        }
      }
    }
    for (const std::array<double, kLanes>& of : max_t) {
      for (size_t lane = 0; lane < kLanes && chance.size() < versions.size(); ++lane) {
        chance.add(of[lane]);
      }
    }
    if (!versions.is_exact() && static_cast<double>(chance.as_large_as(t)) > allowed) {
      break;
    }
    // Of a stopped search nothing is taken.
    if (!check_stop()) {
      break;
    }
  }
  return chance;
}

// Whether there is something is decided by the largest t; which bucket it is, by the fit of those that are beyond chance by themselves.
FoundBucket SearchPass::strongest() {
  const Bucket* largest = nullptr;
  for (const Bucket& bucket : buckets_) {
    // Of equal ones, which are of the same requests, the shortest.
    if (bucket.t > 0 && (largest == nullptr || bucket.t > largest->t)) {
      largest = &bucket;
    }
  }
  if (largest == nullptr) {
    return {};
  }
  const LargestByChance chance = largest_by_chance(largest->t);
  const double p = chance.p_of(largest->t);
  if (p > options_.max_p) {
    return {.terms = largest->terms, .t = largest->t, .p = p};
  }
  const Bucket* best = largest;
  for (const Bucket& bucket : buckets_) {
    const bool is_better =
        bucket.fit > best->fit || (bucket.fit == best->fit && bucket.terms.size() < best->terms.size());
    if (bucket.t > 0 && is_better && chance.p_of(bucket.t) <= options_.max_p) {
      best = &bucket;
    }
  }
  return pruned(best->terms, chance);
}

// Shorter descriptions are taken only where they are beyond chance, too.
FoundBucket SearchPass::pruned(std::vector<BucketTerm> terms, const LargestByChance& chance) const {
  const auto is_found = [&](uint32_t request) { return requests_.is_in(request, terms); };
  Contrast of_found = contrast_of(sides_of(is_found));
  for (bool is_shorter = true; is_shorter && !terms.empty();) {
    is_shorter = false;
    std::vector<BucketTerm> best;
    Contrast of_best;
    for (size_t i = 0; i < terms.size(); ++i) {
      std::vector<BucketTerm> shorter = terms;
      shorter.erase(shorter.begin() + static_cast<ptrdiff_t>(i));
      const auto is_shorter_one = [&](uint32_t request) { return requests_.is_in(request, shorter); };
      const Sides rest_sides =
          sides_of([&](uint32_t request) { return is_shorter_one(request) && !is_found(request); });
      const Contrast rest = contrast(rest_sides[1], rest_sides[0], variance_, 1);
      // Without hosts of both sides in the rest there is nothing to keep the term for.
      const double less_slow =
          rest.error > 0 ? (of_found.difference - rest.difference) / std::hypot(of_found.error, rest.error)
                         : 0;
      const Contrast of_shorter = contrast_of(sides_of(is_shorter_one));
      if (less_slow < kMinLessSlow && of_shorter.fit > of_best.fit &&
          chance.p_of(of_shorter.t) <= options_.max_p) {
        best = std::move(shorter);
        of_best = of_shorter;
        is_shorter = true;
      }
    }
    if (is_shorter) {
      terms = std::move(best);
      of_found = of_best;
    }
  }
  return {.terms = std::move(terms), .t = of_found.t, .p = chance.p_of(of_found.t)};
}

}  // namespace

const char* name_of(SearchVerdict verdict) {
  switch (verdict) {
    case SearchVerdict::kFound:
      return "found";
    case SearchVerdict::kTooFewHosts:
      return "too few hosts";
    case SearchVerdict::kTooFewWays:
      return "too few ways to roll out";
    case SearchVerdict::kNone:
      break;
  }
  return "none";
}

SearchVerdict BucketSearch::verdict() const {
  return !found.empty()               ? SearchVerdict::kFound
         : buckets == 0               ? SearchVerdict::kTooFewHosts
         : smallest_p > options.max_p ? SearchVerdict::kTooFewWays
                                      : SearchVerdict::kNone;
}

BucketSearch search_buckets(const ComparedRequests& requests, const BucketSearchOptions& options) {
  BucketSearch made;
  made.options = options;
  made.smallest_p = HostPermutations(requests, options.permutations, options.seed).smallest_p();
  ComparedRequests rest;
  const ComparedRequests* searched = &requests;
  while (searched->size() > 0 && made.found.size() < options.max_found) {
    SearchPass pass(*searched, options);
    if (searched == &requests) {
      made.buckets = pass.buckets();
      made.terms = pass.terms();
      made.is_limited = pass.is_limited();
      made.overlap = pass.scores().overlap;
      made.is_within_hosts = pass.scores().is_within_hosts;
      made.strata = pass.scores().strata;
    }
    FoundBucket strongest = pass.strongest();
    if (strongest.p > options.max_p || !check_stop()) {
      made.strongest = std::move(strongest);
      return made;
    }
    made.found.push_back(std::move(strongest));
    if (made.found.back().terms.empty()) {
      return made;
    }
    rest = without(*searched, made.found.back().terms);
    searched = &rest;
  }
  return made;
}

}  // namespace plimsoll::diagnosis
