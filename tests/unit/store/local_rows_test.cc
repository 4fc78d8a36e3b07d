#include "store/rows/local_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "tests/temporary_directory.h"
#include "tests/unit/store/segment_fixture.h"

namespace plimsoll::store {
namespace {

constexpr uint32_t kEvents = 4, kWorkloads = 7, kStacks = 60, kThreads = 6, kOrigins = 9;  // IDs below these

using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>;
using Sums = std::map<Key, std::tuple<uint64_t, double, double>>;  // hits, value, samples

class Random {
 public:
  explicit Random(uint64_t seed) : random_(seed) {}
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool chance() { return below(2) == 0; }

  // Halves and quarters, so that sums are exact in any order.
  double factor() { return below(64) / 4.0; }

  std::vector<bool> flags(uint32_t count) {
    std::vector<bool> flags;
    for (uint32_t i = 0; i < count; ++i) {
      flags.push_back(below(3) != 0);
    }
    return flags;
  }

  std::vector<uint32_t> groups(uint32_t count) {
    std::vector<uint32_t> groups;
    for (uint32_t i = 0; i < count; ++i) {
      groups.push_back(below(4));
    }
    return groups;
  }

 private:
  std::mt19937_64 random_;
};

std::vector<Row> random_rows(Random& random, size_t count) {
  std::vector<Row> rows;
  for (size_t i = 0; i < count; ++i) {
    rows.push_back({1 + random.below(kEvents - 1), 1 + random.below(kWorkloads - 1), random.below(kStacks),
                    1 + random.below(kThreads - 1), 1 + random.below(kOrigins - 1), random.below(100)});
  }
  return rows;
}

AggregateRequest request_for_all(Random& random) {
  AggregateRequest request;
  request.event_count = kEvents;
  for (uint32_t i = 0; i < kEvents * kOrigins; ++i) {
    request.factor.push_back(random.factor());
  }
  return request;
}

AggregateRequest random_request(Random& random) {
  AggregateRequest request = request_for_all(random);
  const auto maybe = [&](auto& target, auto make) {
    if (random.chance()) {
      target = make();
    }
  };
  maybe(request.events, [&] { return random.flags(kEvents); });
  maybe(request.origins, [&] { return random.flags(kOrigins); });
  maybe(request.workloads, [&] { return random.flags(kWorkloads); });
  maybe(request.threads, [&] { return random.flags(kThreads); });
  maybe(request.stacks, [&] { return random.flags(kStacks); });
  maybe(request.origin_group, [&] { return random.groups(kOrigins); });
  maybe(request.workload_group, [&] { return random.groups(kWorkloads); });
  maybe(request.thread_group, [&] { return random.groups(kThreads); });
  maybe(request.machine_group, [&] { return random.groups(kOrigins); });
  maybe(request.samples_per_hit, [&] {
    std::vector<double> samples(request.factor.size());
    std::ranges::generate(samples, [&] { return random.factor(); });
    return samples;
  });
  request.by_stack = random.chance();
  return request;
}

// The definition, row by row.
Sums model(const std::vector<Row>& rows, const AggregateRequest& request) {
  const auto selected = [](const std::vector<bool>& flags, uint32_t id) {
    return flags.empty() || flags[id];
  };
  const auto group = [](const std::vector<uint32_t>& groups, uint32_t id) {
    return groups.empty() ? 0 : groups[id];
  };
  Sums sums;
  for (const Row& row : rows) {
    if (selected(request.events, row.event) && selected(request.origins, row.origin) &&
        selected(request.workloads, row.workload) && selected(request.threads, row.thread) &&
        selected(request.stacks, row.stack)) {
      auto& [hits, value, samples] =
          sums[{row.event, group(request.origin_group, row.origin),
                group(request.workload_group, row.workload), group(request.thread_group, row.thread),
                group(request.machine_group, row.origin), request.by_stack ? row.stack : 0}];
      hits += row.hits;
      const size_t place = row.origin * kEvents + row.event;
      value += static_cast<double>(row.hits) * request.factor[place];
      samples += static_cast<double>(row.hits) *
                 (request.samples_per_hit.empty() ? 1 : request.samples_per_hit[place]);
    }
  }
  return sums;
}

Sums by_key(const std::vector<Cell>& cells) {
  Sums sums;
  for (const Cell& cell : cells) {
    const Key key{cell.event,        cell.origin_group,  cell.workload_group,
                  cell.thread_group, cell.machine_group, cell.stack};
    EXPECT_TRUE(sums.try_emplace(key, cell.hits, cell.value, cell.samples).second) << "a group appears twice";
  }
  return sums;
}

class LocalRowsTest : public ::testing::Test {
 protected:
  // Cuts the rows into segments of `segment_rows`.
  LocalRows open(const std::vector<Row>& rows, size_t segment_rows) {
    std::vector<std::string> paths;
    for (size_t from = 0; from < rows.size(); from += segment_rows) {
      const auto to = std::min(rows.size(), from + segment_rows);
      paths.push_back(folder_ / fmt::format("{}.rows", paths.size()));
      write_bytes(paths.back(), encode_segment({rows.begin() + static_cast<ptrdiff_t>(from),
                                                rows.begin() + static_cast<ptrdiff_t>(to)}));
    }
    auto opened = LocalRows::open(paths);
    EXPECT_TRUE(opened) << opened.error().text();
    return std::move(*opened);
  }

