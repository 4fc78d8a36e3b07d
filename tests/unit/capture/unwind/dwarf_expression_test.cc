#include "capture/unwind/dwarf_expression.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

namespace plimsoll::unwind {
namespace {

// A frame with rsp = 0x7000 and rip = 0x1234, on a stack of the words 1, 2, 3, 4.
class DwarfExpression : public ::testing::Test {
 protected:
  DwarfExpression() {
    registers_.set(kRsp, 0x7000);
    registers_.set(kRip, 0x1234);
  }

  ExpressionValue value_of(const std::vector<uint8_t>& expression,
                           std::optional<uint64_t> initial = std::nullopt) const {
    return evaluate(std::as_bytes(std::span(expression)), registers_, stack_, initial);
  }

  Registers registers_;
  const std::array<uint64_t, 4> words_{1, 2, 3, 4};
  const StackCopy stack_{.start = 0x7000, .bytes = std::as_bytes(std::span(words_))};
};

TEST_F(DwarfExpression, TheLinkersRuleForProcedureLinkageEntries) {
  // CFA = rsp + 8 + ((rip & 15) >= 11) * 8: ld writes this for .plt.
  const std::vector<uint8_t> plt{DW_OP_breg7, 8,        DW_OP_breg16, 0,         DW_OP_lit15, DW_OP_and,
                                 DW_OP_lit11, DW_OP_ge, DW_OP_lit3,   DW_OP_shl, DW_OP_plus};
  EXPECT_EQ(value_of(plt).value, 0x7008);
  registers_.set(kRip, 0x123b);
  EXPECT_EQ(value_of(plt).value, 0x7010);
}

TEST_F(DwarfExpression, MemoryIsThatOfTheStack) {
  EXPECT_EQ(value_of({DW_OP_breg7, 8, DW_OP_deref}).value, 2);
  EXPECT_EQ(value_of({DW_OP_breg7, 24, DW_OP_deref_size, 4}).value, 4);
  EXPECT_EQ(value_of({DW_OP_plus_uconst, 16, DW_OP_deref}, 0x7000).value, 3)
      << "the CFA is on the stack at the start";
  const auto outside = value_of({DW_OP_breg7, 25, DW_OP_deref});
  EXPECT_FALSE(outside.value);
  EXPECT_EQ(outside.failure, ExpressionFailure::kOutsideStack);
  EXPECT_EQ(outside.address, 0x7019);
}

TEST_F(DwarfExpression, ArithmeticAndJumps) {
  EXPECT_EQ(value_of({DW_OP_const1s, 0xff, DW_OP_neg}).value, 1);
  EXPECT_EQ(value_of({DW_OP_lit6, DW_OP_lit2, DW_OP_minus, DW_OP_lit3, DW_OP_mul}).value, 12);
  EXPECT_EQ(value_of({DW_OP_lit1, DW_OP_lit2, DW_OP_lit3, DW_OP_rot, DW_OP_drop}).value, 1);
  EXPECT_EQ(value_of({DW_OP_lit1, DW_OP_bra, 1, 0, DW_OP_lit7, DW_OP_lit9}).value, 9);
  EXPECT_EQ(value_of({DW_OP_const8u, 0, 0, 0, 0, 0, 0, 0, 0x80, DW_OP_lit31, DW_OP_shra}).value,
            0xffffffff00000000);
}

TEST_F(DwarfExpression, WhatHasNoValueSaysWhy) {
  for (const std::vector<uint8_t>& malformed : std::vector<std::vector<uint8_t>>{
           {},
           {DW_OP_plus},
           {DW_OP_lit1, DW_OP_lit0, DW_OP_div},
           {DW_OP_const8u, 0, 0, 0, 0, 0, 0, 0, 0x80, DW_OP_const1s, 0xff, DW_OP_div},
           {DW_OP_const4u, 1},
           {DW_OP_call_frame_cfa},
           {DW_OP_skip, 0xfd, 0xff},  // to itself, without end
           {DW_OP_skip, 0x00, 0x80},
       }) {
    const auto result = value_of(malformed);
    EXPECT_FALSE(result.value);
    EXPECT_EQ(result.failure, ExpressionFailure::kMalformed);
  }
  EXPECT_EQ(value_of({DW_OP_breg3, 0}).failure, ExpressionFailure::kUnknownRegister);
  EXPECT_FALSE(value_of(std::vector<uint8_t>(65, DW_OP_lit1)).value) << "more values than there is room for";
}

}  // namespace
}  // namespace plimsoll::unwind
