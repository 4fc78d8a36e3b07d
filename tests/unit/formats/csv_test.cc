#include "formats/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace plimsoll::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Fields = std::vector<std::string>;

TEST(Csv, HasColumnsAndRows) {
  const auto table = read_csv("job,quota\nsearch,2.5\nads,1\n");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(table->columns, ElementsAre("job", "quota"));
  ASSERT_EQ(table->rows.size(), 2);
  EXPECT_EQ(table->rows[1].fields, (Fields{"ads", "1"}));
  EXPECT_EQ(table->rows[1].line, 3);
  EXPECT_EQ(table->column("quota"), 1);
  EXPECT_EQ(table->column("owner"), std::nullopt);
}

TEST(Csv, QuotedFieldsMayHoldAnything) {
  const auto table = read_csv("a,b\n\"x,\ny\",\"say \"\"hi\"\"\"\nlast,\"\"\n");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_EQ(table->rows[0].fields, (Fields{"x,\ny", "say \"hi\""}));
  EXPECT_EQ(table->rows[1].fields, (Fields{"last", ""}));
  EXPECT_EQ(table->rows[1].line, 4);
}

TEST(Csv, IsWhatOtherSystemsWrite) {
  const auto table = read_csv(
      "\xef\xbb\xbf"
      "a,b\r\n1,2\r\n\r\n3,4");
  ASSERT_TRUE(table) << table.error().text();
  EXPECT_THAT(table->columns, ElementsAre("a", "b"));
  EXPECT_EQ(table->rows[1].fields, (Fields{"3", "4"}));
}

TEST(Csv, OfNothingIsNothing) {
  EXPECT_THAT(read_csv("")->columns, IsEmpty());
  EXPECT_THAT(read_csv("\n\n")->columns, IsEmpty());
  EXPECT_THAT(read_csv("a,b\n")->rows, IsEmpty());
}

TEST(Csv, ThatMakesNoSenseNamesTheLine) {
  const auto why = [](std::string_view text) {
    const auto table = read_csv(text);
    return table ? std::string() : table.error().text();
  };
  EXPECT_THAT(why("a,b\n1\n"), HasSubstr("line 2: 1 fields, the header has 2"));
  EXPECT_THAT(why("a,b\n1,2\n1,2,3\n"), HasSubstr("line 3: 3 fields"));
  EXPECT_THAT(why("a,b\n\"1,2\n"), HasSubstr("line 2: unterminated quote"));
  EXPECT_THAT(why("a,b\n\"1\"x,2\n"), HasSubstr("line 2: text after the end of a field"));
  EXPECT_THAT(why("a,b\n1\r2,3\n"), HasSubstr("line 2: text after the end of a field"));
  EXPECT_THAT(why("a,a\n"), HasSubstr("two columns are named \"a\""));
}

// Against a writer that quotes whatever needs it.
TEST(Csv, ReadsWhatWasWritten) {
  std::mt19937_64 random(20'261'124);
  const std::string letters = "ab,\"\n\r x";
  for (int time = 0; time < 2000; ++time) {
    const size_t columns = 1 + random() % 4;
    std::vector<Fields> rows;
    std::string text;
    for (size_t column = 0; column < columns; ++column) {
      text += (column == 0 ? "c" : ",c") + std::to_string(column);
    }
    for (size_t row = 0; row < random() % 5; ++row) {
      Fields& fields = rows.emplace_back();
      text += "\n";
      for (size_t column = 0; column < columns; ++column) {
        std::string& field = fields.emplace_back();
        std::string quoted = "\"";
        for (size_t length = random() % 5; length > 0; --length) {
          const char letter = letters[random() % letters.size()];
          field += letter;
          quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
        }
        const bool needs_quotes =
            field.find_first_of(",\"\n\r") != std::string::npos || (columns == 1 && field.empty());
        text += (column == 0 ? "" : ",") + (needs_quotes ? quoted + "\"" : field);
      }
    }
    const auto table = read_csv(text);
    ASSERT_TRUE(table) << table.error().text() << "\n" << text;
    std::vector<Fields> read;
    for (const CsvTable::Row& row : table->rows) {
      read.push_back(row.fields);
    }
    // A line of one empty field, even between quotes, is an empty one.
    std::erase_if(rows, [](const Fields& fields) { return fields.size() == 1 && fields[0].empty(); });
    EXPECT_EQ(read, rows) << text;
  }
}

}  // namespace
}  // namespace plimsoll::formats
