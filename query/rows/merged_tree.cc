#include "query/rows/merged_tree.h"

#include <algorithm>
#include <numeric>

namespace plimsoll::query {

StackTree::StackTree(std::span<const store::StackNode> stacks, std::vector<double> values)
    : values_(std::move(values)), totals_(values_), first_(stacks.size() + 1) {
  for (size_t stack = stacks.size(); stack-- > 1;) {
    if (totals_[stack] != 0) {
      ++first_[stacks[stack].parent + 1];
      if (stacks[stack].parent != 0) {
        totals_[stacks[stack].parent] += totals_[stack];
      }
    }
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  children_.resize(first_.back());
  std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
  for (uint32_t stack = 1; stack < stacks.size(); ++stack) {
    if (totals_[stack] != 0) {
      children_[next[stacks[stack].parent]++] = stack;
    }
  }
}

MergedTree::MergedTree(const FrameKeys& frames, std::vector<double> values)
    : frames_(frames), stacks_(frames.nodes()), tree_(stacks_, std::move(values)) {}

const std::vector<MergedTree::Node>& MergedTree::merge(double min_share, size_t limit) {
  find_outermost();
  Node root;
  for (const Child& child : children_) {
    root.total += tree_.total(child.place.stack);
  }
  const double least = min_share * root.total;
  nodes_.push_back(root);
  found_as_.push_back(0);
  add_children(0, least);
  while (!pending_.empty() && nodes_.size() < limit) {
    std::pop_heap(pending_.begin(), pending_.end());
    const auto found = static_cast<size_t>(-pending_.back().second);
    pending_.pop_back();
    const Found next = found_[found];
    double self = 0;
    for (const Place& at : places_of(next)) {
      self += at.frames_left == 0 ? tree_.value(at.stack) : 0;
    }
    nodes_.push_back({next.parent, next.name, self, next.total});
    found_as_.push_back(found);
    find_below(places_of(next));
    add_children(static_cast<uint32_t>(nodes_.size() - 1), least);
  }
  return nodes_;
}

MergedTree::Place MergedTree::largest_place(uint32_t node) const {
  const auto places = places_of(found_[found_as_[node]]);
  return *std::ranges::max_element(places, {}, [&](const Place& place) { return tree_.total(place.stack); });
}

std::vector<uint32_t> MergedTree::deepest_nodes(size_t count) const {
  std::vector<uint32_t> deepest(stacks_.size());
  // Parents come first: of the frames of a stack's leaf, the innermost one that has a node is the last.
  for (uint32_t node = 1; node < std::min(count, nodes_.size()); ++node) {
    for (const Place& place : places_of(found_[found_as_[node]])) {
      deepest[place.stack] = node;
    }
  }
  for (uint32_t stack = 1; stack < deepest.size(); ++stack) {
    // Nor is anything below node 0 of the node of no stack.
    if (const uint32_t parent = stacks_[stack].parent; deepest[stack] == 0 && parent != 0) {
      deepest[stack] = deepest[parent];
    }
  }
  return deepest;
}

std::span<const uint32_t> MergedTree::names_of(uint32_t stack) const {
  return frames_.of_location(stack == 0 ? 0 : stacks_[stack].location);
}

std::span<const MergedTree::Place> MergedTree::places_of(const Found& found) const {
  return std::span(places_).subspan(found.first_place, found.places);
}

// The outermost frame of a stack's leaf.
MergedTree::Child MergedTree::outermost(uint32_t stack) const {
  const auto names = names_of(stack);
  return {names.back(), {stack, static_cast<uint32_t>(names.size() - 1)}};
}

// Leaves in children_ what is below the root.
void MergedTree::find_outermost() {
  children_.clear();
  if (tree_.value(0) != 0) {
    children_.push_back(outermost(0));
  }
  for (const uint32_t stack : tree_.children(0)) {
    children_.push_back(outermost(stack));
  }
}

// Likewise below a node.
void MergedTree::find_below(std::span<const Place> places) {
  children_.clear();
  for (const auto& [stack, frames_left] : places) {
    if (frames_left > 0) {
      children_.push_back({names_of(stack)[frames_left - 1], {stack, frames_left - 1}});
    } else if (stack != 0) {  // where no stack was recorded, there is nothing below
      for (const uint32_t child : tree_.children(stack)) {
        children_.push_back(outermost(child));
      }
    }
  }
}

// Merges children_ by their names.
void MergedTree::add_children(uint32_t parent, double least) {
  std::ranges::sort(children_, {},
                    [](const Child& child) { return std::pair(child.name, child.place.stack); });
  for (size_t first = 0; first < children_.size();) {
    Found child{parent, children_[first].name, 0, places_.size(), 0};
    for (; first < children_.size() && children_[first].name == child.name; ++first) {
      child.total += tree_.total(children_[first].place.stack);
      places_.push_back(children_[first].place);
    }
    child.places = places_.size() - child.first_place;
    if (child.total < least) {
      is_cut_ = true;
      places_.resize(child.first_place);
      continue;
    }
    pending_.emplace_back(child.total, -static_cast<int64_t>(found_.size()));
    std::push_heap(pending_.begin(), pending_.end());
    found_.push_back(child);
  }
}

}  // namespace plimsoll::query
