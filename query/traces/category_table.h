// Kinds of request as an answer: how many, how often, how long, how much that varies, and which of them are not as usual. The view
// "diagnosis" by category and by tree (docs/diagnosis.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "diagnosis/localization/sides.h"
#include "query/table/table.h"
#include "query/traces/stored_requests.h"

namespace plimsoll::query {

// Of one answer: rows are times x categories.
inline constexpr int64_t kMaxCategoryTimes = 500;
// From so many requests on a category is judged.
inline constexpr size_t kMinJudgedRequests = 20;

struct CategoryRequest {
  bool by_tree = false;  // a category is one call tree; else one set of services and operations
  uint32_t service = 0;  // of the root; 0: all
  int64_t every_ns = 0;  // a row for each such part of the window, which begin at multiples of it; 0: one
};

// Of requests on the side of the window; those of the reference are what they are compared with. What is not as usual stands first, the
// most requests first within it; with parts of the window, in the order of these. At most kMaxCategories; the others are one, `[other]`.
// kInvalid for too many parts.
Result<Table> category_table(const CategoryRequest& request, const TracedRequests& requests,
                             const diagnosis::Sides& sides);

}  // namespace plimsoll::query
