// The document of `plimsoll import --json`.
#include "cli/import_report.h"

#include <gtest/gtest.h>

#include <sstream>

namespace plimsoll::cli::import_report_test {
namespace {

TEST(ImportTable, HasARowForEachEventAndForEachFailure) {
  ImportTable document;
  document.add(
      "perf.data",
      {{.name = "cycles", .samples = 20, .lost = 1, .hits = 19, .value = 2e6, .unit = wire::COUNT},
       {.name = "cpu-clock", .samples = 5, .lost = 0, .hits = 5, .value = 5e8, .unit = wire::NANOSECONDS}});
  document.add_failure("README", fail(ErrorCode::kInvalid, "unknown profile format").error());
  document.add_note("stored 1 profiles (2 rows)");
  EXPECT_EQ(query::to_csv(document.table()),
            "file,event,samples,lost,hits,value,unit,error\r\n"
            "perf.data,cycles,20,1,19,2000000,count,\r\n"
            "perf.data,cpu-clock,5,0,5,500000000,ns,\r\n"
            "README,,,,,,,unknown profile format\r\n");
  const auto read = query::from_json(query::to_json(document.table()));
  ASSERT_TRUE(read) << "it has the shape of the views' tables";
  EXPECT_EQ(read->rows.size(), 3);
  EXPECT_EQ(read->notes, (std::vector<std::string>{"stored 1 profiles (2 rows)"}));
}

TEST(ImportTable, HasEachRowOnALineOfItsOwn) {
  ImportTable document;
  EXPECT_EQ(query::from_json(document.json_by_line())->rows.size(), 0);
  document.add("a\n{\x1b",
               {{.name = "cycles", .samples = 20, .lost = 1, .hits = 19, .value = 7, .unit = wire::COUNT}});
  document.add_failure("\xff", fail(ErrorCode::kInvalid, "unknown").error());
  const std::string text = document.json_by_line();
  const auto read = query::from_json(text);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(query::to_csv(*read), query::to_csv(*query::from_json(query::to_json(document.table()))));
  std::vector<std::string> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('{')) {
      rows.push_back(std::move(line));
    }
  }
  ASSERT_EQ(rows.size(), 2) << text;
  EXPECT_TRUE(rows[0].starts_with(R"({"file":"a\n{)") && rows[0].ends_with("}")) << rows[0];
}

}  // namespace
}  // namespace plimsoll::cli::import_report_test
