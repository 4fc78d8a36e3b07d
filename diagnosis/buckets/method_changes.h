// What methods add to the critical paths of a bucket, and what a regression comes from. Internal to diagnosis/buckets.
#pragma once

#include <cstdint>
#include <span>

#include "diagnosis/buckets/bucket_comparison.h"
#include "diagnosis/buckets/host_bootstrap.h"

namespace plimsoll::diagnosis {

// Sets methods and bottleneck of `made`, which has its requests counted: some of either side. `bootstrap` is of the same members.
void add_methods(const ComparedRequests& requests, std::span<const uint32_t> members,
                 const CallForest& forest, const HostBootstrap& bootstrap, BucketComparison& made);

}  // namespace plimsoll::diagnosis
