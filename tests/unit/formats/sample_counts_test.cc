#include "formats/sample_counts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "formats/to_raw_profile.h"
#include "proto/profile_codec.h"

namespace plimsoll::formats {
namespace {

using Rows = std::vector<std::vector<int64_t>>;

// A profile of rows, each on a stack of its own.
ApplicationProfile application_of(std::vector<ValueType> types, const Rows& rows, ValueType period_type = {},
                                  int64_t period = 0) {
  ApplicationProfile profile;
  profile.types = std::move(types);
  profile.texts = {""};
  profile.period_type = std::move(period_type);
  profile.period = period;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    profile.locations.push_back({.address = 0x1000 + row});
    profile.samples.add(std::span(&row, 1), rows[row]);
  }
  return profile;
}

wire::RawProfile raw_of(const ApplicationProfile& application) {
  wire::RawProfile raw;
  raw.add_processes();
  raw.add_threads();
  OwnMappings places(application.mappings);
  EXPECT_TRUE(add_samples(application, places, raw));
  return raw;
}

// "EVENT: VALUE in SAMPLES samples"
std::string line_of(const wire::Event& event) {
  const uint64_t samples = event.samples() == 0 ? event.hits() : event.samples();
  return fmt::format("{}: {} in {} samples", event.name(),
                     wire::scale_of(event) * static_cast<double>(event.hits()), samples);
}

TEST(SampleCounts, OfACpuProfileAreItsCount) {
  const wire::RawProfile raw =
      raw_of(application_of({{"samples", "count"}, {"cpu", "nanoseconds"}},
                            {{6, 60'000'000}, {4, 40'000'000}}, {"cpu", "nanoseconds"}, 10'000'000));
  ASSERT_EQ(raw.events_size(), 2) << "all samples stand for as much: there are no squares";
  EXPECT_EQ(line_of(raw.events(0)), "samples: 10 in 10 samples");
  EXPECT_EQ(line_of(raw.events(1)), "app-cpu-ns: 100000000 in 10 samples");
  EXPECT_EQ(raw.samples(0).hits(1), 6);
}

TEST(SampleCounts, WithoutACountAreTheValueOverThePeriod) {
  const wire::RawProfile raw =
      raw_of(application_of({{"wall", "microseconds"}}, {{30'000}, {10'000}}, {"wall", "milliseconds"}, 10));
  EXPECT_EQ(line_of(raw.events(0)), "wall-ns: 40000000 in 4 samples");
}

TEST(SampleCounts, WithoutAPeriodAreTheRows) {
  const wire::RawProfile raw = raw_of(application_of({{"wall", "nanoseconds"}}, {{300}, {100}, {0}}));
  EXPECT_EQ(line_of(raw.events(0)), "wall-ns: 400 in 2 samples");
  ASSERT_EQ(raw.events_size(), 2);
  EXPECT_EQ(raw.events(1).name(), "wall-ns^2");
  EXPECT_EQ(raw.events(1).kind(), wire::SQUARES);
  EXPECT_NEAR(raw.events(1).counter_total(), 300 * 300 + 100 * 100, 1e-6);
}

// As converters from perf write them: cycles are counted, and are no samples.
TEST(SampleCounts, OfAnotherCountAreThoseOfTheTypeThatCounts) {
  const wire::RawProfile raw =
      raw_of(application_of({{"cycles", "count"}, {"samples", "count"}}, {{3'000'000, 3}, {1'000'000, 1}}));
  EXPECT_EQ(line_of(raw.events(0)), "cycles: 4000000 in 4 samples");
  EXPECT_EQ(line_of(raw.events(1)), "samples: 4 in 4 samples");
}

TEST(SampleCounts, OfACountThatIsSampledAreItsValueOverItsPeriod) {
  const wire::RawProfile raw =
      raw_of(application_of({{"contentions", "count"}, {"delay", "nanoseconds"}}, {{300, 900}, {100, 300}},
                            {"contentions", "count"}, 100));
  EXPECT_EQ(line_of(raw.events(0)), "lock-contentions: 400 in 4 samples");
  EXPECT_EQ(line_of(raw.events(1)), "lock-wait-ns: 1200 in 4 samples");
}

TEST(SampleCounts, OfNothingAreNone) {
  const wire::RawProfile raw = raw_of(application_of({{"wall", "nanoseconds"}}, Rows{{0}, {0}}));
  EXPECT_EQ(raw.events(0).hits(), 0);
  EXPECT_EQ(raw.events(0).samples(), 0);
}

// Above 2^53 doubles skip numbers: rows and their sum must agree all the same.
TEST(SampleCounts, LargeCountsStayWhatTheyAre) {
  constexpr int64_t kLarge = (int64_t{1} << 55) + 1;
  const wire::RawProfile raw = raw_of(application_of({{"cycles", "count"}}, {{kLarge}, {1}}));
  EXPECT_EQ(raw.events(0).hits(), static_cast<uint64_t>(kLarge) + 1);
  EXPECT_EQ(raw.samples(0).hits(0), kLarge);
}

TEST(SampleCounts, OfAHeapAreTheObjectsThatWereSampled) {
  const ApplicationProfile heap =
      application_of({{"inuse_objects", "count"}, {"inuse_space", "bytes"}},
                     {{1000, 1'000'000}, {10, 10'000'000}}, {"space", "bytes"}, 524'288);
  const SampleCounts counts(heap);
  EXPECT_NEAR(counts.behind(1, heap.samples.values(0)), 1000 * (1 - std::exp(-1000.0 / 524'288)), 1e-9);
  EXPECT_NEAR(counts.behind(0, heap.samples.values(1)), 10 * (1 - std::exp(-1e6 / 524'288)), 1e-9);
  const wire::RawProfile raw = raw_of(heap);
  EXPECT_EQ(line_of(raw.events(1)), "heap-inuse-bytes: 11000000 in 10 samples");
}

TEST(SampleCounts, OfWaitsAreTheContentions) {
  const wire::RawProfile raw = raw_of(
      application_of({{"contentions", "count"}, {"delay", "nanoseconds"}}, {{3, 900}, {1, 100}, {0, 50}}));
  EXPECT_EQ(line_of(raw.events(1)), "lock-wait-ns: 1050 in 5 samples");
}

}  // namespace
}  // namespace plimsoll::formats
