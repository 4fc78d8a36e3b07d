// Epochs as a reader follows them, where the server's answers change between its statements.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/clickhouse/clickhouse_rows.h"
#include "store/clickhouse/clickhouse_source.h"
#include "store/clickhouse/epoch_reader.h"
#include "store/clickhouse/row_binary.h"
#include "tests/clickhouse/answering_server.h"

namespace plimsoll::store::clickhouse {
namespace {

using plimsoll::testing::AnsweringServer;

bool begins(std::string_view sql, std::string_view with) {
  return sql.starts_with(with);
}

bool reads(std::string_view sql, std::string_view table) {
  return sql.find(fmt::format(" FROM {} ", table)) != std::string_view::npos;
}

// Its dictionary of threads has one name.
BatchMark mark_of(uint64_t batch, uint64_t follows, uint64_t place) {
  BatchMark mark{.epoch = 1, .batch = batch, .place = place, .follows = follows};
  mark.entries.threads = 2;
  return mark;
}

// Batch 2 was given up, and its mark arrives all the same. Batch 3 has the same profiles, and another thread: a later release, say, made it.
TEST(EpochReading, WhatAGivenUpBatchBroughtIsForgottenWithIt) {
  std::atomic<bool> is_superseded = false;
  AnsweringServer server([&](std::string_view sql) -> std::string {
    RowBinaryWriter rows;
    if (begins(sql, "SELECT min(epoch), max(batch) FROM batches")) {
      rows.number(uint32_t{1}).number(is_superseded ? uint64_t{3} : uint64_t{2});
    } else if (begins(sql, "SELECT count() FROM bindings")) {
      rows.number(uint64_t{0});
    } else if (reads(sql, "batches")) {
      write_mark(mark_of(1, 0, 0), rows);
      write_mark(mark_of(2, 1, 1), rows);
      if (is_superseded) {
        write_mark(mark_of(3, 1, 1), rows);
      }
    } else if (reads(sql, "threads")) {
      rows.number(uint32_t{1}).text(is_superseded ? "kept" : "given up");
    }
    return rows.take();
  });
  ClickHouseSource source(server.connections());
  const auto before = source.newest(all_times());
  ASSERT_TRUE(before) << before.error().text();
  ASSERT_EQ(before->dictionaries.threads.size(), 2);
  EXPECT_EQ(before->dictionaries.threads[1], "given up");
  is_superseded = true;
  const auto after = source.newest(all_times());
  ASSERT_TRUE(after) << after.error().text();
  ASSERT_EQ(after->dictionaries.threads.size(), 2);
  EXPECT_EQ(after->dictionaries.threads[1], "kept");
  EXPECT_NE(after->lineage, before->lineage);
}

// Two processes that have the same number would write batches under the same numbers.
TEST(EpochReading, ASessionThatAnotherProcessBeginsAtTheSameMomentIsLeftToIt) {
  std::atomic<uint32_t> inserted = 0;
  std::atomic<uint32_t> shared_sessions = 1;
  AnsweringServer server([&](std::string_view sql) {
    RowBinaryWriter rows;
    if (begins(sql, "INSERT INTO sessions")) {
      ++inserted;
    } else if (begins(sql, "SELECT max(session)")) {
      rows.number(uint32_t{4} + inserted.load());
    } else if (begins(sql, "SELECT count() FROM sessions")) {
      rows.number(inserted.load() <= shared_sessions.load() ? uint64_t{2} : uint64_t{1});
    }
    return rows.take();
  });
  Connection connection(server.connections()->options());
  const auto session = begin_session(connection);
  ASSERT_TRUE(session) << session.error().text();
  EXPECT_EQ(*session, 6);
  shared_sessions = 100;
  const auto refused = begin_session(connection);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
}

EpochBatches epoch_of_two_origins(uint32_t number) {
  EpochBatches epoch{.epoch = number};
  epoch.add(number);
  epoch.newest.epoch = number;
  epoch.newest.batch = number;
  epoch.newest.entries.origins = 3;
  return epoch;
}

// It was dropped, or is damaged. The smallest and the largest of no numbers are 0 in SQL, which is a time as well.
TEST(EpochReading, AnEpochWithoutTheOriginsOfItsMarksHasNoTimes) {
  AnsweringServer server([](std::string_view) { return std::string(); });
  const auto connections = server.connections();
  EpochReader reader(connections, 1);
  reader.follow(epoch_of_two_origins(1), 0, true);
  const std::vector<EpochReader*> readers{&reader};
  const Status read = EpochReader::read_times(*connections, readers);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_GT(reader.times().from_ns, reader.times().to_ns);
  const auto damage = reader.damage();
  ASSERT_TRUE(damage.has_value());
  EXPECT_EQ(damage->from_ns, INT64_MIN) << "unknown";
  EXPECT_EQ(damage->to_ns, INT64_MAX);
}

// Each lasts from ten times its number on.
TEST(EpochReading, TimesOfManyEpochsAreReadWithFewStatements) {
  constexpr uint32_t kEpochs = 3000;
  std::atomic<uint32_t> statements = 0;
  AnsweringServer server([&](std::string_view sql) {
    ++statements;
    RowBinaryWriter rows;
    for (uint32_t epoch = 1; epoch <= kEpochs; ++epoch) {
      if (sql.find(fmt::format("(epoch = {} AND (", epoch)) != std::string_view::npos) {
        rows.number(epoch).number(int64_t{epoch} * 10).number(int64_t{epoch} * 10 + 5);
        rows.number(int64_t{0}).number(uint8_t{0});
      }
    }
    return rows.take();
  });
  const auto connections = server.connections();
  std::vector<std::unique_ptr<EpochReader>> epochs;
  std::vector<EpochReader*> readers;
  for (uint32_t number = 1; number <= kEpochs; ++number) {
    epochs.push_back(std::make_unique<EpochReader>(connections, number));
    epochs.back()->follow(epoch_of_two_origins(number), 0, number == kEpochs);
    readers.push_back(epochs.back().get());
  }
  const Status read = EpochReader::read_times(*connections, readers);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_GT(statements.load(), 1) << "a statement has a limit";
  EXPECT_LT(statements.load(), 10);
  const uint32_t asked = statements.load();
  for (uint32_t number = 1; number <= kEpochs; ++number) {
    ASSERT_EQ(epochs[number - 1]->times().from_ns, int64_t{number} * 10);
    ASSERT_EQ(epochs[number - 1]->times().to_ns, int64_t{number} * 10 + 5);
  }
  ASSERT_TRUE(EpochReader::read_times(*connections, readers));
  EXPECT_EQ(statements.load(), asked) << "they are known";
}

// Its rows are of the IDs of one origin and one stack.
TEST(EpochReading, ARowWithAnIdThatNoDictionaryHasIsDamage) {
  std::atomic<uint32_t> stack = 1;
  AnsweringServer server([&](std::string_view sql) {
    RowBinaryWriter rows;
    if (begins(sql, "SELECT origin, count() FROM rows")) {
      rows.number(uint32_t{1}).number(uint64_t{1});
    } else if (begins(sql, "SELECT count() FROM batches")) {
      rows.number(uint64_t{1});
    } else {
      rows.number(uint32_t{0}).number(uint32_t{1}).number(uint32_t{0}).number(uint32_t{0});
      rows.number(uint32_t{0}).number(stack.load()).number(uint64_t{7});
    }
    return rows.take();
  });
  EpochBatches epoch{.epoch = 1};
  epoch.add(1);
  epoch.newest.batch = 1;
  epoch.newest.entries.origins = epoch.newest.entries.stacks = 2;
  const ClickHouseRows source(server.connections(), epoch);
  auto cursor = source.scan({});
  const auto sound = cursor->next();
  ASSERT_TRUE(sound) << sound.error().text();
  EXPECT_EQ(sound->size(), 1);
  stack = 2;
  cursor = source.scan({});
  const auto damaged = cursor->next();
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
