#include "query/fdo/profile/llvm_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"

namespace plimsoll::fdo {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view text, const TextLimits& limits = {}) {
  const auto read = read_llvm_text(text, limits);
  return read ? "" : read.error().message;
}

constexpr std::string_view kText =
    "main:184019:0\n"
    " 4: 534\n"
    " 4.2: 534\n"
    " 5.1: 1075\n"
    " 9: 2064 _Z3bari:1471 _Z3fooi:631\n"
    " 10: inline1:1000\n"
    "  1: 1000\n"
    "  3: inline3:500\n"
    "   1: 500\n"
    " 10: inline2:2000\n"
    "  1: 2000\n"
    "_Z3bari:20301:1437\n"
    " 1: 1437\n"
    "_Z3fooi:7711:610\n"
    " 1: 610\n";

TEST(LlvmText, IsReadAndWrittenBack) {
  const auto read = read_llvm_text(kText);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(write_llvm_text(*read), kText);
  const FunctionSamples& main = read->functions.at("main");
  EXPECT_EQ(main.total, 184'019U);
  EXPECT_EQ(main.body.at({9, 0}).calls.at("_Z3fooi"), 631U);
  EXPECT_EQ(main.inlined.at({10, 0}).at("inline1").inlined.at({3, 0}).at("inline3").total, 500U);
  EXPECT_EQ(read->functions.at("_Z3bari").head, 1437U);
}

// Written by create_llvm_prof: the example of the AutoFDO project.
TEST(LlvmText, OfOtherToolsIsReadAndWrittenBack) {
  const char* const corpus = std::getenv("PLIMSOLL_CORPUS");
  const std::string golden =
      corpus == nullptr
          ? std::string()
          : read_file(std::string(corpus) + "/autofdo/llvm_autoprof.golden.textprof", 1 << 20).value_or("");
  if (golden.empty()) {
    GTEST_SKIP() << "no corpus";
  }
  const auto read = read_llvm_text(golden);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(write_llvm_text(*read), golden);
}

TEST(LlvmText, CommentsBlankLinesAndCarriageReturnsAreSkipped) {
  const auto read = read_llvm_text("# made by hand\r\n\r\nf:3:1\r\n 1: 3\r\n  \n   # more\n");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(write_llvm_text(*read), "f:3:1\n 1: 3\n");
}

TEST(LlvmText, WhatStandsTwiceIsAddedUp) {
  const auto read = read_llvm_text(
      "f:3:1\n 1: 3 g:1\n 2: g:4\n  1: 4\n"
      "f:5:2\n 1: 4 g:2\n 2: g:1\n  1: 18446744073709551615\n");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(write_llvm_text(*read), "f:8:3\n 1: 7 g:3\n 2: g:5\n  1: 18446744073709551615\n");
}

TEST(LlvmText, ErrorsNameTheLine) {
  EXPECT_EQ(error_of("f:1:1\nf:1\n"), "line 2 of the profile: a function is written as name:total:entries");
  EXPECT_THAT(error_of(":1:1\n"), HasSubstr("name:total:entries"));
  EXPECT_THAT(error_of("f:1:-1\n"), HasSubstr("name:total:entries"));
  EXPECT_THAT(error_of("f:18446744073709551616:1\n"), HasSubstr("name:total:entries"));
  EXPECT_THAT(error_of(" 1: 3\n"), HasSubstr("before any function"));
  EXPECT_THAT(error_of("f:1:1\n  1: 3\n"), HasSubstr("indented by too much"));
  EXPECT_THAT(error_of("f:1:1\n 65536: 3\n"), HasSubstr("0 to 65535"));
  EXPECT_THAT(error_of("f:1:1\n 1\n"), HasSubstr("0 to 65535"));
  EXPECT_THAT(error_of("f:1:1\n 1.x: 3\n"), HasSubstr("0 to 65535"));
  EXPECT_THAT(error_of("f:1:1\n 1:\n"), HasSubstr("offset: name:total"));
  EXPECT_THAT(error_of("f:1:1\n 1: 3x\n"), HasSubstr("no number"));
  EXPECT_THAT(error_of("f:1:1\n 1: 3 g\n"), HasSubstr("name:count"));
  EXPECT_THAT(error_of("f:1:1\n 1: 3 g:x\n"), HasSubstr("name:count"));
  EXPECT_THAT(error_of("[main:3 @ f]:1:1\n"), HasSubstr("contexts or pseudo probes"));
  EXPECT_THAT(error_of("f:1:1\n !CFGChecksum: 3\n"), HasSubstr("contexts or pseudo probes"));
}

TEST(LlvmText, HasLimits) {
  EXPECT_THAT(error_of("f:1:1\n", {.max_bytes = 5}), HasSubstr("6 bytes; the limit is 5"));
  EXPECT_THAT(error_of("f:1:1\n 1: 3 g:1\n", {.max_line_bytes = 8}),
              HasSubstr("line 2 of the profile has 9 bytes"));
  std::string deep = "f:1:1\n";
  for (size_t depth = 1; depth <= 501; ++depth) {
    deep += std::string(depth, ' ') + "1: f:1\n";
  }
  EXPECT_THAT(error_of(deep), HasSubstr("inlined 501 deep; the limit is 500"));
}

}  // namespace
}  // namespace plimsoll::fdo
