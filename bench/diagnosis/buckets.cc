#include "base/time.h"
#include "bench/diagnosis/parts.h"
#include "diagnosis/buckets/bucket_comparison.h"
#include "diagnosis/buckets/bucket_search.h"
#include "tests/traces/version_generator.h"

namespace plimsoll::bench {
namespace {

constexpr double kMaxSearchS = 60;
constexpr size_t kSearched = 1'000'000;
constexpr uint32_t kSearchedHosts = 10'000;

double seconds_since(int64_t start_ns) {
  return static_cast<double>(thread_cpu_ns() - start_ns) / 1e9;
}

void measure_search_speed(const Flags& flags, Report& report) {
  const diagnosis::ComparedRequests requests =
      diagnosis::generated_versions({.seed = 11,
                                     .requests = flags.quick ? kSearched / 10 : kSearched,
                                     .hosts = flags.quick ? kSearchedHosts / 10 : kSearchedHosts,
                                     .factor = 1.1});
  int64_t start_ns = thread_cpu_ns();
  const diagnosis::BucketSearch found = diagnosis::search_buckets(requests);
  report.add({.name = "buckets-searched-s",
              .value = seconds_since(start_ns),
              .unit = "s",
              .goal = kMaxSearchS,
              .note = fmt::format("{} requests on {} hosts, {} attributes, {} buckets, {} found, one thread",
                                  requests.size(), requests.hosts, requests.attributes.size(), found.buckets,
                                  found.found.size())});
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < requests.size(); ++i) {
    all.push_back(i);
  }
  start_ns = thread_cpu_ns();
  const diagnosis::BucketComparison compared = diagnosis::compare_bucket(requests, all, nullptr);
  report.add({.name = "bucket-compared-s",
              .value = seconds_since(start_ns),
              .unit = "s",
              .note = fmt::format("percentiles of all requests with intervals by {} hosts",
                                  compared.base_hosts + compared.current_hosts)});
}

void measure_found(const Flags& flags, double factor, Report& report) {
  const uint64_t trials = flags.quick ? 10 : 100;
  double found = 0;
  double exact = 0;
  double paper = 0;
  for (uint64_t seed = 0; seed < trials; ++seed) {
    const diagnosis::ComparedRequests requests =
        diagnosis::generated_versions({.seed = 5000 + seed, .factor = factor});
    const diagnosis::BucketSearch search = diagnosis::search_buckets(requests);
    found += search.found.empty() ? 0 : 1;
    exact += search.found.size() == 1 && describe(search.found.front().terms, requests) == "hw=1 and disk=1"
                 ? 1
                 : 0;
    std::vector<uint32_t> slow;
    for (uint32_t i = 0; i < requests.size(); ++i) {
      // Values are numbered from 1.
      if (requests.is_in(i, {{1, 2}, {2, 2}})) {
        slow.push_back(i);
      }
    }
    paper += diagnosis::compare_bucket(requests, slow, nullptr).paper_score / static_cast<double>(trials);
  }
  const auto count = static_cast<double>(trials);
  report.add(
      {.name = fmt::format("found-x{:.2f}-share", factor),
       .value = found / count,
       .unit = "share",
       .better = factor > 1 ? Better::kHigher : Better::kLower,
       .goal = factor > 1.2 ? std::optional(0.95)
               : factor > 1 ? std::nullopt
                            : std::optional(0.05),
       .note = fmt::format("{} tries; the paper's score of hw=1 and disk=1 is {:.2f} on average, over 3 is a "
                           "regression",
                           trials, paper)});
  if (factor > 1) {
    report.add({.name = fmt::format("named-exactly-x{:.2f}-share", factor),
                .value = exact / count,
                .unit = "share",
                .better = Better::kHigher,
                .goal = factor > 1.2 ? std::optional(0.85) : std::nullopt,
                .note = "that bucket, and no other"});
  }
}

}  // namespace

Status measure_buckets(const Flags& flags, Report& report) {
  measure_search_speed(flags, report);
  for (const double factor : {1.0, 1.15, 1.25, 1.5}) {
    measure_found(flags, factor, report);
  }
  return {};
}

}  // namespace plimsoll::bench
