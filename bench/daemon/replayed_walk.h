// The walker alone: stacks walked again with the answers of their code map noted beforehand, so that looking up mappings and
// tables costs nothing.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "bench/daemon/capture.h"
#include "capture/unwind/walker.h"

namespace plimsoll::bench {

// One thread. Borrows the samples.
class ReplayedWalk {
 public:
  explicit ReplayedWalk(const identity::ImageSource& images) : images_(images) {}

  // Walks the sample's stack, noting what the code map is asked.
  void prepare(const CapturedSample& captured);
  size_t prepared() const { return stacks_.size(); }

  // Walks the stack that was prepared as number `index`; returns its frames.
  size_t walk(size_t index);

 private:
  class NotingCode;
  class NotedCode;
  struct Stack {
    unwind::Registers registers;
    unwind::StackCopy copy;
    std::vector<unwind::CodePlace> places;  // in the order in which they are asked for
  };
  // Null where there is none.
  const unwind::UnwindTable* table_of(const identity::BinaryInfo& binary, uint32_t pid);

  const identity::ImageSource& images_;
  std::map<const identity::BinaryInfo*, std::unique_ptr<unwind::UnwindTable>> tables_;
  std::vector<Stack> stacks_;
  unwind::Walker walker_;
  unwind::WalkedStack walked_;
};

}  // namespace plimsoll::bench
