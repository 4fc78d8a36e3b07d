// Machines that were drawn and sent nothing, in what is asked of those that did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "store/draws/draw_store.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class ResponsesTest : public ::testing::Test {
 protected:
  // A draw of strata with so many machines each, of which so many were drawn.
  struct Stratum {
    std::string name;
    int64_t machines = 0;
    int64_t drawn = 0;
  };
  void draw(const std::string& id, const std::vector<Stratum>& strata) {
    store::DrawWithMachines made;
    made.draw.id = id;
    for (const Stratum& stratum : strata) {
      made.draw.strata.push_back({.name = stratum.name,
                                  .machines = stratum.machines,
                                  .expected = static_cast<double>(stratum.drawn),
                                  .drawn = stratum.drawn,
                                  .drawn_weight = static_cast<double>(stratum.machines)});
    }
    auto store = store::DrawStore::open(fleet_.path() + "/draws.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(store->add(made));
  }
  // A machine's profile: so many cycles in the whole of the draw's interval.
  void answer(const std::string& draw, const std::string& machine, const Stratum& stratum, int cycles) {
    wire::RawProfile profile = make_profile({.seed = ++seed_,
                                             .machine = machine,
                                             .length_ns = 1'000'000'000,
                                             .stacks = fmt::format("main;{} {}\n", machine, cycles)});
    wire::Draw& of = *profile.mutable_assignment()->mutable_draw();
    of.set_id(draw);
    of.set_stratum(stratum.name);
    of.set_inclusion_probability(static_cast<double>(stratum.drawn) / static_cast<double>(stratum.machines));
    of.set_interval_ns(1'000'000'000);
    fleet_.add(profile);
  }
  double total(const Parameters& parameters = {}) const {
    const auto table = fleet_.top(parameters);
    double sum = 0;
    for (const auto& row : table->rows) {
      sum += std::get<double>(row[column_of(*table, "self")]);
    }
    return sum;
  }

  Fleet fleet_;
  uint64_t seed_ = 0;
};

TEST_F(ResponsesTest, ThoseThatAnsweredStandForAllOfTheirStratum) {
  const Stratum a{"a", 12, 4};
  const Stratum b{"b", 6, 3};
  draw("d1", {a, b});
  for (const char* machine : {"a1", "a2", "a3", "a4"}) {
    answer("d1", machine, a, 10);
  }
  answer("d1", "b1", b, 100);
  // b1 alone stands for the two silent ones as well: for 6 machines, not for 2.
  EXPECT_DOUBLE_EQ(total(), 12 * 10 + 6 * 100);
  EXPECT_THAT(fleet_.top({})->notes, Contains(HasSubstr("2 of 7 drawn machines")));
  // Whatever is asked about.
  EXPECT_DOUBLE_EQ(total({{"where", "machine=b1"}}), 600);
  EXPECT_DOUBLE_EQ(total({{"where", "machine=a1"}}), 30);
  EXPECT_THAT(fleet_.top({{"where", "machine=a1"}})->notes, Not(Contains(HasSubstr("drawn"))));
}

TEST_F(ResponsesTest, ASilentStratumIsStoodForByItsNeighbourInTheSameDraw) {
  const Stratum a{"a", 10, 2};
  const Stratum b{"b", 30, 3};
  draw("d1", {a, b});
  draw("d2", {a, b});
  answer("d1", "a1", a, 1);
  answer("d1", "a2", a, 1);
  answer("d2", "a1", a, 1);
  answer("d2", "a2", a, 1);
  answer("d2", "b1", b, 1);
  EXPECT_DOUBLE_EQ(total(), 40 + 40) << "each draw speaks for all machines of its time";
  EXPECT_THAT(fleet_.top({})->notes, Contains(HasSubstr("5 of 10 drawn machines")));
}

TEST_F(ResponsesTest, WhatIsOfNoKnownDrawAnswersForItself) {
  draw("another", {{"a", 100, 10}});
  answer("unknown", "m1", {"a", 4, 2}, 10);
  fleet_.add({.seed = 77, .machine = "continuous", .stacks = "main;always 5\n"});
  EXPECT_DOUBLE_EQ(total(), 2 * 10 + 5);
}

// By a simple model: every total is the sum of the strata's machines times the mean of what answered.
TEST_F(ResponsesTest, RandomDrawsAddUpToTheFleet) {
  std::mt19937_64 random(20'261'123);
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  };
  double expected = 0;
  for (int number = 0; number < 20; ++number) {
    std::vector<Stratum> strata;
    for (const char* name : {"a", "b", "c"}) {
      const int64_t machines = 1 + below(40);
      strata.push_back({name, machines, 1 + below(std::min<int64_t>(machines, 5))});
    }
    const std::string id = fmt::format("d{:02}", number);
    draw(id, strata);
    for (const Stratum& stratum : strata) {
      const int64_t answers = 1 + below(stratum.drawn);
      int64_t sum = 0;
      for (int64_t machine = 0; machine < answers; ++machine) {
        const int64_t cycles = 1 + below(100);
        answer(id, fmt::format("{}{}", stratum.name, machine), stratum, static_cast<int>(cycles));
        sum += cycles;
      }
      expected += static_cast<double>(stratum.machines * sum) / static_cast<double>(answers);
    }
  }
  EXPECT_NEAR(total({{"limit", "1000"}}), expected, 1e-9 * expected);
}

}  // namespace
}  // namespace plimsoll::query
