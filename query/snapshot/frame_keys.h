// The frames of a snapshot's locations as numbers, by what some dimensions call them; and its stacks projected onto them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "store/rows/stack_projection.h"

namespace plimsoll::query {

struct Snapshot;

// Immutable: any number of threads. A key is the texts of its frames in each of the dimensions. Costs about 100 ns for each
// frame of each location, and what a StackProjection does.
class FrameKeys {
 public:
  // Dimensions whose source is kFrame, at least one.
  FrameKeys(const Snapshot& snapshot, const std::vector<std::string_view>& dimensions);

  const store::StackProjection& stacks() const { return *stacks_; }
  size_t size() const { return texts_.size() / dimensions_; }
  // Of one of the dimensions, by its place among them.
  const std::string& text(uint32_t key, size_t dimension) const {
    return texts_[key * dimensions_ + dimension];
  }

 private:
  size_t dimensions_;
  std::vector<std::string> texts_;  // key-major
  std::unique_ptr<store::StackProjection> stacks_;
};

// Those that a snapshot was asked for, made at the first question. Any thread; one makes them while others wait.
class FrameKeysCache {
 public:
  std::shared_ptr<const FrameKeys> of(const Snapshot& snapshot,
                                      const std::vector<std::string_view>& dimensions);

 private:
  std::mutex mutex_;
  // Protected by mutex_. By the dimensions' names.
  std::map<std::string, std::shared_ptr<const FrameKeys>> made_;
};

}  // namespace plimsoll::query
