// Rows as ClickHouse's format RowBinary has them.
#include "store/clickhouse/row_binary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace plimsoll::store::clickhouse {
namespace {

TEST(RowBinary, NumbersAreLittleEndianAndTextsStandBehindTheirLength) {
  RowBinaryWriter writer;
  writer.number(uint32_t{0x01020304}).number(int64_t{-2}).text("ab").text("");
  EXPECT_EQ(writer.take(), std::string("\x04\x03\x02\x01"
                                       "\xfe\xff\xff\xff\xff\xff\xff\xff"
                                       "\x02"
                                       "ab"
                                       "\x00",
                                       16));
  EXPECT_TRUE(writer.empty());
}

TEST(RowBinary, WhatIsWrittenIsRead) {
  const std::vector<std::string> texts{"",
                                       "a",
                                       std::string(127, 'b'),
                                       std::string(128, 'c'),
                                       std::string("\0\n", 2),
                                       std::string(70'000, 'd')};
  RowBinaryWriter writer;
  for (const std::string& text : texts) {
    writer.text(text).number(static_cast<uint16_t>(text.size())).number(static_cast<double>(text.size()) / 3);
  }
  std::vector<std::string> read;
  const Status status = for_each_row(writer.bytes(), "texts", [&](ByteReader& reader) -> Status {
    read.emplace_back(read_text(reader));
    EXPECT_EQ(reader.read<uint16_t>(), static_cast<uint16_t>(read.back().size()));
    EXPECT_EQ(reader.read<double>(), static_cast<double>(read.back().size()) / 3);
    return {};
  });
  ASSERT_TRUE(status) << status.error().text();
  EXPECT_EQ(read, texts);
}

TEST(RowBinary, RowsThatEndInTheMiddleOfOneAreCorrupt) {
  RowBinaryWriter writer;
  writer.number(uint32_t{1}).text("first").number(uint32_t{2}).text("second");
  const std::string whole = writer.take();
  const size_t first = 4 + 1 + 5;
  for (size_t size = 0; size <= whole.size(); ++size) {
    const Status status =
        for_each_row(std::string_view(whole).substr(0, size), "rows", [](ByteReader& reader) -> Status {
          reader.read<uint32_t>();
          read_text(reader);
          return {};
        });
    const bool is_between_rows = size == 0 || size == first || size == whole.size();
    ASSERT_EQ(status.has_value(), is_between_rows) << size;
    EXPECT_TRUE(status || status.error().code == ErrorCode::kCorrupt);
  }
}

TEST(RowBinary, ALengthBeyondTheAnswerIsCorrupt) {
  for (const std::string& length :
       {std::string("\xff\xff\xff\xff\x0f", 5), std::string(9, '\xff') + '\x01', std::string(20, '\xff')}) {
    const Status status = for_each_row(length + "text", "rows", [](ByteReader& reader) -> Status {
      EXPECT_EQ(read_text(reader), "");
      return {};
    });
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  }
}

TEST(RowBinary, RowsOfNothingDoNotGoOnForEver) {
  EXPECT_FALSE(for_each_row("bytes", "rows", [](ByteReader&) -> Status { return {}; }));
}

TEST(RowBinary, AnErrorOfTheReaderEndsTheRows) {
  int rows = 0;
  const Status status = for_each_row("abc", "rows", [&](ByteReader& reader) -> Status {
    reader.read<char>();
    return ++rows == 2 ? fail(ErrorCode::kConflict, "enough") : Status();
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kConflict);
  EXPECT_EQ(rows, 2);
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
