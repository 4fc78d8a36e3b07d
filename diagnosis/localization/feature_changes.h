// By how much calls of each kind take longer in the window than in the reference.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnosis/localization/sides.h"
#include "diagnosis/observations/observations.h"

namespace plimsoll::diagnosis {

struct FeatureChange {
  size_t window_requests = 0;
  size_t reference_requests = 0;
  double z = 0;           // Mann and Whitney's, of the window's times against the reference's
  double auc = 0.5;       // how often a request of the window takes longer than one of the reference
  double excess_ms = 0;   // per call; 0: it has not moved
  double usual_ms = 0;    // the reference's median
  double current_ms = 0;  // the window's median
  bool has_moved() const { return excess_ms > 0; }
};

// One for each feature. The excess is the larger of two differences between window and reference: of their upper deciles, so that slow
// calls count of which there are few, and of their medians where z > 4. Under 1 ms it counts as none.
std::vector<FeatureChange> feature_changes(const Observations& observations, const Sides& sides);

// Of all features together.
double total_excess_ms(const std::vector<FeatureChange>& changes);

}  // namespace plimsoll::diagnosis
