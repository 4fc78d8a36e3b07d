#include "query/rows/neighbours.h"

#include <boost/unordered/unordered_flat_map.hpp>

#include "query/snapshot/dimension.h"

namespace plimsoll::query {
namespace {

class LabelNumbers {
 public:
  explicit LabelNumbers(StackLabels& labels) : labels_(labels) { of(""); }

  uint32_t of(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(labels_.texts.size()));
    if (is_new) {
      labels_.texts.push_back(text);
    }
    return entry->second;
  }

 private:
  StackLabels& labels_;
  boost::unordered_flat_map<std::string, uint32_t> numbers_;
};

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
  Labelling(Neighbour neighbour, const Predicate& of, const Snapshot& snapshot)
      : neighbour_(neighbour), of_(of), snapshot_(snapshot), stacks_(snapshot.dictionaries.stacks) {
    locations_.resize(snapshot.dictionaries.locations.size());
    for (uint32_t location = 0; location < locations_.size(); ++location) {
      read(location);
    }
  }

  StackLabels run() {
    std::vector<uint32_t>& label = labels_.label_of_stack;
    label.resize(stacks_.size());
    label[0] = !locations_[0].matches ? 0 : neighbour_ == Neighbour::kCaller ? no_caller_ : itself_;
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
  uint32_t name(uint32_t location, uint32_t depth) {
    return number_.of(frame_value(snapshot_, "function", {location, depth}));
  }

  void read(uint32_t location) {
    LocationNeighbours& of_location = locations_[location];
    const auto frames = static_cast<uint32_t>(frames_of(snapshot_, location));
    of_location.innermost = name(location, 0);
    of_location.outermost = name(location, frames - 1);
    for (uint32_t depth = 0; depth < frames; ++depth) {
      if (!of_.matches(frame_value(snapshot_, of_.dimension().name, {location, depth}))) {
        continue;
      }
      if (!of_location.matches) {
        of_location.callee = depth == 0 ? 0 : name(location, depth - 1);
      }
      of_location.matches = true;
      of_location.caller = depth + 1 == frames ? 0 : name(location, depth + 1);
    }
  }

  uint32_t caller(uint32_t parent, uint32_t of_parent, const LocationNeighbours& location) {
    if (of_parent != 0 || !location.matches) {
      return of_parent;
    }
    if (location.caller != 0) {
      return location.caller;
    }
    return parent == 0 ? no_caller_ : locations_[stacks_[parent].location].innermost;
  }

  uint32_t callee(uint32_t parent, uint32_t of_parent, const LocationNeighbours& location) const {
    if (location.matches) {
      return location.callee != 0 ? location.callee : itself_;
    }
    // What the match calls stands in the next location.
    return of_parent == itself_ && parent != 0 ? location.outermost : of_parent;
  }

  const Neighbour neighbour_;
  const Predicate& of_;
  const Snapshot& snapshot_;
  const std::vector<store::StackNode>& stacks_;
  StackLabels labels_;
  LabelNumbers number_{labels_};
  const uint32_t no_caller_ = number_.of("[no caller]");
  const uint32_t itself_ = number_.of("[itself]");
  std::vector<LocationNeighbours> locations_;
};

}  // namespace

StackLabels neighbours(Neighbour neighbour, const Predicate& of, const Snapshot& snapshot) {
  return Labelling(neighbour, of, snapshot).run();
}

}  // namespace plimsoll::query
