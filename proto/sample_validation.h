// The part of wire::validate() (profile_codec.h) that is about samples and branch records.
#pragma once

#include "base/result.h"
#include "proto/profile.pb.h"

namespace plimsoll::wire {

// Columns of equal length, indexes in range, hits that sum to their events' totals; labels. Everything that the indexes point
// at must have been checked.
Status check_samples(const RawProfile& profile);

}  // namespace plimsoll::wire
