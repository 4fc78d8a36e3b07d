// Which service explains why calls take longer, also where each service has one replica only.
//
// A service explains its own self times and every gap that touches it, whichever side it is on. A slow network or CPU of a service moves
// all gaps into it, whichever service calls; a slow caller moves all its gaps, whichever service it calls; one bad connection moves one.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/localization/feature_changes.h"

namespace plimsoll::diagnosis {

struct ServiceScore {
  uint32_t service = 0;
  double score = 0;    // (explained / all excess) x (0.15 + mean of the two shares), see docs/diagnosis.md
  double self_ms = 0;  // excess of its own features
  double incoming_ms = 0;  // of gaps of calls to it
  double outgoing_ms = 0;  // of gaps of its calls
  size_t incoming = 0;     // gaps of calls to it
  size_t incoming_moved = 0;
  size_t outgoing = 0;
  size_t outgoing_moved = 0;

  double explained_ms() const { return self_ms + incoming_ms + outgoing_ms; }
};

// Services with a score above 0, the highest first.
std::vector<ServiceScore> gap_coverage(const Observations& observations,
                                       const std::vector<FeatureChange>& changes);

}  // namespace plimsoll::diagnosis
