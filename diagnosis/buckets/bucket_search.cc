#include "diagnosis/buckets/bucket_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "diagnosis/buckets/host_contrast.h"
#include "diagnosis/buckets/host_permutations.h"
#include "diagnosis/buckets/version_scores.h"

namespace plimsoll::diagnosis {
namespace {

// Standard errors by which requests that only a shorter description has must be less slow for the longer one to stay.
constexpr double kMinLessSlow = 2;
// Buckets compete for the name of what was found that are themselves slower by so many standard errors.
constexpr double kMinNamedT = 3;

struct Bucket {
  std::vector<BucketTerm> terms;
  std::vector<HostMean> means;
  double t = 0;
  double fit = 0;
};

// One pass of the search, over the requests that no bucket found earlier has.
class SearchPass {
 public:
  SearchPass(const ComparedRequests& requests, const BucketSearchOptions& options)
      : requests_(requests), options_(options), scores_(version_scores(requests)) {
    variance_ = host_variance(requests_, scores_.score);
    sides_.resize(requests.hosts);
    for (size_t i = 0; i < requests.size(); ++i) {
      requests.add_side(i, sides_[requests.host[i]]);
    }
    order_.resize(requests.size());
    std::iota(order_.begin(), order_.end(), 0U);
    std::sort(order_.begin(), order_.end(),
              [&](uint32_t a, uint32_t b) { return std::pair(cell_of(a), a) < std::pair(cell_of(b), b); });
    add_subsets({}, 0);
  }

  const VersionScores& scores() const { return scores_; }
  size_t buckets() const { return tested_; }
  // The bucket with the largest t, and its p.
  FoundBucket strongest() const;
  FoundBucket pruned(FoundBucket found) const;

 private:
  struct Side {
    SideSums sums;
    size_t requests = 0;
  };
  using Sides = std::array<Side, 2>;

  uint32_t cell_of(uint32_t request) const { return 2 * requests_.host[request] + requests_.is_new[request]; }
  double min_hosts() const { return static_cast<double>(options_.min_hosts); }
  void add_subsets(const std::vector<uint32_t>& attributes, uint32_t from);
  void add_buckets(const std::vector<uint32_t>& attributes);
  double p_of(double t) const;
  template <typename IsIn>
  Sides sides_of(const IsIn& is_in) const;
  Contrast contrast_of(const Sides& sides) const {
    return contrast(sides[1].sums, sides[0].sums, variance_, min_hosts());
  }

