#include "store/segments/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/conformance/plain_row.h"

namespace plimsoll::store {
namespace {

RowOrder order_of(const std::vector<std::string_view>& jobs) {
  RowOrder order;
  for (const std::string_view job : jobs) {
    order.add_workload(job);
  }
  return order;
}

// Each row's workload, by the order.
std::vector<uint32_t> workloads_of(std::vector<Row> rows, const RowOrder& order) {
  std::ranges::sort(rows, order);
  std::vector<uint32_t> workloads;
  for (const Row& row : rows) {
    workloads.push_back(row[Column::kWorkload]);
  }
  return workloads;
}

TEST(RowOrderTest, InstancesOfAJobStandTogetherWhereItsFirstOneDoes) {
  const RowOrder order = order_of({"web", "batch", "web", "batch", ""});
  EXPECT_EQ(order.workloads(), 6);
  EXPECT_EQ(workloads_of(rows_of({{1, 5}, {1, 4}, {1, 3}, {1, 2}, {1, 1}}), order),
            (std::vector<uint32_t>{1, 3, 2, 4, 5}));
}

TEST(RowOrderTest, TheEventComesFirstAndWithinAWorkloadAllElseByItsId) {
  const RowOrder order = order_of({"web", "batch", "web"});
  std::vector<Row> rows =
      rows_of({{2, 1, 1, 1, 1}, {1, 3, 2, 1, 1}, {1, 3, 1, 2, 1}, {1, 3, 1, 1, 2}, {1, 3, 1, 1, 1}});
  const std::vector<Row> expected{rows[4], rows[3], rows[2], rows[1], rows[0]};
  std::ranges::sort(rows, order);
  EXPECT_EQ(rows, expected);
}

TEST(RowOrderTest, WorkloadsThatAreNotKnownStandByTheirIds) {
  EXPECT_EQ(workloads_of(rows_of({{1, 9}, {1, 3}, {1, 2}, {1, 1}}), order_of({"web"})),
            (std::vector<uint32_t>{1, 2, 3, 9}));
}

TEST(RowOrderTest, WhatComesLaterLeavesTheOrderOfTheOthersAsItIs) {
  std::mt19937 random(3);
  RowOrder order;
  std::vector<Row> rows;
  std::vector<Row> sorted;
  for (uint32_t workload = 1; workload <= 60; ++workload) {
    order.add_workload(std::string(1, static_cast<char>('a' + random() % 7)));
    std::vector<Row> now = rows;
    std::ranges::sort(now, order);
    ASSERT_EQ(now, sorted) << workload;
    rows.push_back(row_of({1, workload, static_cast<uint32_t>(random() % 3)}));
    sorted = rows;
    std::ranges::sort(sorted, order);
  }
}

}  // namespace
}  // namespace plimsoll::store