  plimsoll::testing::TemporaryDirectory folder_;
};

TEST_F(LocalRowsTest, AgreesWithTheDefinitionForRandomRequests) {
  Random random(1);
  const std::vector<Row> rows = random_rows(random, 3000);
  const LocalRows local = open(rows, 700);
  for (int i = 0; i < 300; ++i) {
    const AggregateRequest request = random_request(random);
    const auto cells = local.aggregate(request);
    ASSERT_TRUE(cells) << cells.error().text();
    ASSERT_EQ(by_key(*cells), model(rows, request)) << "request " << i;
  }
}

TEST_F(LocalRowsTest, AgreesWithTheDefinitionOverSeveralBlocks) {
  Random random(2);
  // 5 x kStacks keys would meet again and again: stacks of their own keep the rows apart, so that blocks fill.
  std::vector<Row> rows = random_rows(random, 2 * kBlockRows + 10);
  for (uint32_t i = 0; i < rows.size(); ++i) {
    rows[i].stack = i;
  }
  const LocalRows local = open(rows, rows.size());
  EXPECT_EQ(local.rows(), rows.size());
  for (int i = 0; i < 5; ++i) {
    AggregateRequest request = random_request(random);
    request.by_stack = false;
    request.stacks = random.flags(static_cast<uint32_t>(rows.size()));
    ASSERT_EQ(by_key(*local.aggregate(request)), model(rows, request)) << "request " << i;
  }
}

TEST_F(LocalRowsTest, FlagsShorterThanADictionarySelectNothingBeyond) {
  Random random(3);
  const LocalRows local = open({{1, 1, 1, 1, 1, 10}, {1, 2, 1, 1, 1, 20}}, 2);
  AggregateRequest request = request_for_all(random);
  request.workloads = {false, true};  // as of before workload 2 came
  EXPECT_EQ((*local.aggregate(request))[0].hits, 10);
}

TEST_F(LocalRowsTest, NoSegmentsHaveNoCells) {
  Random random(4);
  EXPECT_THAT(*open({}, 1).aggregate(request_for_all(random)), ::testing::IsEmpty());
}

TEST_F(LocalRowsTest, MoreGroupsThanAllowedAreRefused) {
  Random random(5);
  std::vector<Row> rows;
  for (uint32_t stack = 0; stack < 50; ++stack) {
    rows.push_back({1, 1, stack, 1, 1, 1});
  }
  const LocalRows local = open(rows, 20);
  AggregateRequest request = request_for_all(random);
  request.by_stack = true;
  request.max_cells = 50;
  EXPECT_EQ(local.aggregate(request)->size(), 50);
  request.max_cells = 49;
  const auto refused = local.aggregate(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_THAT(refused.error().hint, ::testing::HasSubstr("fewer dimensions"));
}

TEST_F(LocalRowsTest, ARowWithoutAFactorIsDamageNotZero) {
  Random random(6);
  const LocalRows local = open({{1, 1, 1, 1, kOrigins, 1}}, 1);
  EXPECT_EQ(local.aggregate(request_for_all(random)).error().code, ErrorCode::kCorrupt);
  const LocalRows other = open({{kEvents, 1, 1, 1, 1, 1}}, 1);
  EXPECT_EQ(other.aggregate(request_for_all(random)).error().code, ErrorCode::kCorrupt);
}

TEST_F(LocalRowsTest, ADamagedSegmentFailsTheAnswerByName) {
  Random random(7);
  std::string bytes = encode_segment({{1, 1, 1, 1, 1, 1}, {1, 1, 2, 1, 1, 5}});
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const std::string path = folder_ / "damaged.rows";
  write_bytes(path, bytes);
  const auto answer = LocalRows::open({path})->aggregate(request_for_all(random));
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, ::testing::HasSubstr(path));
}

}  // namespace
}  // namespace plimsoll::store
