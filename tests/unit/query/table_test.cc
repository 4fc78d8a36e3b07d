#include "query/table/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/time.h"
#include "tests/start.h"

namespace plimsoll::query {
namespace {

using plimsoll::testing::kNoonNs;

using ::testing::EndsWith;
using ::testing::HasSubstr;

Table small_table() {
  return {
      .event = "cycles",
      .notes = {"no PMU: cpu-clock stands in for cycles"},
      .columns = {{"function", ""}, {"self", "ns"}, {"self_share", "share"}, {"self_share_margin", "share"}},
      .rows = {{"main", 1.5e9, 0.75, std::monostate()}, {"größer::als", 250e3, 0.25, std::monostate()}},
      .coverage = {.from_ns = kNoonNs,
                   .to_ns = kNoonNs + 10 * kNsPerSecond + 5,
                   .machines_drawn = 2,
                   .machines_live = 3,
                   .samples = 40,
                   .lost = 1,
                   .unsymbolized_share = 0.125}};
}

TEST(TableText, NamesDoNotCommandTheTerminal) {
  Table table = small_table();
  table.rows[0][0] = "\x1b[2Jma\nin\x7f";
  table.notes = {"app=\x1b]0;title\a is not known"};
  table.coverage.unsymbolized_by = {{.binary = "b\x1b[31m", .build_id = "", .share = 0.5, .reason = ""}};
  const std::string text = to_text(table);
  EXPECT_THAT(text, HasSubstr("?[2Jma?in?"));
  EXPECT_THAT(text, HasSubstr("no symbols for: b?[31m 50.0 %"));
  EXPECT_EQ(text.find_first_of("\x1b\a\x7f"), std::string::npos);
  table.columns[1].name = "cpu\x1b[2J/";  // events beside each other are columns
  EXPECT_THAT(to_text(table), HasSubstr("cpu?[2J/"));
}

TEST(TableText, IsAlignedWithNumbersFirstAndWithoutAbsentColumns) {
  EXPECT_EQ(to_text(small_table()),
            "note: no PMU: cpu-clock stands in for cycles\n"
            "cycles: 40 samples, 1 lost, of 2 of 3 machines, 2023-11-15T12:00:00Z to 2023-11-15T12:00:10Z; "
            "12.5 % without symbols\n"
            "  self  self_share  function\n"
            " 1.5 s     75.00 %  main\n"
            "250 us     25.00 %  größer::als\n");
}

TEST(TableText, CountsCharactersNotBytes) {
  Table table = small_table();
  table.columns = {{"function", ""}, {"machine", ""}};
  table.rows = {{"größer", "m1"}, {"日本語の関数名です", "m2"}, {"plain", "m3"}};
  EXPECT_THAT(to_text(table), EndsWith("function   machine\n"
                                       "größer     m1\n"
                                       "日本語の関数名です  m2\n"
                                       "plain      m3\n"));
}

TEST(TableText, ClipsLongNamesBeforeOtherColumnsButNotTheLast) {
  Table table = small_table();
  const std::string sixty(60, 'n');
  table.columns = {{"function", ""}, {"binary", ""}};
  table.rows = {{sixty, sixty + "x"}, {std::string(58, 'n') + "ßxy", "short"}};
  EXPECT_THAT(to_text(table),
              EndsWith("\n" + sixty + "  " + sixty + "x\n" + std::string(58, 'n') + "ß…  short\n"));
}

TEST(TableText, AMarginThatOneRowHasIsShownAndMissesInTheOthers) {
  Table table = small_table();
  table.rows[1][3] = 0.0123;
  EXPECT_THAT(to_text(table), EndsWith("  self  self_share     ±  function\n"
                                       " 1.5 s     75.00 %        main\n"
                                       "250 us     25.00 % ±1.23  größer::als\n"));
}

TEST(TableText, EndsOfIntervalsAreLeftOutAndKindsOfMarginsSummedUp) {
  Table table = small_table();
  table.columns = {{"job", ""},
                   {"ipc", "per cycle"},
                   {"ipc_margin", "per cycle"},
                   {"ipc_low", "per cycle"},
                   {"ipc_high", "per cycle"},
                   {"ipc_margin_kind", ""},
                   {"low", "count"}};
  table.rows = {
      {"web", 1.25, 0.5, 0.8, 1.8, "between machines", int64_t{1}},
      {"db", 0.75, std::monostate(), std::monostate(), std::monostate(), "too few machines", int64_t{2}}};
  EXPECT_THAT(to_text(table), EndsWith(" ipc    ±  low  job\n1.25 ±0.5    1  web\n0.75         2  db\n± is a "
                                       "95 % margin; of the values, 1 have none (too few machines).\n"));
  table.rows.pop_back();
  EXPECT_THAT(to_text(table), EndsWith("\n± is a 95 % margin.\n"));
}

TEST(TableText, OnATerminalTheFirstShareHasBarsUpToTheLargest) {
  EXPECT_THAT(to_text(small_table(), {.width = 100}),
              EndsWith("  self  self_share              function\n"
                       " 1.5 s     75.00 %  ██████████  main\n"
                       "250 us     25.00 %  ███▍        größer::als\n"));
}

TEST(TableText, ComparisonsHaveNoBars) {
  Table table = small_table();
  table.columns.push_back({"self_change", "share"});
  for (auto& row : table.rows) {
    row.emplace_back(0.5);
  }
  EXPECT_EQ(to_text(table, {.width = 100}), to_text(table));
}

TEST(TableText, SaysWhichColumnsANarrowTerminalHasNoRoomFor) {
  EXPECT_THAT(to_text(small_table(), {.width = 20}),
              EndsWith("  self  function\n 1.5 s  main\n250 us  größer::als\nhidden columns (terminal too "
                       "narrow): self_share; --csv and --json have all columns\n"));
}

TEST(TableText, OnANarrowTerminalTheMostImportantColumnsStay) {
  const Table table{.event = "",
                    .notes = {},
                    .columns = {{"function", "", kAlwaysShown},
                                {"base_share", "share", kDetail},
                                {"new_share", "share", kDetail},
                                {"change", "share", kAlwaysShown},
                                {"change_margin", "share"},
                                {"remark", "", kMinorDetail},
                                {"machines", "count"}},
                    .rows = {{"main", 0.25, 0.5, 0.25, 0.01, "recompiled", int64_t{7}},
                             {"lex", 0.75, 0.5, -0.25, 0.02, std::monostate(), int64_t{7}}},
                    .coverage = {}};
  EXPECT_EQ(to_text(table),
            "base_share  new_share    change     ±  machines  function  remark\n"
            "   25.00 %    50.00 %   25.00 % ±1.00         7  main      recompiled\n"
            "   75.00 %    50.00 %  -25.00 % ±2.00         7  lex       -\n");
  EXPECT_EQ(to_text(table, {.width = 46}),
            "base_share    change     ±  machines  function\n"
            "   25.00 %   25.00 % ±1.00         7  main\n"
            "   75.00 %  -25.00 % ±2.00         7  lex\n"
            "hidden columns (terminal too narrow): new_share, remark; --csv and --json have all columns\n");
  EXPECT_EQ(to_text(table, {.width = 10}),
            "  change     ±  function\n"
            " 25.00 % ±1.00  main\n"
            "-25.00 % ±2.00  lex\n"
            "hidden columns (terminal too narrow): base_share, new_share, machines, remark; --csv and --json "
            "have all columns\n");
}

TEST(TableText, ColumnsThatAreEmptyInEveryRowAreLeftOut) {
  const Table table{
      .event = "",
      .notes = {},
      .columns = {{"machine", ""}, {"rack", ""}, {"owner", ""}, {"cores", "CPUs"}},
      .rows = {{"m1", "", "web", std::monostate()}, {"m2", std::monostate(), "", std::monostate()}},
      .coverage = {}};
  EXPECT_EQ(to_text(table),
            "machine  owner\n"
            "m1       web\n"
            "m2       \n");
}

TEST(TableText, ColoursSetVerdictsApart) {
  Table table = small_table();
  table.columns = {{"self_verdict", ""}, {"function", ""}};
  table.rows = {{"more", "f"}, {"less", "g"}, {"may be chance", "h"}};
  EXPECT_THAT(to_text(table, {.has_colors = true}),
              EndsWith("\x1b[1mself_verdict \x1b[0m  \x1b[1mfunction\x1b[0m\n"
                       "\x1b[31mmore         \x1b[0m  f\n"
                       "\x1b[32mless         \x1b[0m  g\n"
                       "\x1b[2mmay be chance\x1b[0m  h\n"));
}

TEST(TableText, WithoutRowsStillNamesItsColumns) {
  Table table = small_table();
  table.rows.clear();
  table.coverage.machines_live = 1;
  EXPECT_THAT(to_text(table), HasSubstr("of 2 of 1 machine, "));
  EXPECT_THAT(to_text(table), EndsWith("self  self_share ±  function\n"));
}

struct ReadableCase {
  double value;
  const char* unit;
  const char* text;
};

class TableUnits : public ::testing::TestWithParam<ReadableCase> {};

TEST_P(TableUnits, AreChosenByMagnitude) {
  Table table = small_table();
  table.columns = {{"v", GetParam().unit}};
  table.rows = {{GetParam().value}};
  EXPECT_THAT(to_text(table), EndsWith(fmt::format("{}\n", GetParam().text)));
}

INSTANTIATE_TEST_SUITE_P(
    Values, TableUnits,
    ::testing::Values(ReadableCase{0, "ns", "0 ns"}, ReadableCase{999, "ns", "999 ns"},
                      ReadableCase{1000, "ns", "1 us"}, ReadableCase{1.25e6, "ns", "1.25 ms"},
                      ReadableCase{7.2e12, "ns", "7200 s"}, ReadableCase{1023, "bytes", "1023 B"},
                      ReadableCase{1536, "bytes", "1.5 KiB"}, ReadableCase{3 << 20, "bytes", "3 MiB"},
                      ReadableCase{5e9, "bytes", "4.657 GiB"}, ReadableCase{12, "count", "12"},
                      ReadableCase{12345, "count", "12.35 k"}, ReadableCase{2e6, "count", "2 M"},
                      ReadableCase{4.5e10, "count", "45 G"}, ReadableCase{0.00004, "share", "0.00 %"},
                      ReadableCase{1, "share", "100.00 %"}));

TEST(TableCsv, HasAHeaderAndUnroundedValues) {
  Table table = small_table();
  table.rows[0][1] = 1.0 / 3;
  table.rows[1][1] = int64_t{9'007'199'254'740'993};
  EXPECT_EQ(to_csv(table),
            "function,self,self_share,self_share_margin\r\n"
            "main,0.3333333333333333,0.75,\r\n"
            "größer::als,9007199254740993,0.25,\r\n");
}

TEST(TableCsv, QuotesWhatWouldBreakARow) {
  Table table;
  table.columns = {{"function", ""}, {"file, or none", ""}};
  table.rows = {{"operator,(A, B)", "a\"b\".cc"}, {"two\nlines", "cr\rhere"}, {"a;b c'd", ""}};
  EXPECT_EQ(to_csv(table),
            "function,\"file, or none\"\r\n"
            "\"operator,(A, B)\",\"a\"\"b\"\".cc\"\r\n"
            "\"two\nlines\",\"cr\rhere\"\r\n"
            "a;b c'd,\r\n");
}

TEST(TableJson, IsOneDocument) {
  Table table = small_table();
  table.rows.resize(1);
  EXPECT_EQ(to_json(table), R"({
  "event": "cycles",
  "notes": [
    "no PMU: cpu-clock stands in for cycles"
  ],
  "columns": [
    {
      "name": "function",
      "unit": ""
    },
    {
      "name": "self",
      "unit": "ns"
    },
    {
      "name": "self_share",
      "unit": "share"
    },
    {
      "name": "self_share_margin",
      "unit": "share"
    }
  ],
  "rows": [
    {
      "function": "main",
      "self": 1500000000.0,
      "self_share": 0.75,
      "self_share_margin": null
    }
  ],
  "coverage": {
    "from": "2023-11-15T12:00:00Z",
    "to": "2023-11-15T12:00:10.000000005Z",
    "machines_drawn": 2,
    "machines_live": 3,
    "samples": 40,
    "lost": 1,
    "stackless_share": 0.0,
    "unsymbolized_share": 0.125,
    "unsymbolized_by": []
  }
}
)");
}

TEST(TableJson, IsReadBackAsItWas) {
  Table table = small_table();
  table.rows.push_back({"quote \" backslash \\ newline \n tab \t nul \x01", int64_t{7}, 1.0 / 3, 0.0});
  table.rows.push_back({"", 1e300, 0.0, std::monostate()});
  const auto read = from_json(to_json(table));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->event, table.event);
  EXPECT_EQ(read->notes, table.notes);
  EXPECT_EQ(read->rows, table.rows);
  EXPECT_EQ(to_json(*read), to_json(table));
  EXPECT_EQ(to_text(*read), to_text(table));
}

TEST(TableJson, BytesThatAreNotTextAreReplaced) {
  Table table = small_table();
  table.columns.resize(1);
  table.rows = {{"bad \xFF\xFE bytes"}, {"cut \xC3"}, {std::string("a\0b", 3)}};
  const auto read = from_json(to_json(table));
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->rows, (std::vector<std::vector<Value>>{
                            {"bad \uFFFD\uFFFD bytes"}, {"cut \uFFFD"}, {std::string("a\0b", 3)}}));
}

