// The frames of a snapshot's locations as numbers, by what some dimensions call them; and its stacks projected onto them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/snapshot/hidden_frames.h"
#include "store/rows/stack_projection.h"

namespace plimsoll::query {

struct Snapshot;

// Any number of threads. A key is the texts of its frames in each of the dimensions. Costs about 100 ns for each frame of each location.
// Borrows the snapshot.
class FrameKeys {
 public:
  // Dimensions whose source is kFrame, at least one. `hidden`: frames that have no key; absent: none.
  FrameKeys(const Snapshot& snapshot, const std::vector<std::string_view>& dimensions,
            std::shared_ptr<const HiddenFrames> hidden = nullptr);

  // Of a location's frames that are not hidden, innermost first. Those that nodes() leads to have at least one.
  std::span<const uint32_t> of_location(uint32_t location) const { return locations_.of(location); }
  // The stacks by ID; without what is hidden, as HiddenFrames::stacks() has them.
  const std::vector<store::StackNode>& nodes() const { return *nodes_; }
  // Made when it is first asked for; others then wait.
  const store::StackProjection& stacks() const;
  size_t size() const { return texts_.size() / dimensions_; }
  // Of one of the dimensions, by its place among them.
  const std::string& text(uint32_t key, size_t dimension) const {
    return texts_[key * dimensions_ + dimension];
  }

 private:
  size_t dimensions_;
  std::vector<std::string> texts_;  // key-major
  store::LocationKeys locations_;
  std::shared_ptr<const HiddenFrames> hidden_;
  const std::vector<store::StackNode>* nodes_;  // of hidden_, or the snapshot's
  mutable std::once_flag is_projected_;
  mutable std::unique_ptr<store::StackProjection> stacks_;  // protected by is_projected_
};

// Those that a snapshot was asked for, made at the first question. Any thread; one makes them while others wait.
class FrameKeysCache {
 public:
  std::shared_ptr<const FrameKeys> of(const Snapshot& snapshot,
                                      const std::vector<std::string_view>& dimensions,
                                      const std::shared_ptr<const HiddenFrames>& hidden = nullptr);

 private:
  std::mutex mutex_;
  // Protected by mutex_. By the dimensions' names, and what is hidden.
  std::map<std::string, std::shared_ptr<const FrameKeys>> made_;
};

}  // namespace plimsoll::query
