// From sums by stack to sums by what the frames on it are called: functions, files, lines, binaries.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/append_only_list.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store {

// The keys of each location's frames, innermost first, as one list: those of a location go from first[location] up to
// first[location + 1]. Keys are dense from 0. A location that a stack leads to has at least one key.
struct LocationKeys {
  std::span<const uint32_t> first;
  std::span<const uint32_t> keys;

  std::span<const uint32_t> of(uint32_t location) const {
    return keys.subspan(first[location], first[location + 1] - first[location]);
  }
};

// The merged tree of a few keys alone: stacks on which the same of them come in the same order are one class.
struct KeyTree {
  struct Class {
    uint32_t parent = 0;  // a smaller one
    uint32_t key = 0;     // place among the keys that were asked for
  };

  std::vector<Class> classes;            // class 0 is of stacks with none of the keys
  std::vector<uint32_t> class_of_stack;  // groups of stacks, for an IdGrouping

  // Values by class in, sums by place among the keys out; shorter vectors stand for zeros at the end.
  std::vector<double> total(std::span<const double> by_class, size_t keys) const;
};

// Immutable: made once for a tree and its keys, then used by any thread. Making it goes down every stack once (about 20 ns for
// each frame of each node); a projection costs about 2 ns for each node.
class StackProjection {
 public:
  // Stack 0, where none was recorded, is projected by the keys of location 0. Parents have smaller IDs than their children.
  StackProjection(std::span<const StackNode> stacks, const LocationKeys& keys);

  // The same, made from that of fewer stacks: the first of `stacks` are those of `before`, and so are the keys of locations but for those
  // in `changed`, by location. Costs some 100 ns for each stack that is new or on which a key has changed, and where any has, 5 ns for
  // each other one. Shares memory with `before`.
  StackProjection(const StackProjection& before, std::span<const StackNode> stacks, const LocationKeys& keys,
                  const std::vector<bool>& changed);

  size_t keys() const { return key_count_; }

  // The key of each stack's leaf, which its self value belongs to: a stack_group for AggregateRequest.
  std::span<const uint32_t> self_keys() const { return self_keys_.span(); }

  // Values by stack in, shorter vectors standing for zeros at the end; sums by key out. A key that is on a stack several times
  // counts once.
  std::vector<double> self(std::span<const double> by_stack) const;
  std::vector<double> total(std::span<const double> by_stack) const;

  // Calls `use` with each key that is on the stack, once. Costs about 5 ns for each of its nodes.
  template <typename Use>
  void for_each_key(uint32_t stack, Use use) const {
    for (uint32_t node = stack;; node = parents_[node]) {
      for (uint32_t i = first_new_[node]; i < first_new_[node + 1]; ++i) {
        use(new_keys_[i]);
      }
      if (parents_[node] == 0) {
        return;
      }
    }
  }

  // What total() needs for these keys and no others: far fewer classes than stacks, so that sums by class are cheap to split.
  KeyTree key_tree(std::span<const uint32_t> keys) const;

  // The merged tree: each node's own value and those of all nodes below it.
  std::vector<double> subtrees(std::span<const double> by_stack) const;

 private:
  // `known` are those of the stack where they are known; otherwise they are looked for on the way to the root.
  void add(uint32_t node, std::span<const StackNode> stacks, const LocationKeys& keys,
           std::optional<std::span<const uint32_t>> known);
  void add_new_keys(uint32_t node, const LocationKeys& keys, uint32_t location);
  std::span<const uint32_t> new_keys(uint32_t node) const {
    return new_keys_.span().subspan(first_new_[node], first_new_[node + 1] - first_new_[node]);
  }
  bool has_key_above(uint32_t node, uint32_t key) const;

  size_t key_count_ = 0;
  AppendOnlyList<uint32_t> parents_;
  AppendOnlyList<uint32_t> self_keys_;
  // Keys of a node that no node above it has: those of node n go from first_new_[n] up to first_new_[n + 1].
  AppendOnlyList<uint32_t> first_new_{0};
  AppendOnlyList<uint32_t> new_keys_;
};

}  // namespace plimsoll::store
