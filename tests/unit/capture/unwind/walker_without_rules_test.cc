// Stacks through code whose rules say little or nothing: V8's builtins, assembly, Go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "capture/unwind/call_instruction.h"
#include "capture/unwind/walker.h"
#include "tests/unit/capture/unwind/call_frames.h"

namespace plimsoll::unwind {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kStackStart = 0x7000;

// Code at 0x1000 to 0x10ff whose frames are a return address and nothing else, and at 0x2000 to 0x2fff without rules. What
// calls there are, by the address after them, with their target; 0: an indirect one.
class TestCode : public CodeMap {
 public:
  TestCode(std::initializer_list<std::pair<const uint64_t, uint64_t>> calls) : calls_(calls) {}

  CodePlace find(uint64_t address) override {
    const bool is_mapped = address >= 0x1000 && address < 0x3000;
    return {.is_mapped = is_mapped, .table = &table_, .elf_address = address};
  }
  std::optional<Call> call_before(uint64_t address) override {
    const auto call = calls_.find(address);
    if (call == calls_.end()) {
      return std::nullopt;
    }
    return call->second == 0 ? Call() : Call{.target = call->second};
  }

 private:
  UnwindTable table_ = *UnwindTable::compile({eh_frame(eh_frame_bytes(""))});
  std::map<uint64_t, uint64_t> calls_;
};

struct Stack {
  uint64_t rip = 0;
  uint64_t rbp = 0;
  std::vector<uint64_t> words = {};
};

WalkedStack walked(CodeMap& code, const Stack& made, const FramePointerChain& chain = {}) {
  Registers registers;
  registers.set(kRip, made.rip);
  registers.set(kRsp, kStackStart);
  registers.set(kRbp, made.rbp);
  WalkedStack result;
  Walker().walk(registers, {.start = kStackStart, .bytes = std::as_bytes(std::span(made.words))}, chain, code,
                result);
  return result;
}

// 0x2100 has a frame of two words, linked at 0x7010; it was called before 0x1010, which is covered.
const Stack kLinked{.rip = 0x2100, .rbp = 0x7010, .words = {5, 6, 0x7777, 0x1010, 0}};

TEST(CodeWithoutRules, LinksItsFrameWhereACallLiesBeforeTheReturnAddress) {
  TestCode direct{{0x1010, 0x2080}};
  EXPECT_THAT(walked(direct, kLinked).addresses, ElementsAre(0x2100, 0x100f));
  EXPECT_EQ(walked(direct, kLinked).end, StackEnd::kOutermost);
  TestCode indirect{{0x1010, 0}};
  EXPECT_THAT(walked(indirect, kLinked).addresses, ElementsAre(0x2100, 0x100f));
}

TEST(CodeWithoutRules, IsNotBelievedWithoutEvidence) {
  TestCode no_call({});
  EXPECT_THAT(walked(no_call, kLinked).addresses, ElementsAre(0x2100));
  EXPECT_EQ(walked(no_call, kLinked).end, StackEnd::kNoUnwindInformation);
  TestCode calls_another{{0x1010, 0x2180}};
  EXPECT_EQ(walked(calls_another, kLinked).end, StackEnd::kNoUnwindInformation)
      << "the link is that of an outer frame, whose function begins behind this one";
  TestCode calls_covered_code{{0x1010, 0x1080}};
  EXPECT_EQ(walked(calls_covered_code, kLinked).end, StackEnd::kNoUnwindInformation)
      << "the link is that of an outer frame, whose function has rules";
}

TEST(CodeWithoutRules, IsNotBelievedWhereAnotherReturnAddressLiesBelowTheLink) {
  // 0x2100 has pushed a word and links nothing: its caller is 0x2200, whose frame rbp links.
  TestCode code({{0x2201, 0}, {0x1010, 0}});
  const Stack stack{.rip = 0x2100, .rbp = 0x7018, .words = {5, 0x2201, 6, 0x7777, 0x1010, 0}};
  EXPECT_THAT(walked(code, stack).addresses, ElementsAre(0x2100));
  EXPECT_EQ(walked(code, stack).end, StackEnd::kNoUnwindInformation);
}

TEST(CodeWithoutRules, IsLeftWhereTheLinkLeadsNowhere) {
  TestCode code{{0x1010, 0}};
  Stack stack = kLinked;
  for (const uint64_t rbp :
       {uint64_t{0}, uint64_t{0x6ff0}, uint64_t{0x7011}, uint64_t{0x7020}, UINT64_MAX - 7}) {
    stack.rbp = rbp;
    EXPECT_EQ(walked(code, stack).end, StackEnd::kNoUnwindInformation) << rbp;
  }
}

TEST(CodeWithoutRules, HasNoFrameYetWhereTheStackBeginsWithAReturnAddress) {
  TestCode code{{0x2201, 0x2100}, {0x1010, 0}};
  // Interrupted at the first instruction of 0x2100, called by 0x2200, whose frame is linked.
  const Stack stack{.rip = 0x2100, .rbp = 0x7010, .words = {0x2201, 6, 0x7777, 0x1010, 0}};
  EXPECT_THAT(walked(code, stack).addresses, ElementsAre(0x2100, 0x2200, 0x100f));
  EXPECT_EQ(walked(code, stack).end, StackEnd::kOutermost);
}

std::string calls_text(std::string_view code) {
  const auto calls = calls_at_end(as_bytes(code));
  return (calls.displacement ? "relative " + std::to_string(*calls.displacement) : "") +
         (calls.is_indirect ? "indirect" : "");
}

TEST(CallInstruction, IsKnownInAllItsForms) {
  EXPECT_EQ(calls_text(std::string_view("\x90\xe8\x10\x00\x00\x00", 6)), "relative 16");
  EXPECT_EQ(calls_text("\xe8\xf0\xff\xff\xff"), "relative -16");
  EXPECT_EQ(calls_text("\x90\xff\xd0"), "indirect") << "call rax";
  EXPECT_EQ(calls_text("\x41\xff\xd3"), "indirect") << "call r11";
  EXPECT_EQ(calls_text("\x90\xff\x10"), "indirect") << "call [rax]";
  EXPECT_EQ(calls_text("\xff\x50\x18"), "indirect") << "call [rax+0x18]";
  EXPECT_EQ(calls_text("\xff\x14\xc8"), "indirect") << "call [rax+rcx*8]";
  EXPECT_EQ(calls_text("\xff\x54\xc8\x08"), "indirect") << "call [rax+rcx*8+8]";
  EXPECT_EQ(calls_text("\xff\x15\x01\x02\x03\x04"), "indirect") << "call [rip+0x4030201]";
  EXPECT_EQ(calls_text("\x41\xff\x95\x01\x02\x03\x04"), "indirect") << "call [r13+0x4030201]";
  EXPECT_EQ(calls_text("\xff\x14\xc5\x01\x02\x03\x04"), "indirect") << "call [rax*8+0x4030201]";
  EXPECT_EQ(calls_text("\xff\x94\xc8\x01\x02\x03\x04"), "indirect") << "call [rax+rcx*8+0x4030201]";
}

TEST(CallInstruction, IsNotSeenInOtherCode) {
  EXPECT_EQ(calls_text(""), "");
  EXPECT_EQ(calls_text("\xd0"), "");
  EXPECT_EQ(calls_text("\x48\x89\xe5\x90\x90\x90\x90"), "");
  EXPECT_EQ(calls_text("\xff\xe0"), "") << "jmp rax";
  EXPECT_EQ(calls_text("\xff\x50"), "") << "one byte short";
  EXPECT_EQ(calls_text("\xe8\x10\x20\x30"), "") << "likewise";
}

// Go's rules give the CFA and say nothing of rbp: at 0x1000 CFA = rsp + 8, from 0x1004 on rsp + 24.
class GoCode : public CodeMap {
 public:
  GoCode() {
    std::string bytes = frame_entry(UINT32_MAX, common_entry_body(""));
    bytes += frame_entry(0, function_body(0x1000, 0x1000, "\x44\x0e\x18", false));
    elf::CallFrames section = debug_frame(bytes);
    section.is_go = true;
    table_ = *UnwindTable::compile({section});
  }
  CodePlace find(uint64_t address) override {
    return {.is_mapped = address >= 0x1000 && address < 0x3000,
            .table = &table_,
            .elf_address = address,
            .keeps_frame_pointers = true,
            .chain_ends_with_zero = true};
  }

