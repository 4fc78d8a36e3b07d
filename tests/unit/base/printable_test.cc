#include "base/printable.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Printable, KeepsText) {
  EXPECT_EQ(printable("größer 日本 \U0001F600 ~"), "größer 日本 \U0001F600 ~");
}

TEST(Printable, ReplacesWhatCommandsATerminal) {
  EXPECT_EQ(printable("\x1b[2J\x7f\n\t"), "?[2J???");
  EXPECT_EQ(printable("\u009b2J \u0080"), "??2J ??") << "control characters of two bytes";
  EXPECT_EQ(printable("\u00a0"), "\u00a0");
}

TEST(Printable, ReplacesEachByteThatIsNoUtf8) {
  EXPECT_EQ(printable("a\xff\xc3"), "a??");
  EXPECT_EQ(printable("\xc0\x80"), "??") << "longer than it needs to be";
  EXPECT_EQ(printable("\xed\xa0\x80"), "???") << "half of a surrogate pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????") << "past the last code point";
}

}  // namespace
}  // namespace plimsoll
