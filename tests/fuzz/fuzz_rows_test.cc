// Questions that make no sense, and IDs that no dictionary has: answered as the definition answers them, or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/aggregation/local_rows.h"
#include "tests/conformance/random_requests.h"
#include "tests/conformance/row_sources.h"
#include "tests/fuzz/seed.h"
#include "tests/temporary_directory.h"

namespace plimsoll::fuzz {
namespace {

using store::AggregateRequest;
using store::Column;
using store::Row;
using testing::Cardinalities;
using testing::Random;

constexpr int kSources = 100;
constexpr int kRequestsOfSource = 100;

// Small, large, and the largest there are.
uint32_t odd_id(Random& random) {
  switch (random.below(4)) {
    case 0:
      return UINT32_MAX - random.below(3);
    case 1:
      return random.below(1U << 20);
    default:
      return random.below(20);
  }
}

std::vector<Row> odd_rows(Random& random) {
  const Cardinalities ids = testing::kFewIds;
  std::vector<Row> rows = random_rows(random, ids, 1 + random.below(60));
  for (Row& row : rows) {
    uint32_t* const fields[] = {&row[Column::kWorkload], &row[Column::kThread], &row[Column::kLabels],
                                &row[Column::kStack]};
    *fields[random.below(4)] = odd_id(random);
    // These lead to factors: few may lack one, or every request would be refused.
    if (random.one_in(300)) {
      row[random.one_in(2) ? Column::kEvent : Column::kOrigin] = odd_id(random);
    }
    row.hits = random.one_in(5) ? uint64_t{1} << random.below(40) : row.hits;
  }
  std::ranges::sort(rows);
  const auto rest = std::ranges::unique(rows, [](const Row& a, const Row& b) { return a.same_key(b); });
  rows.erase(rest.begin(), rest.end());
  return rows;
}

void make_odd(store::IdGrouping& grouping, Random& random) {
  if (!grouping.table().empty() && random.one_in(4)) {
    std::vector<uint32_t> groups(grouping.table().begin(), grouping.table().end());
    groups[random.below(static_cast<uint32_t>(groups.size()))] = odd_id(random);
    grouping = store::IdGrouping::by(std::move(groups));
  }
}

AggregateRequest odd_request(Random& random) {
  AggregateRequest request = random_request(random, testing::kFewIds);
  for (const store::Column column : store::kColumns) {
    make_odd(request.group[column], random);
  }
  if (random.one_in(5)) {
    const uint32_t stacks = random.below(200'000);
    request.filter[store::Column::kStack] =
        store::IdSet::of_flags(std::vector<bool>(stacks, random.one_in(2)));
  }
  if (random.one_in(5)) {
    store::Factors& factors = request.measures[0];
    factors.resize(random.below(8));
    if (!factors.empty()) {
      store::IdTable<double>& of_event = factors[random.below(static_cast<uint32_t>(factors.size()))];
      std::vector<double> values = of_event.copy();
      values.resize(random.below(12), 0.25);
      of_event = store::IdTable<double>(std::move(values));
    }
  }
  if (random.one_in(5)) {
    request.max_sums = random.below(100);
  }
  return request;
}

TEST(FuzzRows, OddQuestionsAreAnsweredAsDefinedOrRefused) {
  Random random(seed(1));
  int answered = 0;
  for (int source = 0; source < kSources; ++source) {
    const testing::TemporaryDirectory folder;
    const std::vector<Row> rows = odd_rows(random);
    const testing::MemoryRows model(rows);
    const auto local = testing::make_local_rows(rows, folder.path(), 1 + random.below(70));
    ASSERT_TRUE(local) << local.error().text();
    for (int i = 0; i < kRequestsOfSource; ++i) {
      SCOPED_TRACE(fmt::format("request {} to source {}", i, source));
      const AggregateRequest request = odd_request(random);
      const auto expected = model.aggregate(request);
      const auto answer = (*local)->aggregate(request);
      if (!answer) {
        ASSERT_FALSE(answer.error().message.empty());
        // Either reason may be noticed first, and sums of 0 are only known at the end.
        ASSERT_TRUE(!expected || answer.error().code == ErrorCode::kTooLarge) << answer.error().text();
        continue;
      }
      ASSERT_TRUE(expected) << expected.error().text();
      ASSERT_EQ(answer->keys, expected->keys);
      ASSERT_EQ(answer->sums, expected->sums);
      ++answered;
    }
  }
  EXPECT_GT(answered, kSources * kRequestsOfSource / 4);
}

}  // namespace
}  // namespace plimsoll::fuzz
