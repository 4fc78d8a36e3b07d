// Who calls a function, and what it calls: each stack that it is on, named after the frame next to it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "query/selection/predicate.h"
#include "query/snapshot/hidden_frames.h"
#include "query/snapshot/snapshot.h"

namespace plimsoll::query {

// Stacks by what a view calls them.
struct StackLabels {
  std::vector<uint32_t> label_of_stack;  // by stack ID: an index into texts
  std::vector<std::string> texts;        // the first is of stacks that have no label
};

enum class Neighbour {
  // Of a stack's outermost match: who is responsible for all that it does, however often it calls itself. "[no caller]" where it is the
  // stack's root.
  kCaller,
  // Of its innermost match: what the time goes to. "[itself]" where it is the leaf.
  kCallee,
};

// Of all stacks, those without a match without a label; so that the labels' values add up to the function's total. `of` is a filter of a
// dimension of frames that is not negated: the function is all frames that it matches, of a library say. Hidden frames are no neighbours,
// and no matches. Costs about 10 ns a stack.
StackLabels neighbours(Neighbour neighbour, const Predicate& of, const Snapshot& snapshot,
                       const std::shared_ptr<const HiddenFrames>& hidden = nullptr);

}  // namespace plimsoll::query
