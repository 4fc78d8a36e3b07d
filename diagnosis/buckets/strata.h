// Requests that are compared with each other. Internal to diagnosis/buckets.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/buckets/compared_requests.h"

namespace plimsoll::diagnosis {

inline constexpr size_t kMinPerStratum = 20;

// By request; numbered from 0. See version_scores().
std::vector<uint32_t> strata_of(const ComparedRequests& requests, uint32_t& strata);

// Numbers from 0 for the pairs of two numbers.
std::vector<uint32_t> crossed(const std::vector<uint32_t>& group, const std::vector<uint16_t>& value,
                              uint32_t& groups);

}  // namespace plimsoll::diagnosis
