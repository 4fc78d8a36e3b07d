#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "symbolizer/worker/turns.h"
#include "tests/unit/symbolizer/binding_fixture.h"

namespace plimsoll::symbolizer::pending_test {
namespace {

using plimsoll::testing::add_sample;
using plimsoll::testing::make_profile;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class PendingTest : public BindingTest {
 protected:
  // A profile whose binaries have so many locations each.
  void ingest_of(uint64_t seed, const std::string& machine,
                 const std::map<std::string, uint64_t>& locations) {
    auto profile = make_profile({.seed = seed, .machine = machine, .stacks = "main 1\n"});
    for (const auto& [path, count] : locations) {
      for (uint64_t address = 1; address <= count; ++address) {
        add_sample(profile, binary(path, path), wire::ELF, address, 1);
      }
    }
    ingest(profile);
  }

  std::vector<std::string> turns() {
    const auto blocks = *store::symbols_of(*ingest_)->blocks();
    int64_t bound_up_to = 0;
    auto pending = *blocks.back()->find_pending(bound_up_to);
    order_by_turns(pending);
    std::vector<std::string> paths;
    for (const store::PendingBinary& binary : pending) {
      paths.push_back(binary.paths.front());
    }
    return paths;
  }
};

TEST_F(PendingTest, MachinesTakeTurnsAndTheirMostSampledBinariesAreFirst) {
  ingest_of(1, "m1", {{"/a", 1}, {"/b", 3}, {"/c", 2}});
  ingest_of(2, "m2", {{"/d", 1}, {"/e", 4}});
  EXPECT_THAT(turns(), ElementsAre("/e", "/b", "/c", "/d", "/a"));
}

TEST_F(PendingTest, ABinaryIsOfTheMachineThatToldOfItFirst) {
  ingest_of(1, "m1", {{"/a", 1}, {"/b", 3}});
  ingest_of(2, "m2", {{"/a", 5}, {"/c", 1}});
  EXPECT_THAT(turns(), ElementsAre("/a", "/c", "/b"));
}

TEST_F(PendingTest, ThousandsOfOneMachineKeepNobodyElsesWaiting) {
  std::map<std::string, uint64_t> thousands;
  for (int i = 0; i < 2000; ++i) {
    thousands["/many/" + std::to_string(i)] = 2;
  }
  ingest_of(1, "flood", thousands);
  ingest_of(2, "m2", {{"/app", 1}});
  const auto order = turns();
  ASSERT_THAT(order, SizeIs(2001));
  EXPECT_EQ(order[1], "/app");
}

}  // namespace
}  // namespace plimsoll::symbolizer::pending_test
