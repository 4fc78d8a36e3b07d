// What a reader makes of the tables of an epoch: of large ones in parts, and of nothing that cannot be.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "store/clickhouse/batches.h"
#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/epoch_names.h"
#include "store/clickhouse/row_binary.h"

namespace plimsoll::store::clickhouse {
namespace {

// Answers each statement as the test says, and none with more than so many bytes.
class AnsweringTables : public Queryable {
 public:
  AnsweringTables(size_t max_bytes, std::function<std::string(std::string_view sql)> answer)
      : max_bytes_(max_bytes), answer_(std::move(answer)) {}

  using Queryable::query;
  Result<std::string> query(std::string_view sql, std::span<const ExternalTable> /*tables*/) override {
    std::string rows = answer_(sql);
    return rows.size() <= max_bytes_
               ? Result<std::string>(std::move(rows))
               : fail(ErrorCode::kTooLarge, "{} bytes to the statement {}", rows.size(), sql);
  }

 private:
  const size_t max_bytes_;
  const std::function<std::string(std::string_view sql)> answer_;
};

// The IDs that a statement asks for.
struct AskedIds {
  uint64_t first = 0;
  uint64_t last = UINT32_MAX;
};

AskedIds asked_ids(std::string_view sql, std::string_view column) {
  const std::string before = fmt::format(" AND {} BETWEEN ", column);
  constexpr std::string_view kBetween = " AND ";
  AskedIds ids;
  if (const size_t place = sql.find(before); place != std::string_view::npos) {
    const char* const end = sql.data() + sql.size();
    const auto first = std::from_chars(sql.data() + place + before.size(), end, ids.first);
    std::from_chars(first.ptr + kBetween.size(), end, ids.last);
  }
  return ids;
}

bool is_from(std::string_view sql, std::string_view table) {
  return sql.find(fmt::format(" FROM {} ", table)) != std::string_view::npos;
}

EpochBatches first_epoch() {
  EpochBatches epoch{.epoch = 1};
  epoch.add(1);
  epoch.newest.epoch = 1;
  epoch.newest.batch = 1;
  return epoch;
}

TEST(EpochTables, EntriesOfALargeEpochAreReadInParts) {
  constexpr uint32_t kThreads = 600'000;
  AnsweringTables server(2'000'000, [](std::string_view sql) {
    const AskedIds ids = asked_ids(sql, "id");
    RowBinaryWriter rows;
    for (uint64_t id = std::max<uint64_t>(ids.first, 1); id <= std::min<uint64_t>(ids.last, kThreads); ++id) {
      rows.number(static_cast<uint32_t>(id)).text(id == kThreads ? "z" : "t");
    }
    return rows.take();
  });
  EpochBatches epoch = first_epoch();
  epoch.newest.entries.threads = size_t{kThreads} + 1;
  Dictionaries entries;
  const Status read = extend(entries, server, epoch);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(entries.threads.size(), size_t{kThreads} + 1);
  EXPECT_EQ(entries.threads[kThreads], "z");

  epoch.newest.entries.threads = kThreads;
  entries = {};
  const Status has_more = extend(entries, server, epoch);
  ASSERT_FALSE(has_more);
  EXPECT_EQ(has_more.error().code, ErrorCode::kCorrupt);
}

TEST(EpochTables, MarksOfALongHistoryAreReadInParts) {
  constexpr uint64_t kBatches = 600'000;
  AnsweringTables server(size_t{40} << 20U, [](std::string_view sql) {
    constexpr std::string_view kAfter = "batch > ";
    constexpr std::string_view kLimit = " LIMIT ";
    const auto number_behind = [&](std::string_view words, uint64_t otherwise) {
      const size_t place = sql.find(words);
      if (place != std::string_view::npos) {
        std::from_chars(sql.data() + place + words.size(), sql.data() + sql.size(), otherwise);
      }
      return otherwise;
    };
    const uint64_t after = number_behind(kAfter, 0);
    RowBinaryWriter rows;
    const uint64_t last = after + number_behind(kLimit, kBatches);
    for (uint64_t batch = after + 1; batch <= last && batch <= kBatches; ++batch) {
      write_mark({.epoch = 1, .batch = batch, .place = batch - 1, .follows = batch - 1}, rows);
    }
    return rows.take();
  });
  const auto marks = read_marks(server);
  ASSERT_TRUE(marks) << marks.error().text();
  EXPECT_EQ(marks->size(), kBatches);
  const auto epochs = committed_among(*marks);
  ASSERT_TRUE(epochs) << epochs.error().text();
  EXPECT_EQ(epochs->at(1).newest.batch, kBatches);
  EXPECT_EQ(epochs->at(1).ranges.size(), 1);
  EXPECT_EQ(read_marks(server, kBatches - 2)->size(), 2);
}

// Each location has two frames, of batch 5 of names; the last one is of a location that the epoch gets later.
TEST(EpochTables, NamesOfALargeEpochAreReadInParts) {
  constexpr uint32_t kLocations = 300'000;
  constexpr uint64_t kNames = 5;
  AnsweringTables server(15'000'000, [](std::string_view sql) {
    RowBinaryWriter rows;
    if (sql.starts_with("SELECT count()")) {
      rows.number(uint64_t{2} * (kLocations + 1));
    } else if (is_from(sql, "name_batches")) {
      rows.number(kNames);
    } else if (is_from(sql, "bindings")) {
      const AskedIds ids = asked_ids(sql, "location");
      const uint64_t last = std::min<uint64_t>(ids.last, kLocations + 1);
      for (uint64_t location = std::max<uint64_t>(ids.first, 1); location <= last; ++location) {
        for (uint16_t depth = 0; depth < 2; ++depth) {
          rows.number(static_cast<uint32_t>(location)).number(kNames).number(uint16_t{2}).number(depth);
          rows.text(fmt::format("f{}", location % 100)).text("").text("a.cc");
          rows.number(uint32_t{depth}).number(uint32_t{0}).number(uint32_t{0}).number(uint32_t{0});
          rows.number(uint8_t{0});
        }
      }
    }
    return rows.take();
  });
  EpochBatches epoch = first_epoch();
  epoch.newest.entries.locations = size_t{kLocations} + 1;
  EpochNames names;
  Status read = names.extend(server, epoch);
  ASSERT_TRUE(read) << read.error().text();
  Bindings bindings = names.bindings();
  ASSERT_EQ(bindings.locations(), size_t{kLocations} + 1);
  for (uint32_t location = 1; location <= kLocations; ++location) {
    const auto frames = bindings.of(location);
    ASSERT_EQ(frames.size(), 2) << location;
    ASSERT_EQ(bindings.functions[frames[0].function], fmt::format("f{}", location % 100));
    ASSERT_EQ(frames[1].line, 1);
  }

  epoch.add(2);
  epoch.newest.batch = 2;
  epoch.newest.entries.locations = size_t{kLocations} + 2;
  read = names.extend(server, epoch);
  ASSERT_TRUE(read) << read.error().text();
  bindings = names.bindings();
  EXPECT_EQ(bindings.of(kLocations + 1).size(), 2);
}

// One entry each of these tables, and no machine, no binary and no workload.
struct References {
  uint32_t machine = 0;  // of the origin
  wire::LocationKind kind = wire::ELF;
  uint32_t owner = 0;  // of the location
  uint32_t parent = 0;
  uint32_t location = 1;  // of the stack
};

std::string rows_of(const References& references, std::string_view sql) {
  RowBinaryWriter row;
  row.number(uint32_t{1});
  if (is_from(sql, "origins")) {
    row.number(references.machine).number(int64_t{1}).number(int64_t{2}).text("").number(1.0);
    row.number(int64_t{0}).text("").text("").number(uint8_t{0}).text("id").number(int64_t{1});
  } else if (is_from(sql, "locations")) {
    row.number(static_cast<uint8_t>(references.kind)).number(references.owner);
    row.number(uint64_t{0x1000}).text("");
  } else if (is_from(sql, "stacks")) {
    row.number(references.parent).number(references.location);
  } else {
    return "";
  }
  return row.take();
}

Status read_with(const References& references) {
  AnsweringTables server(1000, [&](std::string_view sql) { return rows_of(references, sql); });
  EpochBatches epoch = first_epoch();
  DictionarySizes& sizes = epoch.newest.entries;
  sizes.origins = sizes.locations = sizes.stacks = 2;
  Dictionaries entries;
  return extend(entries, server, epoch);
}

TEST(EpochTables, AnEntryThatNamesOneThatIsNotThereIsDamage) {
  const Status sound = read_with({});
  ASSERT_TRUE(sound) << sound.error().text();
  for (const References& references :
       {References{.machine = 1}, References{.owner = 1}, References{.kind = wire::JIT, .owner = 1},
        References{.parent = 1}, References{.parent = UINT32_MAX}, References{.location = 2}}) {
    const Status damaged = read_with(references);
    ASSERT_FALSE(damaged);
    EXPECT_EQ(damaged.error().code, ErrorCode::kCorrupt);
  }
}

}  // namespace
}  // namespace plimsoll::store::clickhouse
