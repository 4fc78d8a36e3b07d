// Views that decide something: where jobs belong, and what an experiment comes to.
#pragma once

#include <vector>

#include "query/registry/view.h"

namespace plimsoll::query {

// observations, measured-pairs, placement, experiment/plan, experiment/curve, experiment/progress, experiment/result, experiments
std::vector<View> decision_views();

}  // namespace plimsoll::query