TEST(TableJson, WhatIsNoTableIsAnError) {
  for (const char* text :
       {"", "null", "[]", "{", "\"table\"", "{\"columns\": [], \"rows\": []}",
        R"({"columns": 1, "rows": [], "coverage": {}})", R"({"columns": [], "rows": {}, "coverage": {}})"}) {
    const auto read = from_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kCorrupt);
  }
}

TEST(TableJson, MissingPartsAreAbsent) {
  const auto read = from_json(
      R"({"columns": [{"name": "app"}, 3], "rows": [{"app": "db"}, {}, 7], "coverage": 0, "notes": [1, "n"]})");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->notes, (std::vector<std::string>{"", "n"}));
  EXPECT_EQ(read->rows, (std::vector<std::vector<Value>>{{"db", std::monostate()},
                                                         {std::monostate(), std::monostate()},
                                                         {std::monostate(), std::monostate()}}));
  EXPECT_EQ(read->coverage.samples, 0);
}

TEST(TableForms, AreThoseThree) {
  const Table table = small_table();
  EXPECT_EQ(to_form(table, TableForm::kText), to_text(table));
  EXPECT_EQ(to_form(table, TableForm::kJson), to_json(table));
  EXPECT_EQ(to_form(table, TableForm::kCsv), to_csv(table));
}

}  // namespace
}  // namespace plimsoll::query
