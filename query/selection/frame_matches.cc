#include "query/selection/frame_matches.h"

#include <algorithm>

namespace plimsoll::query {

FrameMatches::FrameMatches(const Predicate& predicate, const Snapshot& snapshot,
                           const std::shared_ptr<const HiddenFrames>& hidden)
    : names_(snapshot.frame_keys->of(snapshot, predicate.names(), hidden)), is_match_(names_->size()) {
  for (uint32_t key = 0; key < is_match_.size(); ++key) {
    for (size_t name = 0; name < predicate.names().size(); ++name) {
      is_match_[key] = is_match_[key] || predicate.matches(names_->text(key, name));
    }
  }
}

bool FrameMatches::matches_any(uint32_t location) const {
  return std::ranges::any_of(names_->of_location(location), [&](uint32_t key) { return is_match_[key]; });
}

}  // namespace plimsoll::query
