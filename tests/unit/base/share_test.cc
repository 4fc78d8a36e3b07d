#include "base/share.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(ParseShare, TakesPercentagesAndShares) {
  EXPECT_DOUBLE_EQ(*parse_share("3%"), 0.03);
  EXPECT_DOUBLE_EQ(*parse_share("0.03"), 0.03);
  EXPECT_DOUBLE_EQ(*parse_share("0"), 0);
  EXPECT_DOUBLE_EQ(*parse_share("1"), 1);
  EXPECT_DOUBLE_EQ(*parse_share("150%"), 1.5);
  EXPECT_DOUBLE_EQ(*parse_share("1e-3%"), 1e-5);
}

// Who writes 3 means 3 % more often than 300 %.
TEST(ParseShare, AboveOneWantsTheSign) {
  for (const char* text : {"3", "1.0001", "95"}) {
    EXPECT_FALSE(parse_share(text)) << text;
  }
}

TEST(ParseShare, RefusesOtherTexts) {
  for (const char* text :
       {"", "%", "3 %", "3%%", " 3%", "-1%", "-0.1", "nan", "inf", "inf%", "nan%", "x", "0.1x"}) {
    EXPECT_FALSE(parse_share(text)) << text;
  }
}

}  // namespace
}  // namespace plimsoll
