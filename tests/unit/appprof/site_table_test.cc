#include "appprof/site_table.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

namespace plimsoll::appprof {
namespace {

struct Total {
  double count = 0;
  uint64_t amount = 0;
};

std::map<std::pair<std::vector<uintptr_t>, uint32_t>, Total> contents(const SiteTable& table) {
  std::map<std::pair<std::vector<uintptr_t>, uint32_t>, Total> sites;
  table.for_each([&](std::span<const uintptr_t> frames, uint32_t labels, const SiteTable::Sums& sums) {
    Total& total = sites[{{frames.begin(), frames.end()}, labels}];
    total.count += static_cast<double>(sums.count) / SiteTable::kOne;
    total.amount += sums.amount;
  });
  return sites;
}

TEST(SiteTable, SumsByStackAndLabels) {
  SiteTable table;
  ASSERT_TRUE(table.allocate());
  const std::vector<uintptr_t> one = {1, 2, 3};
  const std::vector<uintptr_t> other = {1, 2, 4};
  table.add(one, 0, 1.5, 10);
  table.add(one, 0, 1.5, 10.4);
  table.add(one, 7, 1, 5);
  table.add(other, 0, 1, 1);
  auto sites = contents(table);
  EXPECT_EQ(sites.size(), 3);
  EXPECT_EQ((sites[{one, 0}].count), 3);
  EXPECT_EQ((sites[{one, 0}].amount), 20);
  EXPECT_EQ((sites[{one, 7}].amount), 5);
  EXPECT_EQ((sites[{other, 0}].amount), 1);
  EXPECT_EQ(table.overflow().count, 0);
}

TEST(SiteTable, ThreadsLoseNothing) {
  SiteTable table;
  ASSERT_TRUE(table.allocate());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&table] {
      for (uintptr_t site = 0; site < 40'000; ++site) {
        const uintptr_t frames[] = {site % 1000 + 1, 99};
        table.add(frames, 0, 1, 2);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const auto sites = contents(table);
  EXPECT_EQ(sites.size(), 1000);
  for (const auto& [site, total] : sites) {
    EXPECT_EQ(total.count, 160);
    EXPECT_EQ(total.amount, 320);
  }
}

TEST(SiteTable, WhatFindsNoPlaceIsOverflow) {
  SiteTable table;
  ASSERT_TRUE(table.allocate());
  constexpr uint64_t kSites = 3 * SiteTable::kCapacity;
  for (uintptr_t site = 1; site <= kSites; ++site) {
    table.add(std::span(&site, 1), 0, 1, 10);
  }
  double kept = 0;
  for (const auto& [site, total] : contents(table)) {
    kept += total.count;
  }
  const SiteTable::Sums lost = table.overflow();
  EXPECT_GT(lost.count, 0);
  EXPECT_EQ(kept + static_cast<double>(lost.count) / SiteTable::kOne, kSites);
  EXPECT_EQ(lost.amount, lost.count / SiteTable::kOne * 10);
}

TEST(SiteTable, WithoutMemoryAllIsOverflow) {
  SiteTable table;
  const uintptr_t frame = 1;
  table.add(std::span(&frame, 1), 0, 2, 3);
  EXPECT_TRUE(contents(table).empty());
  EXPECT_EQ(table.overflow().amount, 3);
}

TEST(SiteTable, AClearedTableIsEmpty) {
  SiteTable table;
  ASSERT_TRUE(table.allocate());
  const uintptr_t frame = 1;
  table.add(std::span(&frame, 1), 0, 2, 3);
  table.clear_in_child();
  EXPECT_TRUE(contents(table).empty());
  table.add(std::span(&frame, 1), 0, 1, 1);
  EXPECT_EQ(contents(table).size(), 1);
}

}  // namespace
}  // namespace plimsoll::appprof
