#include "formats/gperftools_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace plimsoll::formats {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kMaxBytes = 1 << 20;

struct Written {
  std::string symbols;          // up to the binary part
  std::vector<uint64_t> words;  // of the binary part
};

Written write(GperftoolsWriter& writer) {
  const std::string bytes = writer.finish("app");
  const std::string mark = "--- profile\n";
  const size_t end = bytes.find(mark) + mark.size();
  Written written{bytes.substr(0, end), {}};
  written.words.resize((bytes.size() - end) / sizeof(uint64_t));
  std::memcpy(written.words.data(), bytes.data() + end, bytes.size() - end);
  return written;
}

TEST(GperftoolsWriter, GivesEachNameAnAddress) {
  GperftoolsWriter writer(kMaxBytes);
  ASSERT_TRUE(writer.add_sample(std::vector<std::string_view>{"lex", "parse", "main"}, 12));
  ASSERT_TRUE(writer.add_sample(std::vector<std::string_view>{"parse", "main"}, 3));
  const Written written = write(writer);
  EXPECT_EQ(written.symbols,
            "--- symbol\n"
            "binary=app\n"
            "0x0000000000010000 lex\n"
            "0x0000000000010010 parse\n"
            "0x0000000000010020 main\n"
            "---\n"
            "--- profile\n");
  EXPECT_THAT(written.words, ElementsAre(0, 3, 0, 1, 0,                     // header
                                         12, 3, 0x10000, 0x10010, 0x10020,  // count, depth, leaf first
                                         3, 2, 0x10010, 0x10020, 0, 1, 0));
}

TEST(GperftoolsWriter, NamesCannotBreakTheSymbolTable) {
  GperftoolsWriter writer(kMaxBytes);
  ASSERT_TRUE(writer.add_sample(std::vector<std::string_view>{"operator--", "a\nb", "c---d"}, 1));
  EXPECT_THAT(write(writer).symbols, ::testing::HasSubstr("00 operator- -\n0x0000000000010010 a b\n"
                                                          "0x0000000000010020 c- - -d\n"));
}

TEST(GperftoolsWriter, LeavesOutWhatTheReaderTakesForTheEnd) {
  GperftoolsWriter writer(kMaxBytes);
  ASSERT_TRUE(writer.add_sample({}, 5));
  ASSERT_TRUE(writer.add_sample(std::vector<std::string_view>{"f"}, 0));
  EXPECT_THAT(write(writer).words, ElementsAre(0, 3, 0, 1, 0, 0, 1, 0));
}

TEST(GperftoolsWriter, CutsStacksThatTheReaderRefuses) {
  GperftoolsWriter writer(kMaxBytes);
  ASSERT_TRUE(writer.add_sample(std::vector<std::string_view>(70'000, "f"), 1));
  EXPECT_EQ(write(writer).words[6], 65'536);
}

TEST(GperftoolsWriter, RefusesMoreBytesThanItMayWrite) {
  GperftoolsWriter writer(100);
  const std::vector<std::string_view> stack{"lex", "parse", "main"};
  ASSERT_TRUE(writer.add_sample(stack, 1));
  ASSERT_TRUE(writer.add_sample(stack, 1));
  const Status third = writer.add_sample(stack, 1);
  ASSERT_FALSE(third);
  EXPECT_THAT(third.error().text(), ::testing::HasSubstr("the gperftools profile has over 100 bytes"));
}

}  // namespace
}  // namespace plimsoll::formats
