#include "capture/unwind/walker.h"

#include <algorithm>
#include <bit>

#include "capture/unwind/generic_row_step.h"

namespace plimsoll::unwind {
namespace {

bool step_by_common_rule(const FrameRule& rule, Registers& frame, const StackCopy& stack, StackEnd& end) {
  if (!frame.knows(rule.cfa_register)) {
    end = StackEnd::kOutsideStack;  // its value was saved where this copy does not reach
    return false;
  }
  const uint64_t cfa = frame[rule.cfa_register] + static_cast<uint64_t>(int64_t{rule.cfa_offset});
  const uint64_t stack_pointer = frame[kRsp];
  if (cfa <= stack_pointer) {
    end = StackEnd::kDamagedUnwindInformation;  // frames lie one above the other
    return false;
  }
  const auto return_address = read_word(stack, cfa - sizeof(uint64_t), end);
  if (!return_address || *return_address == 0) {
    end = return_address ? StackEnd::kOutermost : end;
    return false;
  }
  for (unsigned saved = rule.saved; saved != 0; saved &= saved - 1) {
    const auto index = static_cast<size_t>(std::countr_zero(saved));
    const uint64_t address = cfa + static_cast<uint64_t>(int64_t{rule.saved_offset[index]});
    if (address < stack_pointer) {
      continue;  // popped already (see GenericRowStep)
    }
    // One that cannot be had matters only where a caller's rule needs it.
    if (const auto value = stack.word(address)) {
      frame.set(kCalleeSaved[index], *value);
    } else {
      frame.forget(kCalleeSaved[index]);
    }
  }
  frame.set(kRip, *return_address);
  frame.set(kRsp, cfa);
  return true;
}

// Whether `address` can be where the function that executes `at`, of which no rules are known, returns to.
bool may_return_to(uint64_t address, uint64_t at, CodeMap& code) {
  constexpr uint64_t kLargestFunctionBytes = uint64_t{1} << 20;
  const auto call = code.call_before(address);
  if (!call || !call->target) {
    return call.has_value();
  }
  const uint64_t begin = *call->target;
  if (begin > at || at - begin > kLargestFunctionBytes) {
    return false;
  }
  const CodePlace called = code.find(begin);
  return called.is_mapped && (called.table == nullptr ||
                              called.table->find(called.elf_address).kind == FrameRule::Kind::kNotCovered);
}

// Out of a function that has pushed nothing: at its first instruction, or one that needs no frame.
bool step_out_of_leaf(CodeMap& code, Registers& frame, const StackCopy& stack) {
  const auto return_address = stack.word(frame[kRsp]);
  if (!return_address || !may_return_to(*return_address, frame[kRip], code)) {
    return false;
  }
  frame.set(kRip, *return_address);
  frame.set(kRsp, frame[kRsp] + sizeof(uint64_t));
  return true;
}

// Whether a return address lies close above the stack pointer, below `link`: then a leaf may have pushed a few words without
// linking them, and the link is its caller's. Frames of functions that call others may hold old ones anywhere.
bool skips_return_address(uint64_t link, CodeMap& code, const Registers& frame, const StackCopy& stack) {
  constexpr uint64_t kWord = sizeof(uint64_t);
  constexpr uint64_t kMaxWords = 4;
  const uint64_t end = std::min(link, frame[kRsp] + kMaxWords * kWord);
  for (uint64_t address = frame[kRsp]; address < end; address += kWord) {
    const auto word = stack.word(address);
    const auto call = word ? code.call_before(*word) : std::nullopt;
    if (call && call->is_certain) {
      return true;
    }
  }
  return false;
}

// The caller's registers, by the link that rbp is: the word there is the caller's rbp, the one above it the return address.
// Which other registers the frame saved, and where, nothing says. Nothing where the copy does not hold both.
std::optional<Registers> caller_by_link(uint64_t link, const StackCopy& stack) {
  constexpr uint64_t kWord = sizeof(uint64_t);
  const auto saved = stack.word(link);
  const auto return_address = saved ? stack.word(link + kWord) : std::nullopt;
  if (!return_address) {
    return std::nullopt;
  }
  Registers caller;
  caller.set(kRbp, *saved);
  caller.set(kRsp, link + 2 * kWord);
  caller.set(kRip, *return_address);
  return caller;
}

// Out of a frame that nothing is known of, if rbp can be its link: it leads to a return address.
bool step_by_evidence(CodeMap& code, bool is_exact, Registers& frame, const StackCopy& stack) {
  const uint64_t link = frame[kRbp];
  if (!frame.knows(kRbp) || link < frame[kRsp] || link % sizeof(uint64_t) != 0) {
    return false;
  }
  const auto caller = caller_by_link(link, stack);
  if (!caller || !may_return_to((*caller)[kRip], frame[kRip] - 1, code) ||
      (is_exact && skips_return_address(link, code, frame, stack))) {
    return false;
  }
  frame = *caller;
  return true;
}

}  // namespace

void Walker::walk(Registers registers, const StackCopy& stack, const FramePointerChain& chain, CodeMap& code,
                  WalkedStack& walked) {
  walked.addresses.clear();
  walked.end = StackEnd::kNoUnwindInformation;
  operations_left_ = kMaxOperations;
  only_frame_pointers_ = true;
  not_in_chain_ = 0;
  bool is_exact = true;
  bool came_from_root = false;  // whose rule for its caller is that of a called function, which it is not
  uint64_t highest = registers[kRsp];  // of the frames within the copy
  while (walked.addresses.size() < kMaxFrames) {
    uint64_t address = registers[kRip] - (is_exact ? 0 : 1);
    CodePlace place = code.find(address);
    const bool may_be_root = !is_exact && follows_no_call(place, registers[kRip], code);
    if (may_be_root) {
      is_exact = true;
      ++address;
      place = code.find(address);
    }
    if (!place.is_mapped) {
      walked.end = came_from_root ? StackEnd::kOutermost : StackEnd::kNotMapped;
      return;
    }
    came_from_root = may_be_root;
    walked.addresses.push_back(address);
    left_copy_ = false;
    const bool has_caller = step(place, is_exact, code, registers, stack, walked.end);
    if (next_is_exact_ && !is_exact) {
      // The kernel made the handler return to the first byte of its trampoline: no call stands before it.
      ++walked.addresses.back();
    }
    if (!has_caller) {
      walked.end = may_be_root ? StackEnd::kOutermost : walked.end;
      if (left_copy_ && only_frame_pointers_) {
        follow_chain(chain, registers[kRip], code, walked);
      }
      return;
    }
    is_exact = next_is_exact_;
    // A signal frame may lead to another stack, and nothing leads back: so no frame comes twice.
    const uint64_t stack_pointer = registers[kRsp];
    if (stack.holds(stack_pointer) && stack_pointer <= highest) {
      walked.end = StackEnd::kDamagedUnwindInformation;
      return;
    }
    highest = stack.holds(stack_pointer) ? stack_pointer : highest;
  }
  walked.end = StackEnd::kTooDeep;
}

// The root of a coroutine is returned to, though it has called nothing: its function begins there, behind padding.
bool Walker::follows_no_call(const CodePlace& before, uint64_t return_address, CodeMap& code) {
  if (before.table == nullptr ||
      rules_.find(*before.table, before.elf_address).kind != FrameRule::Kind::kNotCovered) {
    return false;
  }
  const CodePlace place = code.find(return_address);
  return place.table != nullptr &&
         rules_.find(*place.table, place.elf_address).kind != FrameRule::Kind::kNotCovered;
}

void Walker::follow_chain(const FramePointerChain& chain, uint64_t return_address, CodeMap& code,
                          WalkedStack& walked) const {
  const std::span<const uint64_t> addresses = chain.addresses;
  size_t next = walked.addresses.size() - not_in_chain_;
  const bool last_is_in_chain = not_in_chain_ == 0 || next > 1;
  if (next >= addresses.size() || (last_is_in_chain && addresses[next - 1] != return_address)) {
    return;
  }
  bool may_end = true;
  for (; next < addresses.size() && addresses[next] != 0; ++next) {
    if (walked.addresses.size() == kMaxFrames) {
      walked.end = StackEnd::kTooDeep;
      return;
    }
    const uint64_t address = addresses[next] - 1;
    const CodePlace place = code.find(address);
    if (!place.is_mapped) {
      walked.end = StackEnd::kNotMapped;
      return;
    }
    walked.addresses.push_back(address);
    if (!place.keeps_frame_pointers) {
      walked.end = StackEnd::kOutsideStack;  // where its own frame lies is not known
      return;
    }
    may_end = place.chain_ends_with_zero;
  }
  if (next == addresses.size() && chain.is_cut) {
    walked.end = StackEnd::kTooDeep;
  } else {
    walked.end = may_end ? StackEnd::kOutermost : StackEnd::kNoUnwindInformation;
  }
}

bool Walker::step(const CodePlace& place, bool is_exact, CodeMap& code, Registers& frame,
                  const StackCopy& stack, StackEnd& end) {
  static constexpr FrameRule kNoRule;
  next_is_exact_ = false;
  const FrameRule& rule = place.table == nullptr ? kNoRule : rules_.find(*place.table, place.elf_address);
  switch (rule.kind) {
    case FrameRule::Kind::kCommon:
      only_frame_pointers_ = false;
      return step_by_common_rule(rule, frame, stack, end);
    case FrameRule::Kind::kGeneric:
      only_frame_pointers_ = false;
      next_is_exact_ = place.table->generic_row(rule).is_signal_frame;
      return GenericRowStep(*place.table, stack, operations_left_).step(rule, frame, end);
    case FrameRule::Kind::kDamaged:
      end = StackEnd::kDamagedUnwindInformation;
      return false;
    case FrameRule::Kind::kGo:
      // A function that has called another has linked its frame; the link also leads from one stack to another.
      return is_exact ? step_by_go_rule(rule, frame, stack, end)
                      : step_by_frame_pointer(place, frame, stack, end);
    case FrameRule::Kind::kNotCovered:
      break;
  }
  if (place.keeps_frame_pointers) {
    return step_by_frame_pointer(place, frame, stack, end);
  }
  only_frame_pointers_ = false;
  end = StackEnd::kNoUnwindInformation;
  return (is_exact && step_out_of_leaf(code, frame, stack)) || step_by_evidence(code, is_exact, frame, stack);
}

bool Walker::step_by_go_rule(const FrameRule& rule, Registers& frame, const StackCopy& stack, StackEnd& end) {
  constexpr uint64_t kWord = sizeof(uint64_t);
  end = StackEnd::kOutsideStack;  // where rbp was saved
  const uint64_t cfa = frame[rule.cfa_register] + static_cast<uint64_t>(int64_t{rule.cfa_offset});
  if (!frame.knows(kRbp) || !step_by_common_rule(rule, frame, stack, end)) {
    left_copy_ = end == StackEnd::kOutsideStack || end == StackEnd::kCutCopy;
    return false;
  }
  if (frame[kRbp] != cfa - 2 * kWord) {
    not_in_chain_ = 1;
    return true;
  }
  const auto saved = stack.word(frame[kRbp]);
  if (saved) {
    frame.set(kRbp, *saved);
  } else {
    frame.forget(kRbp);
  }
  return true;
}

bool Walker::step_by_frame_pointer(const CodePlace& place, Registers& frame, const StackCopy& stack,
                                   StackEnd& end) {
  if (!frame.knows(kRbp) || frame[kRbp] == 0) {
    end = frame.knows(kRbp) && place.chain_ends_with_zero ? StackEnd::kOutermost
                                                          : StackEnd::kNoUnwindInformation;
    return false;
  }
  const uint64_t link = frame[kRbp];
  const auto caller = link >= frame[kRsp] ? caller_by_link(link, stack) : std::nullopt;
  if (!caller) {
    end = why_not_held(stack, link);
    left_copy_ = true;
    return false;
  }
  if ((*caller)[kRip] == 0) {
    end = StackEnd::kOutermost;
    return false;
  }
  frame = *caller;
  return true;
}

}  // namespace plimsoll::unwind
