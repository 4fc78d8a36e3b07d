// The frames of a snapshot's locations as numbers, by what some dimensions call them; and its stacks projected onto them.
#pragma once

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/append_only_list.h"
#include "query/snapshot/hidden_frames.h"
#include "store/model/stack_projection.h"

namespace plimsoll::query {

struct Snapshot;

// Any number of threads. A key is the texts of its frames in each of the dimensions. Borrows nothing.
class FrameKeys {
 public:
  // Dimensions whose source is kFrame, at least one. `hidden`: frames that have no key; absent: none. Costs about 100 ns for each frame
  // of each location.
  FrameKeys(const Snapshot& snapshot, const std::vector<std::string_view>& dimensions,
            std::shared_ptr<const HiddenFrames> hidden = nullptr);

  // Of what has been added since the snapshot that `before` was made of, which hides nothing. Costs as much as that, and a few ns for each
  // location and stack where names of known locations have changed. Shares memory with `before`; keys that no frame has any more stay.
  FrameKeys(const FrameKeys& before, const Snapshot& snapshot);

  // Of a location's frames that are not hidden, innermost first. Those that nodes() leads to have at least one.
  std::span<const uint32_t> of_location(uint32_t location) const { return locations().of(location); }
  // The stacks by ID; without what is hidden, as HiddenFrames::stacks() has them.
  std::span<const store::StackNode> nodes() const {
    return hidden_ == nullptr ? nodes_.span() : std::span(hidden_->stacks());
  }
  // Made when it is first asked for; others then wait.
  const store::StackProjection& stacks() const;
  size_t size() const { return texts_.size() / dimensions_.size(); }
  // Of one of the dimensions, by its place among them.
  const std::string& text(uint32_t key, size_t dimension) const {
    return texts_[key * dimensions_.size() + dimension];
  }
  const std::shared_ptr<const HiddenFrames>& hidden() const { return hidden_; }

 private:
  // Shared by those that were made from one another. Protected by its mutex.
  struct Numbers {
    std::mutex mutex;
    boost::unordered_flat_map<std::vector<std::string>, uint32_t, boost::hash<std::vector<std::string>>>
        of_texts;
    AppendOnlyList<std::string> texts;  // key-major
  };

  store::LocationKeys locations() const { return {first_.span(), keys_.span()}; }
  // With the mutex of numbers_ held.
  std::vector<uint32_t> keys_of(const Snapshot& snapshot, uint32_t location) const;
  void add_location(std::span<const uint32_t> keys);
  void add_locations(const Snapshot& snapshot);
  void add_locations_locked(const Snapshot& snapshot);

  std::vector<std::string> dimensions_;
  std::shared_ptr<Numbers> numbers_;
  AppendOnlyList<std::string> texts_;  // of numbers_, as of when this was made
  // As LocationKeys has them.
  AppendOnlyList<uint32_t> first_{0};
  AppendOnlyList<uint32_t> keys_;
  std::shared_ptr<const HiddenFrames> hidden_;
  AppendOnlyList<store::StackNode> nodes_;  // where nothing is hidden
  size_t rebound_ = 0;                      // of the bindings' list: what came before is known here

  mutable std::mutex projecting_;
  // Protected by projecting_. Until it is made, what it can be made from: that of `before`, and the locations whose keys have changed.
  mutable std::shared_ptr<const store::StackProjection> stacks_;
  mutable std::shared_ptr<const store::StackProjection> stacks_before_;
  mutable std::vector<bool> changed_;
};

// Those that a snapshot was asked for, made at the first question. Any thread; one makes them while others wait.
class FrameKeysCache {
 public:
  FrameKeysCache() = default;
  // Of a later snapshot of the same directory: what was made for the one before is what its own are made from.
  static std::unique_ptr<FrameKeysCache> after(FrameKeysCache& before);

  std::shared_ptr<const FrameKeys> of(const Snapshot& snapshot,
                                      const std::vector<std::string_view>& dimensions,
                                      const std::shared_ptr<const HiddenFrames>& hidden = nullptr);

 private:
  using Made = std::map<std::string, std::shared_ptr<const FrameKeys>>;

  std::mutex mutex_;
  // Protected by mutex_. By the dimensions' names, and what is hidden.
  Made made_;
  Made made_before_;  // where nothing is hidden
};

}  // namespace plimsoll::query
