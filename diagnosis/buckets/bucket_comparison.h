// Two groups of versions within one bucket: latencies, critical paths, and what a regression comes from.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "diagnosis/buckets/call_forest.h"
#include "diagnosis/buckets/compared_requests.h"

namespace plimsoll::diagnosis {

// A quantity of either side, and the 95 % interval of its difference, new less base.
struct ValueChange {
  double base = 0;
  double current = 0;
  double low = 0;
  double high = 0;

  double difference() const { return current - base; }
  bool is_larger() const { return low > 0; }
};

// A method: all calls of one operation of a service, whichever path they are on; calls of other services by the service that they call.
struct MethodChange {
  uint32_t path = kNoCall;  // of the method's paths the one that grew most
  ValueChange on_path_ms;   // on the critical path, mean over all requests
  // d - t(1 - 0.025 / methods; n - 1) s: lower limit of the growth d for all methods of the bucket at once (Bonferroni), with s the standard
  // error by bootstrap and n the hosts (or blocks) of the side with fewer. Above 0 it has grown.
  double min_growth_ms = 0;
  double base_calls = 0;  // per request
  double current_calls = 0;
  double base_self_ms = 0;  // per call
  double current_self_ms = 0;
};

struct Bottleneck {
  enum class Kind : uint8_t {
    kNone,        // no method has a min_growth_ms above 0; else it is the one of those that grew most
    kItself,      // calls take longer themselves
    kWaiting,     // calls wait longer until they reach the service: network, queues
    kMoreCalls,   // calls take as long, and there are more
    kSequential,  // calls take as long, one after another where they ran at once
  };
  Kind kind = Kind::kNone;
  MethodChange method;
  // kSequential: the caller, and how many of its children run at once on average, of the time in which one does.
  uint32_t caller = kNoCall;
  ValueChange at_once;
};
// "sequential where it was parallel" and so on.
const char* name_of(Bottleneck::Kind kind);

inline constexpr std::array kComparedShares{0.5, 0.95, 0.99};

struct BucketComparison {
  size_t base_requests = 0;
  size_t current_requests = 0;
  size_t base_hosts = 0;
  size_t current_hosts = 0;
  bool is_by_hosts = true;  // intervals; false: too few hosts, so by blocks of time
  std::array<ValueChange, kComparedShares.size()> percentiles_ms;
  // SDiag's: (mean of the new less mean of the base) / standard deviation of all requests; over 3 is a regression (Hu et al., 2020). Latencies
  // scatter by as much as their mean, so that it hardly gets there (docs/regressions.md, Measured); it is here for comparison.
  double paper_score = 0;
  int64_t first_current_ns = 0;       // start of the first request of the new side
  std::vector<MethodChange> methods;  // the largest growth on the critical path first
  Bottleneck bottleneck;
};

// Of these requests. Intervals are percentile bootstraps (Efron, Annals of Statistics 7, 1979): 200 times as many hosts as there are, drawn
// with replacement from those of either side and from those of both (Davison and Hinkley, Bootstrap Methods, 1997, 3.8), with all their
// requests; with fewer than 5 hosts on a side 20 blocks of time instead, or 20 of either side where fewer than 5 of all have requests
// of a side. Percentile intervals of few hosts are too short: with 5 on a side they cover about 88 %. `forest` has the same requests; null: no paths are compared.
// About 1 us a request, and as much for the calls.
BucketComparison compare_bucket(const ComparedRequests& requests, std::span<const uint32_t> members,
                                const CallForest* forest);

// The paper's statistical call forest of a bucket, of one side.
struct CallStatistics {
  uint32_t path = 0;
  size_t requests = 0;  // that make the call
  double calls = 0;     // per request that makes it
  double mean_ms = 0;   // per call, with children, of a request's mean
  double p50_ms = 0;
  double p95_ms = 0;
  double p99_ms = 0;
  double self_ms = 0;     // mean per request of the bucket
  double on_path_ms = 0;  // mean per request of the bucket
};
struct BucketForest {
  std::vector<CallStatistics>
      calls;  // parents before children, calls of one parent by falling part of the critical path
  size_t requests = 0;
  double mean_ms = 0;      // of the requests: what all on_path_ms add up to
  double self_sum_ms = 0;  // what all self_ms add up to: more than the mean by as much as calls run at once
};
BucketForest bucket_forest(const CallForest& forest, std::span<const uint32_t> members);

}  // namespace plimsoll::diagnosis
