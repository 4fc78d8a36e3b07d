#include "query/snapshot/hidden_frames.h"

#include <utility>

#include "query/snapshot/dimension.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

HiddenFrames::HiddenFrames(std::string text, const std::function<bool(FramePlace)>& is_hidden,
                           const Snapshot& snapshot)
    : text_(std::move(text)),
      stacks_(snapshot.dictionaries.stacks.begin(), snapshot.dictionaries.stacks.end()),
      is_gone_(snapshot.dictionaries.stacks.size()) {
  const size_t locations = snapshot.dictionaries.locations.size();
  std::vector<bool> has_frames(locations);
  for (uint32_t location = 0; location < locations; ++location) {
    first_.push_back(static_cast<uint32_t>(is_hidden_.size()));
    const size_t frames = frames_of(snapshot, location);
    for (uint32_t depth = 0; depth < frames; ++depth) {
      is_hidden_.push_back(is_hidden({location, depth}));
      has_frames[location] = has_frames[location] || !is_hidden_.back();
      hides_any_ = hides_any_ || is_hidden_.back();
    }
  }
  // By stack: itself, or the nearest above it that is left. Parents come first.
  std::vector<uint32_t> left(stacks_.size());
  for (uint32_t stack = 1; stack < stacks_.size(); ++stack) {
    store::StackNode& node = stacks_[stack];
    const uint32_t caller = left[node.parent];
    if (has_frames[node.location]) {
      node.parent = caller;
      left[stack] = stack;
    } else {
      node = stacks_[caller];
      left[stack] = caller;
      is_gone_[stack] = caller == 0;
    }
  }
  is_gone_[0] = !has_frames[0];
}

}  // namespace plimsoll::query
