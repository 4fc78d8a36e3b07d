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

TEST(Printable, ReplacesWhatNobodySees) {
  EXPECT_EQ(printable("a\u202eb"), "a???b") << "turns the rest of the line around";
  EXPECT_EQ(printable("a\u200b\u2066\ufeff\u00ad"),
            "a???"
            "???"
            "???"
            "??");
  EXPECT_EQ(printable("\U000e0041"), "????") << "a tag";
}

TEST(Printable, LinesStayLines) {
  EXPECT_EQ(printable_lines("one\x1b\n\ntwo\r\n"), "one?\n\ntwo?\n");
}

TEST(SpreadsheetText, IsNoFormula) {
  EXPECT_EQ(spreadsheet_text("=HYPERLINK(\"http://x\")"), "'=HYPERLINK(\"http://x\")");
  for (const char* text : {"+1", "-[NSObject init]", "@SUM(A1)"}) {
    EXPECT_EQ(spreadsheet_text(text), std::string("'") + text);
  }
  EXPECT_EQ(spreadsheet_text("main\t"), "main?");
  EXPECT_EQ(spreadsheet_text(""), "");
}

TEST(VisibleJson, EscapesWhatTerminalsWouldObey) {
  EXPECT_EQ(visible_json("{\"a\": \"\u009b2J \u202e \U000e0041 \u00fc\x7f\"}\n"),
            "{\"a\": \"\\u009b2J \\u202e \\udb40\\udc41 \u00fc\\u007f\"}\n");
  EXPECT_EQ(visible_json("[\"plain\\u001b\"]\n"), "[\"plain\\u001b\"]\n");
}

TEST(Printable, ReplacesEachByteThatIsNoUtf8) {
  EXPECT_EQ(printable("a\xff\xc3"), "a??");
  EXPECT_EQ(printable("\xc0\x80"), "??") << "longer than it needs to be";
  EXPECT_EQ(printable("\xed\xa0\x80"), "???") << "half of a surrogate pair";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????") << "past the last code point";
}

}  // namespace
}  // namespace plimsoll
