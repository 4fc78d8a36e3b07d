// Stacks merged into one tree by what their frames are called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "query/snapshot/frame_keys.h"
#include "store/model/dictionaries.h"

namespace plimsoll::query {

// The stacks below each, and what they come to. Immutable.
class StackTree {
 public:
  // `values` by stack. Parents have smaller IDs than their children; 0 is the root, and also stands for no stack.
  StackTree(std::span<const store::StackNode> stacks, std::vector<double> values);

  double value(uint32_t stack) const { return values_[stack]; }
  // Its own, and those of all below it; of stack 0 its own.
  double total(uint32_t stack) const { return totals_[stack]; }
  // Of which any has a value, or is above one that has.
  std::span<const uint32_t> children(uint32_t stack) const {
    return std::span(children_).subspan(first_[stack], first_[stack + 1] - first_[stack]);
  }

 private:
  std::vector<double> values_;
  std::vector<double> totals_;
  std::vector<uint32_t> first_;
  std::vector<uint32_t> children_;
};

// From the root down and the largest node first: what is cut is never looked at. Borrows the frames. One thread.
class MergedTree {
 public:
  struct Node {
    uint32_t parent = 0;
    uint32_t name = 0;  // key of the frames; of the root: nothing
    double self = 0;
    double total = 0;
  };

  // `values` by stack.
  MergedTree(const FrameKeys& frames, std::vector<double> values);

  // The nodes of at least `min_share` of the root's total, `limit` at most, in descending order of their totals; parents come before
  // their children. Once.
  const std::vector<Node>& merge(double min_share, size_t limit);

  // Of nodes that merge() left out.
  bool is_cut() const { return is_cut_ || !pending_.empty(); }

  // A frame of a stack's leaf: how many others of its location were inlined into it.
  struct Place {
    uint32_t stack = 0;
    uint32_t frames_left = 0;
  };

  // Of the frames that were merged into a node other than the root, the one with the largest total: what a picture of the node shows.
  Place largest_place(uint32_t node) const;

  // By stack, the deepest of the first `count` nodes that it goes through.
  std::vector<uint32_t> deepest_nodes(size_t count) const;

 private:
  struct Found {
    uint32_t parent = 0;
    uint32_t name = 0;
    double total = 0;
    size_t first_place = 0;
    size_t places = 0;
  };
  struct Child {
    uint32_t name = 0;
    Place place;
  };

  std::span<const uint32_t> names_of(uint32_t stack) const;
  std::span<const Place> places_of(const Found& found) const;
  Child outermost(uint32_t stack) const;
  void find_outermost();
  void find_below(std::span<const Place> places);
  void add_children(uint32_t parent, double least);

  const FrameKeys& frames_;
  std::span<const store::StackNode> stacks_;
  const StackTree tree_;
  std::vector<Node> nodes_;
  std::vector<size_t> found_as_;  // by node, into found_; of the root: nothing
  std::vector<Found> found_;      // nodes and what may become one, in the order in which they were found
  std::vector<Place> places_;     // of all of them
  std::vector<std::pair<double, int64_t>>
      pending_;  // a heap: total, and less its number, the largest first and of those the first
  std::vector<Child> children_;
  bool is_cut_ = false;
};

}  // namespace plimsoll::query
