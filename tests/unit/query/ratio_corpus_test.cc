// Recordings of real hardware events through rows to answers: totals and ratios as a walk over their bytes has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/formats/perf_data/imported.h"
#include "tests/unit/formats/perf_data/record_walk.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

struct Recorded {
  const char* file;
  const char* numerator;
  const char* denominator;
};

void PrintTo(const Recorded& recorded, std::ostream* stream) {
  *stream << recorded.file;
}

class RecordedRatio : public ::testing::TestWithParam<Recorded> {
 protected:
  void SetUp() override {
    if (std::getenv("PLIMSOLL_CORPUS") == nullptr) {
      GTEST_SKIP() << "no corpus";
    }
    content_ = perf_data::corpus_file(GetParam().file);
    ASSERT_FALSE(content_.empty());
    counts_ = perf_data::Walk(content_).counts();
    fleet_.add(perf_data::import_of(content_).profile);
  }

  std::string ratio() const { return fmt::format("{}/{}", GetParam().numerator, GetParam().denominator); }

  static double sum(const Table& table, std::string_view column) {
    double sum = 0;
    for (const auto& row : table.rows) {
      sum += std::get<double>(row.at(column_of(table, column)));
    }
    return sum;
  }

  std::string content_;
  perf_data::Counts counts_;
  Fleet fleet_;
};

TEST_P(RecordedRatio, TopHasTheTotalsOfEachEvent) {
  for (const auto& [event, counted] : counts_) {
    const auto table = fleet_.top({{"event", event}, {"by", "app"}, {"limit", "1000"}});
    ASSERT_TRUE(table) << table.error().text();
    const auto occurrences = static_cast<double>(counted.occurrences);
    EXPECT_NEAR(sum(*table, "self"), occurrences, 1e-9 * occurrences) << event;
    EXPECT_EQ(table->coverage.samples, counted.samples) << event;
  }
}

TEST_P(RecordedRatio, IsThatOfTheTotals) {
  const auto& numerator = counts_.at(GetParam().numerator);
  const auto& denominator = counts_.at(GetParam().denominator);
  const auto table = fleet_.top({{"ratio", ratio()}, {"by", "machine"}});
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows.size(), 1);
  const double expected =
      static_cast<double>(numerator.occurrences) / static_cast<double>(denominator.occurrences);
  EXPECT_NEAR(sum(*table, "ratio"), expected, 1e-9 * expected);
  EXPECT_EQ(table->coverage.samples, numerator.samples + denominator.samples);
}

TEST_P(RecordedRatio, OfFunctionsAddsUpToTheSameTotals) {
  const auto table = fleet_.top({{"ratio", ratio()}, {"by", "app,function"}, {"limit", "100000"}});
  ASSERT_TRUE(table) << table.error().text();
  for (const auto& [column, event] :
       {std::pair("numerator", GetParam().numerator), std::pair("denominator", GetParam().denominator)}) {
    const auto occurrences = static_cast<double>(counts_.at(event).occurrences);
    EXPECT_NEAR(sum(*table, column), occurrences, 1e-9 * occurrences) << event;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recordings, RecordedRatio,
    ::testing::Values(Recorded{"perf_data/perf.data.piped.target-3.8", "instructions", "cycles"},
                      Recorded{"perf_data/perf.data.throttle-3.8", "instructions", "cycles"},
                      Recorded{"perf_data/perf.data.lost_samples-4.4", "instructions:pp", "cycles:pp"},
                      Recorded{"perf_data/perf.data.group_desc-4.14", "branch-misses", "cache-references"},
                      Recorded{"perf_data/perf.data.hw_and_sw-3.4", "cycles", "cpu-clock"}),
    [](const auto& tested) {
      std::string name = tested.param.file;
      std::ranges::replace_if(
          name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
      return name;
    });

}  // namespace
}  // namespace plimsoll::query
