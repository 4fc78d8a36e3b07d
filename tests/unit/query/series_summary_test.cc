#include "query/views/series_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::query {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const TextStyle kTerminal{.width = 80, .has_blocks = true};

// As series() answers: per step and row. A share that is absent: the step has no samples at all.
Table series_of(const std::vector<std::tuple<std::string, std::string, Value>>& rows) {
  Table table{.event = "cycles",
              .notes = {},
              .columns = {{"time", ""},
                          {"machines", "count"},
                          {"function", ""},
                          {"self_share", "share"},
                          {"self_share_margin_kind", ""},
                          {"total_share", "share"}},
              .rows = {},
              .coverage = {}};
  for (const auto& [time, function, share] : rows) {
    table.rows.push_back(
        {"2026-11-22T" + time + ":00Z", int64_t{2}, function, share, "too few samples", 0.9});
  }
  return table;
}

TEST(SeriesSummary, HasALinePerRowInTheOrderOfTheSeries) {
  const Table series = series_of({{"00:00", "lex", 0.25},
                                  {"00:00", "copy", 0.125},
                                  {"01:00", "lex", 0.5},
                                  {"01:00", "copy", 0.0},
                                  {"02:00", "lex", 0.375},
                                  {"02:00", "copy", 0.0625}});
  EXPECT_THAT(to_text(*series_summary(series, kTerminal), kTerminal),
              EndsWith("   mean      min      max     last  over_time  function\n"
                       "37.50 %  25.00 %  50.00 %  37.50 %        ▅█▇  lex\n"
                       " 6.25 %   0.00 %  12.50 %   6.25 %        █▁▅  copy\n"));
}

TEST(SeriesSummary, StepsWithoutProfilesAreMissingInTheLine) {
  const Table series = series_of(
      {{"00:00", "lex", 0.4}, {"01:00", "lex", 0.4}, {"04:00", "lex", 0.2}, {"05:00", "lex", Value()}});
  EXPECT_THAT(to_text(*series_summary(series, kTerminal), kTerminal),
              EndsWith("33.33 %  20.00 %  40.00 %     ██··▅·  lex\n"));
}

TEST(SeriesSummary, ARowWithoutAnyValueHasNone) {
  const Table series = series_of({{"00:00", "lex", Value()}, {"00:00", "copy", 0.5}});
  EXPECT_THAT(to_text(*series_summary(series, kTerminal), kTerminal),
              AllOf(HasSubstr("\n      -        -        -        -          ·  lex\n"),
                    HasSubstr("50.00 %          █  copy\n")));
}

TEST(SeriesSummary, LinesFitTheTerminal) {
  std::vector<std::tuple<std::string, std::string, Value>> rows;
  for (int minute = 0; minute < 40; ++minute) {
    rows.emplace_back(fmt::format("00:{:02}", minute), "a_function_of_a_long_name", minute < 20 ? 0.1 : 0.2);
  }
  const Table series = series_of(rows);
  const auto line_of = [&](size_t width) {
    const TextStyle style{.width = width, .has_blocks = true};
    const std::string text = to_text(*series_summary(series, style), style);
    return text.substr(text.find("%  ") == std::string::npos ? 0 : text.rfind("%  "));
  };
  EXPECT_THAT(line_of(200), HasSubstr("  ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅████████████████████  a_function"));
  EXPECT_THAT(line_of(80), HasSubstr("  ▅▅▅▅▅▅▅▅▅▅██████████  a_function"));
  // The line stays whole; numbers go, and --csv does not have them.
  EXPECT_THAT(line_of(30), EndsWith("\nhidden columns (terminal too narrow): min, max, last\n"));
  EXPECT_THAT(line_of(30), HasSubstr("  ▅▅▅▅▅█████  a_fun"));
}

TEST(SeriesSummary, WithoutBlocksThereAreNumbersOnly) {
  const Table series = series_of({{"00:00", "lex", 0.2}, {"01:00", "lex", 0.4}});
  const std::string text = to_text(*series_summary(series, {}), {});
  EXPECT_THAT(text, EndsWith("   mean      min      max     last  function\n"
                             "30.00 %  20.00 %  40.00 %  40.00 %  lex\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("--long lists every step"), Not(HasSubstr("over_time"))));
}

TEST(SeriesSummary, TimesFarApartNeedNoMoreThanTheyHave) {
  Table series = series_of({{"00:00", "lex", 0.2}, {"00:01", "lex", 0.4}, {"00:02", "lex", 0.4}});
  series.rows[0][0] = "1970-01-01T00:00:00Z";
  series.rows[2][0] = "2199-01-01T00:00:01Z";
  EXPECT_THAT(to_text(*series_summary(series, kTerminal), kTerminal),
              HasSubstr(" ▅······█·····················█  lex\n"));
}

TEST(SeriesSummary, AnAnswerOfAnotherShapeIsRefused) {
  Table other = series_of({{"00:00", "lex", 0.2}});
  other.columns[3].name = "share";
  EXPECT_THAT(series_summary(other, kTerminal).error().text(),
              HasSubstr("no column \"self_rate\": is the server another version?"));
  Table late = series_of({{"late", "lex", 0.2}});
  EXPECT_THAT(series_summary(late, kTerminal).error().text(),
              HasSubstr("has the time \"2026-11-22Tlate:00Z\""));
}

}  // namespace
}  // namespace plimsoll::query
