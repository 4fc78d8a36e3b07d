// The simple model of flames: stacks merged into a tree, one by one.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "tests/unit/query/raw_profile_model.h"

namespace plimsoll::query::model {

struct Tree {
  double self = 0;
  Sampled total;
  std::map<std::string, std::unique_ptr<Tree>> children;

  void add(const Sample& sample) {
    Tree* node = this;
    model::add(sample, node->total);
    for (auto frame = sample.frames.rbegin(); frame != sample.frames.rend(); ++frame) {
      auto& child = node->children[frame->function];
      if (child == nullptr) {
        child = std::make_unique<Tree>();
      }
      node = child.get();
      model::add(sample, node->total);
    }
    node->self += sample.value;
  }

  // This one and all below it.
  size_t nodes() const {
    size_t nodes = 1;
    for (const auto& [name, child] : children) {
      nodes += child->nodes();
    }
    return nodes;
  }
};

}  // namespace plimsoll::query::model
