#include <gtest/gtest.h>

#include <array>

#include "daemon/events/event_names.h"
#include "daemon/events/pmu_terms.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"

namespace plimsoll::perf {
namespace {

constexpr int kMutations = 10'000;

int set_bits(const FormatField& field) {
  int bits = 0;
  for (const FormatField::Bits& range : field.ranges) {
    EXPECT_TRUE(0 <= range.first && range.first <= range.last && range.last < 64);
    bits += range.last - range.first + 1;
  }
  return bits;
}

// Whatever the text: terms have names, fields lie within 64 bits, and a value goes in where it fits.
TEST(FuzzPmuTerms, DamagedTextsFillNothingButTheirFields) {
  constexpr std::array<std::string_view, 4> kFormats{"config:0-7,32-35", "config1:0-63", "config2:18",
                                                     "config:0-3,21,24-31"};
  std::mt19937_64 random(fuzz::seed(1));
  int filled = 0;
  for (int i = 0; i < kMutations; ++i) {
    const auto field = parse_format(fuzz::mutated(kFormats[random() % kFormats.size()], random));
    if (!field) {
      continue;
    }
    EventCode code;
    const bool fits = fill_field(*field, 1, code).has_value();
    EXPECT_EQ(fits, set_bits(*field) > 0);
    EXPECT_NE(code, EventCode{});
    ++filled;
  }
  EXPECT_GT(filled, kMutations / 100);
}

TEST(FuzzPmuTerms, DamagedNamesAreToldApartOrRefused) {
  constexpr std::array<std::string_view, 4> kNames{"cpu/event=0x3c,umask=0x1,edge,name=x/:1000",
                                                   "sched:sched_switch:7", "r01c2", "LLC-load-misses"};
  std::mt19937_64 random(fuzz::seed(2));
  int described = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string text = fuzz::mutated(kNames[random() % kNames.size()], random);
    for (const std::string& name : split_names(text)) {
      EXPECT_FALSE(name.empty());
      const auto split = split_period(name);
      if (split && describe_event(split->name)) {
        ++described;
        EXPECT_TRUE(split->period == 0 || name.ends_with(std::to_string(split->period)));
      }
    }
    if (const auto terms = parse_terms(text)) {
      for (const Term& term : *terms) {
        EXPECT_FALSE(term.name.empty());
      }
    }
  }
  EXPECT_GT(described, kMutations / 20);
}

}  // namespace
}  // namespace plimsoll::perf
