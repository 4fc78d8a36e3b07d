#include "cli/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace plimsoll::cli {
namespace {

std::string json_of(std::string_view text) {
  std::string out;
  append_json_string(text, out);
  return out;
}

TEST(JsonText, PlainTextIsQuoted) {
  EXPECT_EQ(json_of(""), R"("")");
  EXPECT_EQ(json_of("std::vector<int>"), R"("std::vector<int>")");
}

TEST(JsonText, WhatJsonCannotHoldIsEscaped) {
  EXPECT_EQ(json_of(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(json_of("\n\t\x01\x7f"), R"("\n\t\u0001\u007f")");
  EXPECT_EQ(json_of(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(JsonText, Utf8StaysAsItIs) {
  EXPECT_EQ(json_of("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\xa2"),
            "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\xa2\"");
}

TEST(JsonText, EachByteOutsideOfUtf8IsAReplacement) {
  EXPECT_EQ(json_of("a\xff"), R"("a\ufffd")");
  EXPECT_EQ(json_of("\xc3"), R"("\ufffd")");                                // cut off
  EXPECT_EQ(json_of("\xc0\xaf"), R"("\ufffd\ufffd")");                      // longer than it need be
  EXPECT_EQ(json_of("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");            // half of a pair
  EXPECT_EQ(json_of("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");  // beyond the last character
  EXPECT_EQ(json_of("\xe2\x82z"), R"("\ufffd\ufffdz")");
}

TEST(JsonText, AnyBytesAreReadAgainAsText) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes(random() % 12, '\0');
    for (char& byte : bytes) {
      // Lead bytes and continuations more often than chance has them.
      byte = static_cast<char>(random() % 3 == 0 ? 0x80 + random() % 0x80 : random() % 0x100);
    }
    const auto parsed = nlohmann::json::parse(json_of(bytes), nullptr, false);
    ASSERT_TRUE(parsed.is_string());
    if (json_of(bytes).find("\\ufffd") == std::string::npos) {
      EXPECT_EQ(parsed.get<std::string>(), bytes);
    }
  }
}

}  // namespace
}  // namespace plimsoll::cli
