#include "query/rows/per_machine_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/selection/selection.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::ElementsAre;

// Rows by function of two machines.
class PerMachineRowsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fleet_.add({.seed = 1, .machine = "m1", .stacks = "main;parse 4\nmain;write 2\n"});
    fleet_.add({.seed = 2, .machine = "m2", .stacks = "main;parse 1\nmain 5\n"});
    snapshot_ = *Snapshot::load(fleet_.path());
    resolved_ = *resolve({}, *snapshot_);
    grouping_ = std::make_unique<Grouping>(by_, nullptr, *snapshot_);
    grouping_->add_groups(resolved_.request);
    for (uint32_t frame = 0; frame < grouping_->frames()->size(); ++frame) {
      keys_.push_back({.frame = frame});
      names_.push_back(grouping_->frames()->text(frame, 0));
    }
  }

  // By name: of each machine self and total; or self alone.
  std::map<std::string, std::vector<double>> table(RowMeasures measures) {
    const MachineSample sample(*snapshot_, resolved_.request.filter);
    const auto table = RowSplitter(keys_, 1, *grouping_, *snapshot_, measures)
                           .tabulate(resolved_.request, sample.machines_of_origins());
    EXPECT_TRUE(table) << table.error().text();
    // Machine 0 stands for none.
    EXPECT_THAT(table->whole, ElementsAre(0, 6, 6));
    const size_t parts = measures.totals ? 2 : 1;
    std::map<std::string, std::vector<double>> rows;
    for (const size_t machine : {1, 2}) {
      for (size_t column = 0; column + 1 < table->columns; ++column) {
        rows[names_[column / parts]].push_back(table->values[machine * table->columns + column]);
      }
    }
    return rows;
  }

  Fleet fleet_;
  std::vector<Dimension> by_{*find_dimension("function")};
  std::shared_ptr<const Snapshot> snapshot_;
  ResolvedSelection resolved_;
  std::unique_ptr<Grouping> grouping_;
  std::vector<RowKey> keys_;
  std::vector<std::string> names_;
};

TEST_F(PerMachineRowsTest, ATableHasWhatEachMachineBrought) {
  auto rows = table({});
  EXPECT_THAT(rows["main"], ElementsAre(0, 6, 5, 6));
  EXPECT_THAT(rows["parse"], ElementsAre(4, 4, 1, 1));
  EXPECT_THAT(rows["write"], ElementsAre(2, 2, 0, 0));
}

TEST_F(PerMachineRowsTest, WithoutTotalsItHasSelfAlone) {
  auto rows = table({.totals = false});
  EXPECT_THAT(rows["main"], ElementsAre(0, 5));
  EXPECT_THAT(rows["parse"], ElementsAre(4, 1));
}

TEST_F(PerMachineRowsTest, ATableOfMoreSumsThanAllowedIsRefused) {
  const MachineSample sample(*snapshot_, resolved_.request.filter);
  RowSplitter splitter(keys_, 1, *grouping_, *snapshot_);
  const size_t sums = sample.machines_of_origins().count * (2 * keys_.size() + 1);
  resolved_.request.max_sums = sums;
  EXPECT_TRUE(splitter.tabulate(resolved_.request, sample.machines_of_origins()));
  resolved_.request.max_sums = sums - 1;
  const auto refused = splitter.tabulate(resolved_.request, sample.machines_of_origins());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace plimsoll::query
