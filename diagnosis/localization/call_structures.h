// Faults that change which calls are made, not how long they take.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/localization/sides.h"
#include "traces/assembly/assembly.h"

namespace plimsoll::diagnosis {

// The calls of each span as a number: which operations its children are of, as a set.
class CallStructures {
 public:
  // Borrows both; 8 bytes a span.
  CallStructures(const traces::SpanSet& spans, const traces::Assembly& assembly);

  struct ServiceVotes {
    uint32_t service = 0;
    uint32_t operation = 0;  // that makes other calls
    size_t votes = 0;        // requests of the window in which it made these calls
    size_t requests = 0;     // of the window that have the operation
    double usual_share = 0;  // of such requests in the reference
    double z = 0;            // standard deviations by which the window has more
  };
  // Services whose operations make calls more often than usual that are rare in the reference (under 2 %), without a service below them that
  // does, or whose mix of calls has changed. The largest z first.
  std::vector<ServiceVotes> votes(const Sides& sides) const;

 private:
  struct Counts;
  // The spans of one trace, as counts by key and shape.
  class OwnCounts;
  Counts count(const Sides& sides, Side side) const;
  void add_mixes(const Sides& sides, std::vector<ServiceVotes>& ranked) const;
  void vote(const Counts& usual, const Counts& whole, const Sides& sides, Side side,
            std::vector<std::vector<uint32_t>>& votes) const;

  const traces::Assembly& assembly_;
  std::vector<uint32_t> keys_;    // by node: which (service, operation) it is of
  std::vector<uint32_t> shapes_;  // by node: which set of calls of that key
  std::vector<uint32_t> service_of_key_;
  std::vector<uint32_t> operation_of_key_;
  uint32_t shape_count_ = 0;
};

}  // namespace plimsoll::diagnosis
