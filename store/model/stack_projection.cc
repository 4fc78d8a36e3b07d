#include "store/model/stack_projection.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

namespace plimsoll::store {
namespace {

// The children of every node: those of node n go from first[n] up to first[n + 1].
struct Children {
  std::vector<uint32_t> first;
  std::vector<uint32_t> nodes;

  explicit Children(std::span<const StackNode> stacks) : first(stacks.size() + 1), nodes(stacks.size()) {
    for (size_t node = 1; node < stacks.size(); ++node) {
      ++first[stacks[node].parent + 1];
    }
    for (size_t node = 0; node < stacks.size(); ++node) {
      first[node + 1] += first[node];
    }
    std::vector<uint32_t> next(first.begin(), first.end() - 1);
    for (size_t node = 1; node < stacks.size(); ++node) {
      nodes[next[stacks[node].parent]++] = static_cast<uint32_t>(node);
    }
  }
};

// Goes down the tree and counts how often each key is on the way from the root to the node at hand.
class NewKeys {
 public:
  NewKeys(std::span<const StackNode> stacks, const LocationKeys& keys, size_t key_count)
      : stacks_(stacks), keys_(keys), children_(stacks), on_path_(key_count), found_(stacks.size()) {}

  // Iterative: stacks are as deep as programs make them.
  void find() {
    struct Visit {
      uint32_t node;
      uint32_t next_child;
    };
    std::vector<Visit> path{{0, children_.first[0]}};
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.next_child == children_.first[visit.node + 1]) {
        leave(visit.node);
        path.pop_back();
        continue;
      }
      const uint32_t child = children_.nodes[visit.next_child++];
      enter(child);
      path.push_back({child, children_.first[child]});
    }
    enter(0);
  }

  std::span<const uint32_t> of(uint32_t node) const {
    return std::span(new_keys_).subspan(found_[node].first, found_[node].count);
  }
  size_t size() const { return new_keys_.size(); }

 private:
  // Of a node, in new_keys_.
  struct Found {
    uint32_t first = 0;
    uint32_t count = 0;
  };

  void enter(uint32_t node) {
    found_[node].first = static_cast<uint32_t>(new_keys_.size());
    for (const uint32_t key : keys_.of(node == 0 ? 0 : stacks_[node].location)) {
      if (on_path_[key]++ == 0) {
        new_keys_.push_back(key);
      }
    }
    found_[node].count = static_cast<uint32_t>(new_keys_.size()) - found_[node].first;
  }
  void leave(uint32_t node) {
    for (const uint32_t key : node == 0 ? std::span<const uint32_t>() : keys_.of(stacks_[node].location)) {
      --on_path_[key];
    }
  }

  std::span<const StackNode> stacks_;
  const LocationKeys& keys_;
  Children children_;
  std::vector<uint32_t> on_path_;
  std::vector<uint32_t> new_keys_;  // in the order in which nodes were entered
  std::vector<Found> found_;        // by node
};

// Where keys have changed on more than one stack of so many, going down all of them is cheaper than up from each.
constexpr size_t kFewOf = 8;

size_t count_of(const LocationKeys& keys) {
  return keys.keys.empty() ? 0 : std::ranges::max(keys.keys) + size_t{1};
}

}  // namespace

StackProjection::StackProjection(std::span<const StackNode> stacks, const LocationKeys& keys)
    : key_count_(count_of(keys)) {
  NewKeys found(stacks, keys, key_count_);
  found.find();
  new_keys_.reserve(found.size());
  first_new_.reserve(stacks.size() + 1);
  parents_.reserve(stacks.size());
  self_keys_.reserve(stacks.size());
  for (uint32_t node = 0; node < stacks.size(); ++node) {
    add(node, stacks, keys, found.of(node));
  }
}

StackProjection::StackProjection(const StackProjection& before, std::span<const StackNode> stacks,
                                 const LocationKeys& keys, const std::vector<bool>& changed)
    : key_count_(std::max(before.key_count_, count_of(keys))) {
  const auto known = static_cast<uint32_t>(before.parents_.size());
  // Of the stacks that were there: on which a key has changed. Parents come first.
  std::vector<bool> is_affected(known);
  size_t affected = 0;
  for (uint32_t node = 1; !changed.empty() && node < known; ++node) {
    const uint32_t location = stacks[node].location;
    is_affected[node] = (location < changed.size() && changed[location]) || is_affected[stacks[node].parent];
    affected += is_affected[node] ? 1 : 0;
  }
  if (affected > known / kFewOf) {
    *this = StackProjection(stacks, keys);
    return;
  }
  if (affected == 0) {
    parents_ = before.parents_;
    self_keys_ = before.self_keys_;
    first_new_ = before.first_new_;
    new_keys_ = before.new_keys_;
  }
  for (auto node = static_cast<uint32_t>(parents_.size()); node < stacks.size(); ++node) {
    const bool is_known = node < known && !is_affected[node];
    add(node, stacks, keys, is_known ? std::optional(before.new_keys(node)) : std::nullopt);
  }
}

