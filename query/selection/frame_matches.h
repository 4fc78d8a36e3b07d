// Which frames a filter on frames matches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "query/selection/predicate.h"
#include "query/snapshot/frame_keys.h"
#include "query/snapshot/hidden_frames.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// Of a filter of a dimension of frames, by its positive condition. Names are looked at once each, however many locations have
// them. Immutable; borrows the snapshot.
class FrameMatches {
 public:
  // `hidden`: frames that are passed over, and do not count where depths are counted.
  FrameMatches(const Predicate& predicate, const Snapshot& snapshot,
               const std::shared_ptr<const HiddenFrames>& hidden = nullptr);

  // `depth` counts from the innermost frame of the location.
  bool matches(uint32_t location, size_t depth) const {
    return is_match_[names_->of_location(location)[depth]];
  }
  bool matches_any(uint32_t location) const;

 private:
  std::shared_ptr<const FrameKeys> names_;
  std::vector<bool> is_match_;  // by key
};

}  // namespace plimsoll::query
