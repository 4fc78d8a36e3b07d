#include "query/rows/neighbours.h"

#include <memory>
#include <span>

#include "query/selection/frame_matches.h"

namespace plimsoll::query {
namespace {

// The frames of a location, as far as neighbours of matches are concerned. Labels; 0: none.
struct LocationNeighbours {
  bool matches = false;
  uint32_t caller = 0;     // of the outermost match, where that is another frame of this location
  uint32_t callee = 0;     // of the innermost match, likewise
  uint32_t innermost = 0;  // as callers and callees are called that are in another location
  uint32_t outermost = 0;
};

class Labelling {
 public:
  Labelling(Neighbour neighbour, const Predicate& of, const Snapshot& snapshot,
            const std::shared_ptr<const HiddenFrames>& hidden)
      : neighbour_(neighbour),
        functions_(snapshot.frame_keys->of(snapshot, {"function"}, hidden)),
        stacks_(functions_->nodes()) {
    labels_.texts = {"", "[no caller]", "[itself]"};
    for (uint32_t key = 0; key < functions_->size(); ++key) {
      labels_.texts.push_back(functions_->text(key, 0));
    }
    const FrameMatches matches(of, snapshot, hidden);
    for (uint32_t location = 0; location < snapshot.dictionaries.locations.size(); ++location) {
      locations_.push_back(read(matches, location, functions_->of_location(location)));
    }
  }

  StackLabels run() {
    std::vector<uint32_t>& label = labels_.label_of_stack;
    label.resize(stacks_.size());
    label[0] = !locations_[0].matches ? 0 : neighbour_ == Neighbour::kCaller ? kNoCaller : kItself;
    // Parents come first: their IDs are smaller.
    for (uint32_t stack = 1; stack < stacks_.size(); ++stack) {
      const uint32_t parent = stacks_[stack].parent;
      label[stack] =
          neighbour_ == Neighbour::kCaller
              ? caller(parent, parent == 0 ? 0 : label[parent], locations_[stacks_[stack].location])
              : callee(parent, parent == 0 ? 0 : label[parent], locations_[stacks_[stack].location]);
    }
    return std::move(labels_);
  }

 private:
  static constexpr uint32_t kNoCaller = 1;
  static constexpr uint32_t kItself = 2;
  static constexpr uint32_t kFirstFunction = 3;

  static LocationNeighbours read(const FrameMatches& matches, uint32_t location_id,
                                 std::span<const uint32_t> functions) {
    if (functions.empty()) {
      return {};  // all hidden: no stack leads here
    }
    const auto label = [&](size_t depth) { return kFirstFunction + functions[depth]; };
    LocationNeighbours location{.innermost = label(0), .outermost = label(functions.size() - 1)};
    for (size_t depth = 0; depth < functions.size(); ++depth) {
      if (!matches.matches(location_id, depth)) {
        continue;
      }
      if (!location.matches) {
        location.callee = depth == 0 ? 0 : label(depth - 1);
      }
      location.matches = true;
      location.caller = depth + 1 == functions.size() ? 0 : label(depth + 1);
    }
    return location;
  }

  uint32_t caller(uint32_t parent, uint32_t of_parent, const LocationNeighbours& location) const {
    if (of_parent != 0 || !location.matches) {
      return of_parent;
    }
    if (location.caller != 0) {
      return location.caller;
    }
    return parent == 0 ? kNoCaller : locations_[stacks_[parent].location].innermost;
  }

  uint32_t callee(uint32_t parent, uint32_t of_parent, const LocationNeighbours& location) const {
    if (location.matches) {
      return location.callee != 0 ? location.callee : kItself;
    }
    // What the match calls stands in the next location.
    return of_parent == kItself && parent != 0 ? location.outermost : of_parent;
  }

  const Neighbour neighbour_;
  const std::shared_ptr<const FrameKeys> functions_;
  std::span<const store::StackNode> stacks_;
  StackLabels labels_;
  std::vector<LocationNeighbours> locations_;
};

}  // namespace

StackLabels neighbours(Neighbour neighbour, const Predicate& of, const Snapshot& snapshot,
                       const std::shared_ptr<const HiddenFrames>& hidden) {
  return Labelling(neighbour, of, snapshot, hidden).run();
}

}  // namespace plimsoll::query
