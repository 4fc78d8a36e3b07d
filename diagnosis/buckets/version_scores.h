// How slow each request is among those that are like it but for their version.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/buckets/compared_requests.h"

namespace plimsoll::diagnosis {

struct VersionScores {
  std::vector<float> score;  // by request, about -0.5 (fastest) to 0.5 (slowest)
  // Share of the requests in blocks of time that have both sides: with s the share of the rarer one, blocks of
  // max(10, 5 / s) requests, of which each side has 0.2 of its share in all requests. Under kMinOverlap blocks are not
  // compared within, and whatever else changed with the version counts for the version.
  double overlap = 1;
  bool is_within_hosts = false;  // most hosts ran both sides: each is compared with itself
  size_t strata = 0;
};

inline constexpr double kMinOverlap = 0.5;

// Ranks within strata, the version left out of account. Strata are split by one attribute after the other into parts of
// 20 requests, and 10 hosts or half of all; smaller parts are taken together, and where they are small even then, with the
// largest. Rank r of n (middle ranks for ties) scores r / (n + 1) - 1/2, as in van Elteren's test (Bulletin of the
// International Statistical Institute 37, 1960). Then the means of each block of time, also by each value of an attribute
// with 20 requests in it, are taken away by turns (backfitting: Buja, Hastie, Tibshirani, Annals of Statistics 17, 1989),
// and the mean of each host that ran both sides, where most did. So neither a busy hour, nor a change of the mix of
// requests, nor a stall of seconds makes a version slow.
//
// About 0.1 us a request for each attribute, besides sorting.
VersionScores version_scores(const ComparedRequests& requests);

}  // namespace plimsoll::diagnosis