 private:
  UnwindTable table_ = *UnwindTable::compile({eh_frame(eh_frame_bytes(""))});
};

TEST(GoRules, ALeafWithoutFrameHasItsCaller) {
  GoCode code;
  // At the first instruction: rbp links the caller's frame at 0x7008.
  const auto stack = walked(code, {.rip = 0x1000, .rbp = 0x7008, .words = {0x1201, 0, 0x1301, 0, 0}});
  EXPECT_THAT(stack.addresses, ElementsAre(0x1000, 0x1200, 0x1300));
  EXPECT_EQ(stack.end, StackEnd::kOutermost);
}

TEST(GoRules, ALeafWithAFrameHasSavedItsCallersLink) {
  GoCode code;
  // CFA = 0x7018, linked at 0x7008.
  const Stack linked{.rip = 0x1100, .rbp = 0x7008, .words = {1, 0x7018, 0x1201, 0, 0x1301, 0}};
  EXPECT_THAT(walked(code, linked).addresses, ElementsAre(0x1100, 0x1200, 0x1300));
  Stack not_yet = linked;
  not_yet.rbp = 0x7018;
  EXPECT_THAT(walked(code, not_yet).addresses, ElementsAre(0x1100, 0x1200, 0x1300))
      << "rbp is the caller's until this frame is linked";
}

TEST(GoRules, TheKernelsChainGoesOnBehindACallerThatItDidNotSee) {
  GoCode code;
  // The caller's frame is linked on another stack.
  const Stack stack{.rip = 0x1000, .rbp = 0x6000, .words = {0x1201, 0}};
  const std::vector<uint64_t> chain{0x1000, 0x1301, 0x1401};
  const auto result = walked(code, stack, {.addresses = chain});
  EXPECT_THAT(result.addresses, ElementsAre(0x1000, 0x1200, 0x1300, 0x1400));
  EXPECT_EQ(result.end, StackEnd::kOutermost);
}

}  // namespace
}  // namespace plimsoll::unwind