  const ComparedRequests& requests_;
  const BucketSearchOptions& options_;
  VersionScores scores_;
  HostVariance variance_;
  std::vector<uint32_t> order_;  // requests by cell
  std::vector<uint8_t> sides_;   // by host
  std::vector<Bucket> buckets_;
  size_t tested_ = 0;  // buckets with enough hosts of both sides
};

void SearchPass::add_subsets(const std::vector<uint32_t>& attributes, uint32_t from) {
  add_buckets(attributes);
  if (attributes.size() == options_.max_terms) {
    return;
  }
  for (uint32_t next = from; next < requests_.attributes.size(); ++next) {
    const BucketAttribute& attribute = requests_.attributes[next];
    if (!attribute.is_searched || attribute.values.size() > options_.max_values + 1) {
      continue;
    }
    std::vector<uint32_t> more = attributes;
    more.push_back(next);
    add_subsets(more, next + 1);
  }
}

// One bucket for each combination of values of these attributes.
void SearchPass::add_buckets(const std::vector<uint32_t>& attributes) {
  size_t combinations = 1;
  for (const uint32_t attribute : attributes) {
    combinations *= requests_.attributes[attribute].values.size();
  }
  std::vector<std::vector<HostMean>> means(combinations);
  std::vector<std::array<CellSum, 2>> sums(combinations);  // of the host at hand
  std::vector<size_t> touched;
  const auto end_host = [&](uint32_t host) {
    for (const size_t key : touched) {
      add_host(host, sides_[host], std::exchange(sums[key], {}), variance_, means[key]);
    }
    touched.clear();
  };
  for (size_t place = 0; place < order_.size(); ++place) {
    const uint32_t request = order_[place];
    if (place > 0 && requests_.host[request] != requests_.host[order_[place - 1]]) {
      end_host(requests_.host[order_[place - 1]]);
    }
    size_t key = 0;
    bool is_whole = true;
    for (const uint32_t attribute : attributes) {
      const uint16_t value = requests_.attributes[attribute].value_of[request];
      key = key * requests_.attributes[attribute].values.size() + value;
      is_whole = is_whole && value != 0;
    }
    if (is_whole) {
      if (sums[key][0].requests + sums[key][1].requests == 0) {
        touched.push_back(key);
      }
      CellSum& cell = sums[key][requests_.is_new[request]];
      cell.requests += 1;
      cell.sum += static_cast<double>(scores_.score[request]);
    }
  }
  if (!order_.empty()) {
    end_host(requests_.host[order_.back()]);
  }
  for (size_t key = 0; key < combinations; ++key) {
    if (means[key].size() < 2 * options_.min_hosts) {
      continue;
    }
    Bucket bucket{.terms = {}, .means = std::move(means[key])};
    size_t left = key;
    for (auto attribute = attributes.rbegin(); attribute != attributes.rend(); ++attribute) {
      const size_t values = requests_.attributes[*attribute].values.size();
      bucket.terms.insert(bucket.terms.begin(), {*attribute, static_cast<uint16_t>(left % values)});
      left /= values;
    }
    const auto sides = side_sums(bucket.means);
    const Contrast found = contrast(sides[1], sides[0], variance_, min_hosts());
    // Those that other ways of rolling out could test count for chance, but were not tested.
    tested_ += std::min(sides[0].hosts, sides[1].hosts) >= min_hosts() ? 1 : 0;
    bucket.t = found.t;
    bucket.fit = found.fit;
    buckets_.push_back(std::move(bucket));
  }
}

double SearchPass::p_of(double t) const {
  HostPermutations versions(requests_, options_.seed);
  const double allowed = options_.max_p * static_cast<double>(options_.permutations + 1) - 1;
  size_t as_large = 0;
  size_t done = 0;
  // Sums in single precision must not decide.
  const double threshold = t * (1 - 1e-4);
  while (done < options_.permutations && static_cast<double>(as_large) <= allowed) {
    const auto labels = versions.next();
    std::array<double, kLanes> max_t{};
    for (const Bucket& bucket : buckets_) {
      raise_max_t(bucket.means, labels, variance_, min_hosts(), max_t);
    }
    for (size_t lane = 0; lane < kLanes && done < options_.permutations; ++lane, ++done) {
      as_large += max_t[lane] >= threshold ? 1U : 0U;
    }
  }
  return static_cast<double>(as_large + 1) / static_cast<double>(done + 1);
}

// Whether there is something is decided by t; which bucket it is, by the fit.
FoundBucket SearchPass::strongest() const {
  double max_t = 0;
  for (const Bucket& bucket : buckets_) {
    max_t = std::max(max_t, bucket.t);
  }
  const Bucket* best = nullptr;
  for (const Bucket& bucket : buckets_) {
    const bool is_candidate = bucket.t >= std::min(kMinNamedT, max_t) && bucket.t > 0;
    // Of equal ones, which are of the same requests, the shortest.
    if (is_candidate && (best == nullptr || bucket.fit > best->fit ||
                         (bucket.fit == best->fit && bucket.terms.size() < best->terms.size()))) {
      best = &bucket;
    }
  }
  return best == nullptr ? FoundBucket() : FoundBucket{.terms = best->terms, .t = max_t, .p = p_of(max_t)};
}

template <typename IsIn>
SearchPass::Sides SearchPass::sides_of(const IsIn& is_in) const {
  Sides sides;
  std::array<CellSum, 2> cells{};
  std::vector<HostMean> means;
  for (size_t place = 0; place < order_.size(); ++place) {
    const uint32_t request = order_[place];
    if (is_in(request)) {
      const size_t side = requests_.is_new[request];
      cells[side].requests += 1;
      cells[side].sum += static_cast<double>(scores_.score[request]);
      ++sides[side].requests;
    }
    const uint32_t host = requests_.host[request];
    if (place + 1 == order_.size() || requests_.host[order_[place + 1]] != host) {
      add_host(host, sides_[host], std::exchange(cells, {}), variance_, means);
    }
  }
  const auto sums = side_sums(means);
  sides[0].sums = sums[0];
  sides[1].sums = sums[1];
  return sides;
}

FoundBucket SearchPass::pruned(FoundBucket found) const {
  const auto is_found = [&](uint32_t request) { return requests_.is_in(request, found.terms); };
  Sides sides = sides_of(is_found);
  for (bool is_shorter = true; is_shorter && !found.terms.empty();) {
    is_shorter = false;
    std::vector<BucketTerm> best;
    double best_fit = 0;
    const Contrast of_found = contrast_of(sides);
    for (size_t i = 0; i < found.terms.size(); ++i) {
      std::vector<BucketTerm> shorter = found.terms;
      shorter.erase(shorter.begin() + static_cast<ptrdiff_t>(i));
      const auto is_shorter_one = [&](uint32_t request) { return requests_.is_in(request, shorter); };
      const Sides rest_sides =
          sides_of([&](uint32_t request) { return is_shorter_one(request) && !is_found(request); });
      const Contrast rest = contrast(rest_sides[1].sums, rest_sides[0].sums, variance_, 1);
      // Without hosts of both sides in the rest there is nothing to keep the term for.
      const double less_slow =
          rest.error > 0 ? (of_found.difference - rest.difference) / std::hypot(of_found.error, rest.error)
                         : 0;
      const double fit = contrast_of(sides_of(is_shorter_one)).fit;
      if (less_slow < kMinLessSlow && fit > best_fit) {
        best = shorter;
        best_fit = fit;
        is_shorter = true;
      }
    }
    if (is_shorter) {
      found.terms = best;
      sides = sides_of(is_found);
    }
  }
  found.t = contrast_of(sides).t;
  found.new_requests = sides[1].requests;
  found.base_requests = sides[0].requests;
  found.new_hosts = static_cast<size_t>(sides[1].sums.hosts);
  found.base_hosts = static_cast<size_t>(sides[0].sums.hosts);
  return found;
}

ComparedRequests without(const ComparedRequests& requests, const std::vector<BucketTerm>& terms) {
  ComparedRequests rest;
  rest.hosts = requests.hosts;
  for (const BucketAttribute& attribute : requests.attributes) {
    rest.attributes.push_back({attribute.name, attribute.values, {}, attribute.is_searched});
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    if (requests.is_in(i, terms)) {
      continue;
    }
    rest.ms.push_back(requests.ms[i]);
    rest.start_ns.push_back(requests.start_ns[i]);
    rest.host.push_back(requests.host[i]);
    rest.is_new.push_back(requests.is_new[i]);
    for (size_t a = 0; a < rest.attributes.size(); ++a) {
      rest.attributes[a].value_of.push_back(requests.attributes[a].value_of[i]);
    }
  }
  return rest;
}

}  // namespace

BucketSearch search_buckets(const ComparedRequests& requests, const BucketSearchOptions& options) {
  BucketSearch made;
  made.smallest_p = HostPermutations(requests, options.seed).smallest_p();
  ComparedRequests rest;
  const ComparedRequests* searched = &requests;
  while (searched->size() > 0 && made.found.size() < options.max_found) {
    const SearchPass pass(*searched, options);
    if (made.buckets == 0) {
      made.buckets = pass.buckets();
      made.overlap = pass.scores().overlap;
      made.is_within_hosts = pass.scores().is_within_hosts;
      made.strata = pass.scores().strata;
    }
    const FoundBucket strongest = pass.strongest();
    if (strongest.p > options.max_p) {
      made.strongest = pass.pruned(strongest);
      return made;
    }
    made.found.push_back(pass.pruned(strongest));
    if (made.found.back().terms.empty()) {
      return made;
    }
    rest = without(*searched, made.found.back().terms);
    searched = &rest;
  }
  return made;
}

std::string describe(const std::vector<BucketTerm>& terms, const ComparedRequests& requests) {
  std::string text;
  for (const BucketTerm& term : terms) {
    const BucketAttribute& attribute = requests.attributes[term.attribute];
    text += fmt::format("{}{}={}", text.empty() ? "" : " and ", attribute.name, attribute.values[term.value]);
  }
  return text.empty() ? "all requests" : text;
}

}  // namespace plimsoll::diagnosis
