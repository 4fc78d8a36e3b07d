#include "traces/bursts/marks/mark_decoder.h"

#include <algorithm>

namespace plimsoll::traces {

std::string phase_name(uint64_t value) {
  std::string name;
  for (; value != 0; value >>= 8U) {
    name += static_cast<char>(value & 0xFF);
  }
  return name;
}

std::optional<Mark> MarkDecoder::take(const MarkCall& call) {
  ++counts_.calls;
  if (call.first == kMarkHead) {
    if (const auto kind = kind_of_head(call.second)) {
      begin(call, *kind);
    } else {
      ++counts_.unknown;
    }
    return std::nullopt;
  }
  if (call.first == kMarkValue) {
    return complete(call);
  }
  ++counts_.natural;
  return std::nullopt;
}

void MarkDecoder::begin(const MarkCall& call, MarkKind kind) {
  if (begun_.size() >= kMaxThreads && !begun_.contains(call.tid)) {
    finish();
  }
  Begun& begun = begun_[call.tid];
  if (begun.size > 0 && begun.heads[begun.size - 1].word == call.second) {
    // A natural call within the mark, which has its registers, or the same mark again after its value was lost: the later time
    // is within a mark either way.
    begun.heads[begun.size - 1].time_ns = call.time_ns;
    ++counts_.stray;
    return;
  }
  if (begun.size == kMaxNested) {
    std::shift_left(begun.heads.begin(), begun.heads.end(), 1);
    --begun.size;
    ++counts_.torn;
  }
  begun.heads[begun.size++] = {call.time_ns, call.second, kind};
}

std::optional<Mark> MarkDecoder::complete(const MarkCall& call) {
  const auto found = begun_.find(call.tid);
  if (found != begun_.end()) {
    Begun& begun = found->second;
    for (size_t i = begun.size; i-- > 0;) {
      const Head head = begun.heads[i];
      if (!belongs_to_head(head.word, call.second)) {
        continue;
      }
      // Younger ones are of marks that were over before this one was, and lost their values.
      counts_.torn += begun.size - 1 - i;
      begun.size = i;
      if (i == 0) {
        begun_.erase(found);
      }
      ++counts_.marks;
      return Mark{head.time_ns, call.tid, head.kind, call.second};
    }
  }
  ++counts_.stray;
  return std::nullopt;
}

void MarkDecoder::finish() {
  for (const auto& [tid, begun] : begun_) {
    counts_.torn += begun.size;
  }
  begun_.clear();
}

}  // namespace plimsoll::traces
