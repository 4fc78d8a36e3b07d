// SDiag: regressions of a version that show in one bucket of hardware and workload. Hu et al., 2020.
//
// Buckets by hardware and workload are compared one by one, as the paper does; buckets of any attributes are found by search_buckets(), which
// is what accuses a version.
#pragma once

#include <string>
#include <vector>

#include "diagnosis/buckets/bucket_comparison.h"
#include "diagnosis/buckets/bucket_search.h"
#include "diagnosis/buckets/request_table.h"

namespace plimsoll::diagnosis {

struct ComparedBucket {
  std::vector<BucketTerm> terms;
  BucketComparison comparison;
};

struct Regression {
  FoundBucket bucket;
  BucketComparison comparison;
  BucketForest base_forest;
  BucketForest current_forest;
};

struct RegressionReport {
  RequestTable table;
  CallForest forest;
  BucketSearch search;
  std::vector<Regression> regressions;  // as search.found: each without the requests of those before it
  // Each hardware with each workload that both sides ran kMinBucketRequests times; those whose median grew most first.
  std::vector<ComparedBucket> buckets;
  size_t buckets_left_out = 0;  // with too few requests, or beyond the first kMaxBuckets
};

inline constexpr size_t kMinBucketRequests = 20;
inline constexpr size_t kMaxBuckets = 50;

// Ends early with the error of check_stop().
Result<RegressionReport> find_regressions(const traces::SpanSet& spans, const traces::Assembly& assembly,
                                          const RequestTableOptions& options = {},
                                          const BucketSearchOptions& search = {});

// "web get > disk create_all > disk create": the calls from the root to this one.
std::string path_text(const CallForest& forest, uint32_t path, const traces::Names& names);
// "disk create"; "api POST to disk": a call of another service.
std::string method_text(const CallForest& forest, uint32_t path, const traces::Names& names);

}  // namespace plimsoll::diagnosis
