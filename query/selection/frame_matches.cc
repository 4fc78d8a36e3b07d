#include "query/selection/frame_matches.h"

#include <algorithm>

namespace plimsoll::query {

FrameMatches::FrameMatches(const Predicate& predicate, const Snapshot& snapshot)
    : names_(snapshot.frame_keys->of(snapshot, {predicate.dimension().name})), is_match_(names_->size()) {
  for (uint32_t key = 0; key < is_match_.size(); ++key) {
    is_match_[key] = predicate.matches(names_->text(key, 0));
  }
}

bool FrameMatches::matches_any(uint32_t location) const {
  return std::ranges::any_of(names_->of_location(location), [&](uint32_t key) { return is_match_[key]; });
}

}  // namespace plimsoll::query
