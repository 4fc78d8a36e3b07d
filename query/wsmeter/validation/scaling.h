// A feature put on a part of the fleet, whose effect is known.
#pragma once

#include <span>

#include "query/wsmeter/metric/comparison.h"
#include "query/wsmeter/validation/random.h"

namespace plimsoll::query {

// Multiplies the new arm's performance by `scale` for jobs drawn at random until they have `share` (0 to 1) of the quota. Of the last one only a part
// of its quota may be needed: it is multiplied by 1 + (scale - 1) x that part, so that the share is exact. Returns by how much the metric changes,
// as a share of what it was.
double scale_share(std::span<ComparedJob> jobs, double scale, double share, Random& random);

// sum of weight x mean of all instances of the new arm
double true_metric(std::span<const ComparedJob> jobs);

}  // namespace plimsoll::query
