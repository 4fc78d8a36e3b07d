// Frames that views leave out of the stacks that they are on, as pprof's hide does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "query/snapshot/frame_place.h"
#include "store/model/dictionaries.h"

namespace plimsoll::query {

struct Snapshot;

// Immutable: any thread. Made in one pass over the locations and one over the stacks; takes 8 bytes for each of those.
class HiddenFrames {
 public:
  // `text` says which they are, and tells them from others of the same snapshot.
  HiddenFrames(std::string text, const std::function<bool(FramePlace)>& is_hidden, const Snapshot& snapshot);

  const std::string& text() const { return text_; }
  bool hides_any() const { return hides_any_; }
  bool is_hidden(FramePlace place) const { return is_hidden_[first_[place.location] + place.depth]; }

  // The stacks by ID, where a stack whose leaf is hidden is the same as the one that it was called from; of those of which nothing is
  // left, stack 0. Parents have smaller IDs than their children.
  const std::vector<store::StackNode>& stacks() const { return stacks_; }
  // Whether nothing of the stack is left.
  bool is_gone(uint32_t stack) const { return is_gone_[stack]; }

 private:
  std::string text_;
  std::vector<uint32_t> first_;  // by location, into is_hidden_
  std::vector<bool> is_hidden_;
  bool hides_any_ = false;
  std::vector<store::StackNode> stacks_;
  std::vector<bool> is_gone_;
};

}  // namespace plimsoll::query