void StackProjection::add(uint32_t node, std::span<const StackNode> stacks, const LocationKeys& keys,
                          std::optional<std::span<const uint32_t>> known) {
  const uint32_t location = node == 0 ? 0 : stacks[node].location;
  parents_.push_back(stacks[node].parent);
  self_keys_.push_back(keys.of(location).front());
  if (known) {
    new_keys_.append(*known);
  } else {
    add_new_keys(node, keys, location);
  }
  first_new_.push_back(static_cast<uint32_t>(new_keys_.size()));
}

void StackProjection::add_new_keys(uint32_t node, const LocationKeys& keys, uint32_t location) {
  const size_t first = new_keys_.size();
  for (const uint32_t key : keys.of(location)) {
    const auto own = new_keys_.span().subspan(first);
    if (std::ranges::find(own, key) == own.end() && !has_key_above(node, key)) {
      new_keys_.push_back(key);
    }
  }
}

bool StackProjection::has_key_above(uint32_t node, uint32_t key) const {
  for (uint32_t above = parents_[node]; above != 0; above = parents_[above]) {
    const auto of_above = new_keys(above);
    if (std::ranges::find(of_above, key) != of_above.end()) {
      return true;
    }
  }
  return false;
}

std::vector<double> StackProjection::self(std::span<const double> by_stack) const {
  std::vector<double> sums(key_count_);
  for (size_t stack = 0; stack < std::min(by_stack.size(), self_keys_.size()); ++stack) {
    sums[self_keys_[stack]] += by_stack[stack];
  }
  return sums;
}

std::vector<double> StackProjection::subtrees(std::span<const double> by_stack) const {
  std::vector<double> sums(by_stack.begin(), by_stack.end());
  sums.resize(parents_.size());
  for (size_t node = sums.size(); node-- > 1;) {
    // Node 0 is the root, and also stands for no stack: that value is not to grow.
    if (parents_[node] != 0) {
      sums[parents_[node]] += sums[node];
    }
  }
  return sums;
}

std::vector<double> StackProjection::total(std::span<const double> by_stack) const {
  std::vector<double> of_nodes(by_stack.begin(), by_stack.end());
  of_nodes.resize(parents_.size());
  std::vector<double> sums(key_count_);
  for (size_t node = of_nodes.size(); node-- > 0;) {
    const double value = of_nodes[node];
    for (uint32_t i = first_new_[node]; i < first_new_[node + 1]; ++i) {
      sums[new_keys_[i]] += value;
    }
    // Node 0 is the root, and also stands for no stack: that value is not to grow.
    if (parents_[node] != 0) {
      of_nodes[parents_[node]] += value;
    }
  }
  return sums;
}

KeyTree StackProjection::key_tree(std::span<const uint32_t> keys) const {
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> place_of_key(key_count_, kNone);
  for (size_t place = 0; place < keys.size(); ++place) {
    place_of_key[keys[place]] = static_cast<uint32_t>(place);
  }
  KeyTree tree;
  tree.classes.emplace_back();
  tree.class_of_stack.resize(parents_.size());
  boost::unordered_flat_map<uint64_t, uint32_t> children;  // by parent << 32 | place
  for (size_t node = 0; node < parents_.size(); ++node) {
    // Nor is anything below node 0 of the class of no stack.
    uint32_t of_node = parents_[node] == 0 ? 0 : tree.class_of_stack[parents_[node]];
    for (uint32_t i = first_new_[node]; i < first_new_[node + 1]; ++i) {
      const uint32_t place = place_of_key[new_keys_[i]];
      if (place == kNone) {
        continue;
      }
      const auto next = static_cast<uint32_t>(tree.classes.size());
      const auto [child, is_new] = children.try_emplace(uint64_t{of_node} << 32U | place, next);
      if (is_new) {
        tree.classes.push_back({.parent = of_node, .key = place});
      }
      of_node = child->second;
    }
    tree.class_of_stack[node] = of_node;
  }
  return tree;
}

std::vector<double> KeyTree::total(std::span<const double> by_class, size_t keys) const {
  std::vector<double> values(by_class.begin(), by_class.end());
  values.resize(classes.size());
  std::vector<double> sums(keys);
  for (size_t i = values.size(); i-- > 1;) {
    sums[classes[i].key] += values[i];
    values[classes[i].parent] += values[i];
  }
  return sums;
}

}  // namespace plimsoll::store
