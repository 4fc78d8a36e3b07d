// The view of leaks, on snapshots of heaps in a store. What is chance is statistics/growth_test.cc's.
#include "query/views/leaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/time.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query::leaks_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Leaks : public ::testing::Test {
 protected:
  // A snapshot of a program's heap, so many hours after the first. Leaks an object of 1 KiB each hour in parse.cc, since its start.
  void add_snapshot(int hour, int started = 0, const std::string& machine = "m1", double leak = 1) {
    const double wave = std::sin(2 * std::numbers::pi * hour / 24);
    const int age = hour - started;
    wire::RawProfile profile = make_profile(
        {.seed = ++seed_,
         .machine = machine,
         .from_ns = kProfileStartNs + hour * kNsPerHour,
         .events = {{.name = "heap-inuse-bytes", .scale = 1024, .unit = wire::BYTES, .kind = wire::SNAPSHOT},
                    {.name = "alloc-bytes", .unit = wire::BYTES}},
         .job = "search",
         .stacks = fmt::format("main;serve@serve.cc:7 {}\nmain;cache@cache.cc:9 {}\n"
                               "main;parse@parse.cc:12;malloc {}\nevent=alloc-bytes main 1\n",
                               2000 + std::lround(1000 * wave), age < 6 ? 1200 * (age + 1) : 8000,
                               100 + std::lround(leak * age))});
    profile.mutable_assignment()->set_id("scrape:127.0.0.1:6060/debug/pprof/heap");
    ASSERT_TRUE(fleet_.ingest().accept(as_bytes(wire::encode(profile)), {}));
  }

  Result<Table> ask(const Parameters& parameters) {
    const auto request = parse_leaks(parameters, 0);
    if (!request) {
      return propagate(request);
    }
    while (fleet_.ingest().build_pending()->profiles > 0) {
    }
    const auto snapshot = Snapshot::load(fleet_.path());
    return snapshot ? leaks(*request, **snapshot) : Result<Table>(propagate(snapshot));
  }

  // "parse parse.cc:12 grows 24 KiB a day", by row.
  std::vector<std::string> found(const Parameters& parameters) {
    const auto table = ask(parameters);
    if (!table) {
      return {table.error().text()};
    }
    std::vector<std::string> rows;
    for (const auto& row : table->rows) {
      const auto text = [&](const char* column) {
        return std::get<std::string>(row[column_of(*table, column)]);
      };
      const auto* growth = std::get_if<double>(&row[column_of(*table, "growth_per_day")]);
      rows.push_back(fmt::format("{} {} {}{}", text("function"), text("line"), text("verdict"),
                                 growth == nullptr ? "" : fmt::format(" {:.0f} KiB a day", *growth / 1024)));
    }
    return rows;
  }

  Fleet fleet_;
  uint64_t seed_ = 0;
};

TEST_F(Leaks, AreNamedWithFunctionFileAndLine) {
  for (int hour = 0; hour <= 14 * 24; hour += 2) {
    add_snapshot(hour);
  }
  EXPECT_THAT(found({}), ElementsAre("parse parse.cc:12 grows 24 KiB a day"));
  EXPECT_THAT(found({{"all", "yes"}}),
              ElementsAre("parse parse.cc:12 grows 24 KiB a day", HasSubstr("cache cache.cc:9 may be chance"),
                          HasSubstr("serve serve.cc:7 may be chance")));
  const auto table = ask({});
  EXPECT_EQ(table->columns[column_of(*table, "growth_per_day")].unit, "bytes");
  EXPECT_THAT(table->notes, Contains(HasSubstr("the 3 largest of 3 rows, over 13 steps of 1d, 1 processes")));
  EXPECT_NEAR(std::get<double>(table->rows[0][column_of(*table, "in_use")]) / 1024, 100 + 13.5 * 24, 2);
}

TEST_F(Leaks, ProcessesThatRestartBeginAgain) {
  for (int hour = 0; hour <= 14 * 24; hour += 2) {
    add_snapshot(hour, hour / 100 * 100);
  }
  EXPECT_THAT(found({}), ElementsAre("parse parse.cc:12 grows 24 KiB a day"));
}

TEST_F(Leaks, OfSeveralMachinesAddUp) {
  for (int hour = 0; hour <= 14 * 24; hour += 4) {
    add_snapshot(hour, 0, "m1");
    add_snapshot(hour, 0, "m2", 2);
  }
  EXPECT_THAT(found({}), ElementsAre("parse parse.cc:12 grows 72 KiB a day"));
  EXPECT_THAT(found({{"where", "machine=m2"}}), ElementsAre("parse parse.cc:12 grows 48 KiB a day"));
}

TEST_F(Leaks, AProgramWithoutOneIsNotAccused) {
  for (int hour = 0; hour <= 14 * 24; hour += 2) {
    add_snapshot(hour, 0, "m1", 0);
  }
  EXPECT_THAT(found({}), IsEmpty());
  EXPECT_THAT(ask({})->notes, Contains(HasSubstr("no row grows by more than chance")));
}

TEST_F(Leaks, OfAShortTimeAreNotKnown) {
  for (int hour = 0; hour <= 24; ++hour) {
    add_snapshot(hour);
  }
  EXPECT_THAT(found({}), IsEmpty());
  EXPECT_THAT(ask({})->notes, Contains(HasSubstr("too short to tell")));
  EXPECT_THAT(found({{"all", "yes"}, {"limit", "1"}}), ElementsAre(HasSubstr("too short")));
  EXPECT_THAT(found({{"period", "2h"}}), Contains(HasSubstr("parse parse.cc:12 grows")));
}

TEST_F(Leaks, AreOfEventsOfSnapshots) {
  add_snapshot(0);
  EXPECT_THAT(found({{"event", "alloc-bytes"}}), ElementsAre(HasSubstr("adds up over time")));
  EXPECT_THAT(found({{"where", "job=none"}}), ElementsAre(HasSubstr("no samples")));
  EXPECT_THAT(found({{"period", "0"}}), ElementsAre(HasSubstr("period")));
}

}  // namespace
}  // namespace plimsoll::query::leaks_test
