#include "store/building/stack_adder.h"

#include <algorithm>
#include <numeric>

namespace plimsoll::store {
namespace {

class StackAdder {
 public:
  StackAdder(const wire::Stacks& stacks, std::span<const uint32_t> locations, DictionaryBuilder& dictionaries)
      : parents_(stacks.parent().data(), static_cast<size_t>(stacks.parent_size())),
        node_locations_(stacks.location().data(), parents_.size()),
        locations_(locations),
        dictionaries_(dictionaries),
        ids_(parents_.size() + 1) {}

  std::vector<uint32_t> add() {
    find_known();
    for (uint32_t stack = 1; stack < ids_.size(); ++stack) {
      if (ids_[stack] == 0) {
        ids_[stack] = dictionaries_.stack(node(stack));
      }
    }
    return std::move(ids_);
  }

 private:
  // A key needs its parent's ID. In the order of their depth most nodes come long after their parents, so that those of one depth
  // can be prefetched.
  void find_known() {
    const std::vector<uint32_t> order = by_depth();
    for (size_t i = 0; i < order.size(); ++i) {
      if (i + kLookUpsAhead < order.size() && has_key(order[i + kLookUpsAhead])) {
        __builtin_prefetch(dictionaries_.place_of(node(order[i + kLookUpsAhead])));
      }
      if (has_key(order[i])) {
        ids_[order[i]] = dictionaries_.find_stack(node(order[i]));
      }
    }
  }

  // Stacks with fewer ancestors first; a counting sort.
  std::vector<uint32_t> by_depth() const {
    std::vector<uint32_t> depths(ids_.size());
    std::vector<uint32_t> places{0};  // by depth: how many stacks are less deep
    for (uint32_t stack = 1; stack < ids_.size(); ++stack) {
      const uint32_t depth = depths[stack] = depths[parents_[stack - 1]] + 1;
      places.resize(std::max<size_t>(places.size(), depth + 1));
      ++places[depth];
    }
    std::exclusive_scan(places.begin(), places.end(), places.begin(), uint32_t{0});
    std::vector<uint32_t> order(parents_.size());
    for (uint32_t stack = 1; stack < ids_.size(); ++stack) {
      order[places[depths[stack]]++] = stack;
    }
    return order;
  }

  StackNode node(uint32_t stack) const {
    return {ids_[parents_[stack - 1]], locations_[node_locations_[stack - 1]]};
  }

  // Whether its parent is known by now. Where the parent is new, so is it.
  bool has_key(uint32_t stack) const {
    const uint32_t parent = parents_[stack - 1];
    return parent == 0 || ids_[parent] != 0;
  }

  const std::span<const uint32_t> parents_, node_locations_;  // by stack, from the second
  const std::span<const uint32_t> locations_;
  DictionaryBuilder& dictionaries_;
  std::vector<uint32_t> ids_;  // 0: not known yet
};

}  // namespace

std::vector<uint32_t> add_stacks(const wire::Stacks& stacks, std::span<const uint32_t> locations,
                                 DictionaryBuilder& dictionaries) {
  return StackAdder(stacks, locations, dictionaries).add();
}

}  // namespace plimsoll::store
