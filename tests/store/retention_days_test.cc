// Eight simulated days of a server, at ten times the rate that its limits were made for: its folder stays within them.
//
// By an injected clock, hour by hour, profiles come, some of them up to 72 hours late, with spans of request traces and symbol tables. Rows are
// built, merged, rolled up and packed, and what is over a limit is dropped, as the passes of a server do. The size of the folder is that
// of all its files: also of those that no limit names, as write-ahead logs, free pages and live.db.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <vector>

#include "base/durable_file.h"
#include "proto/profile_codec.h"
#include "query/selection/sides.h"
#include "query/views/top.h"
#include "sqlite/database.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/compaction/compactor.h"
#include "store/directory/disk_usage.h"
#include "store/identity/directory_identity.h"
#include "store/ingest.h"
#include "store/packed/block_packs.h"
#include "store/retention/retention.h"
#include "store/rollup/roll_up.h"
#include "store/spans/local_span_sink.h"
#include "store/store.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kHourNs = RetentionLimits::kHourNs;
constexpr int64_t kDayNs = RetentionLimits::kDayNs;
constexpr int64_t kStartNs = 1'700'002'800'000'000'000;  // an hour's beginning
constexpr int64_t kMuch = int64_t{1} << 40;
constexpr int64_t kMiB = 1 << 20;

constexpr int64_t kHours = 8 * 24;
// Ten times two an hour: of those eight days take 15 MB.
constexpr int kProfilesOfHour = 20;
constexpr size_t kNameBytesOfProfile = 50'000;
constexpr int64_t kMaxLateHours = 72;
constexpr uint64_t kSpansOfHour = 5'000;
constexpr size_t kBytesOfSymbolTable = 300'000;

constexpr RetentionLimits kNoSizes{.raw_max_age_ns = 30 * kDayNs,
                                   .raw_max_bytes = kMuch,
                                   .rows_max_age_ns = 30 * kDayNs,
                                   .rows_max_bytes = kMuch,
                                   .full_max_age_ns = kDayNs / 2,
                                   .full_max_bytes = kMuch,
                                   .symbols_max_bytes = kMuch,
                                   .traces_max_age_ns = 30 * kDayNs,
                                   .traces_max_bytes = kMuch,
                                   .min_free_bytes = 1};

// Characters that no compression makes small.
std::string random_text(size_t bytes) {
  static constexpr std::string_view kLetters =
      "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";
  std::mt19937_64 random(7);
  std::string text;
  text.reserve(bytes + 10);
  while (text.size() < bytes) {
    for (uint64_t bits = random(), i = 0; i < 10; ++i, bits >>= 6) {
      text += kLetters[bits % kLetters.size()];
    }
  }
  return text;
}

class RetentionDays : public ::testing::Test {
 protected:
  void open(const RetentionLimits& limits, uint64_t max_block_bytes, uint64_t max_span_block_bytes) {
    limits_ = limits;
    ingest_ = *Ingest::open(path_, {.block_limits = {.max_bytes = max_block_bytes},
                                    .upload_limits = {.max_age_ns = limits.max_upload_age_ns},
                                    .now_ns = now_});
    spans_ = *LocalSpanSink::open(ingest_->directory().spans_path(), read_identity(path_)->id,
                                  {.max_bytes = max_span_block_bytes}, now_);
    retention_ = std::make_unique<Retention>(*ingest_, limits, Retention::Environment{now_, free_});
    roll_up_ = std::make_unique<RollUp>(
        *ingest_, RollUpLimits{.full_max_age_ns = limits.full_max_age_ns, .keep_replaced = {}},
        RollUp::Environment{.now_ns = now_, .free_bytes = free_});
  }

  int64_t folder_bytes() const { return allocated_bytes(path_).value_or(kMuch); }

  // All that a server does meanwhile.
  void pass_hour() {
    ++hour_;
    now_ns_ = kStartNs + (hour_ + 1) * kHourNs;
    for (int i = 0; i < kProfilesOfHour; ++i) {
      accept_profile();
    }
    add_spans();
    add_symbol_table();
    while (ingest_->build_pending()->profiles > 0) {
    }
    // By the wall clock the files that were merged go ten seconds later: an hour has passed when it is over.
    ASSERT_TRUE((*Compactor::open(*ingest_, CompactionLimits()))->merge_all());
    for (auto report = roll_up_->run_once(); report && report->block != 0; report = roll_up_->run_once()) {
      ++rolled_up_;
    }
    roll_up_->remove_due();
    while (packer_.run_once(*ingest_->blocks()).value_or(0) != 0) {
    }
    drop();
  }

  void expect_oldest_went_first() {
    auto archive = *sqlite::Database::open(path_ + "/archive.db", sqlite::OpenMode::kRead);
    const int64_t raw = *archive.integer("SELECT count(*) FROM raw_profile", 0);
    const auto all = static_cast<int64_t>(profiles_.size());
    ASSERT_EQ(*archive.integer("SELECT max(sequence) FROM raw_profile", 0), all);
    ASSERT_EQ(*archive.integer("SELECT min(sequence) FROM raw_profile", 0), all - raw + 1);
    first_raw_ = all - raw + 1;
    const int64_t first = ingest_->blocks()->front().number;
    ASSERT_GE(first, first_block_);
    first_block_ = first;
    int64_t symbol_tables = 0;
    for (int64_t hour = 0; hour <= hour_; ++hour) {
      const bool is_there = std::filesystem::exists(symbol_table_path(hour));
      ASSERT_TRUE(is_there || symbol_tables == 0)
          << "the table of hour " << hour << " went before an older one";
      symbol_tables += is_there ? 1 : 0;
    }
    ASSERT_GT(symbol_tables, 0);
  }

  // Each profile that is later than what the oldest block says is gone, and no other; the spans of the last hours, each hour's as a whole.
  void expect_the_rest_is_answered() {
    auto catalogue = *Catalogue::open(ingest_->blocks()->front().catalogue_path(), sqlite::OpenMode::kRead);
    const auto gone = static_cast<size_t>(*accepted_before(catalogue.database()));
    std::map<std::string, double> expected;
    for (size_t i = gone; i < profiles_.size(); ++i) {
      expected[app_of(profiles_[i].hour)] += profiles_[i].hits;
    }
    const query::Parameters parameters = {{"by", "app"}, {"limit", "1000"}, {"margins", "no"}};
    const auto snapshot = query::Snapshot::load(path_, query::times_of(parameters, 0));
    ASSERT_TRUE(snapshot) << snapshot.error().text();
    const auto table = query::top(*query::parse_top(parameters, 0), **snapshot);
    ASSERT_TRUE(table) << table.error().text();
    std::map<std::string, double> answer;
    for (const auto& row : table->rows) {
      answer[std::get<std::string>(row[0])] = std::get<double>(row[query::column_of(*table, "self")]);
    }
    ASSERT_EQ(answer, expected);
    rows_dropped_ = gone;

    std::map<int64_t, uint64_t> spans;
    const auto damaged = open_span_source(path_)->read({}, [&](const StoredSpan& span) -> Status {
      ++spans[(span.span.start_ns - kStartNs) / kHourNs];
      return {};
    });
    ASSERT_TRUE(damaged && damaged->empty());
    ASSERT_EQ(spans.rbegin()->first, hour_);
    ASSERT_EQ(static_cast<int64_t>(spans.size()), hour_ - spans.begin()->first + 1) << "without gaps";
    ASSERT_TRUE(std::ranges::all_of(spans, [](const auto& hour) { return hour.second == kSpansOfHour; }));
    first_span_hour_ = spans.begin()->first;
  }

  // To be quoted: in the test's output, and in its XML as a property.
  void report_largest(int64_t largest_bytes, int64_t limit) const {
    const double percent = 100.0 * static_cast<double>(largest_bytes) / static_cast<double>(limit);
    RecordProperty("largest_folder_percent_of_limit", fmt::format("{:.1f}", percent));
    std::printf(
        "largest folder: %.1f %% of its limit; dropped %zu of %ld profiles' rows, raw ones before %ld\n",
        percent, rows_dropped_, kHours * kProfilesOfHour, first_raw_);
  }

  // Of the larger files, for a failure's message.
  std::string largest_files() const {
    std::string text;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      if (entry.is_regular_file() && entry.file_size() > kMiB) {
        text += fmt::format("{} {}\n", entry.path().lexically_relative(path_).string(), entry.file_size());
      }
    }
    return text;
  }

  int64_t bytes_of_blocks() const { return allocated_bytes(path_ + "/blocks").value_or(0); }

  plimsoll::testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "data";
  int64_t now_ns_ = kStartNs;
  const std::function<int64_t()> now_ = [this] { return now_ns_; };
  int64_t disk_bytes_ = kMuch;
  const std::function<Result<int64_t>(const std::string&)> free_ = [this](const std::string&) {
    return Result<int64_t>(disk_bytes_ - folder_bytes());
  };
  RetentionLimits limits_;
  std::unique_ptr<Ingest> ingest_;
  std::unique_ptr<LocalSpanSink> spans_;
  std::unique_ptr<Retention> retention_;
  std::unique_ptr<RollUp> roll_up_;
  BlockPacker packer_;
  int64_t hour_ = -1;
  int64_t rolled_up_ = 0;
  size_t rows_dropped_ = 0;  // profiles
  int64_t first_raw_ = 1;
  int64_t first_block_ = 1;
  int64_t first_span_hour_ = 0;

 private:
  struct Sent {
    int64_t hour = 0;  // of its window
    double hits = 0;
  };

  static std::string app_of(int64_t hour) { return fmt::format("hour-{}", hour); }
  std::string symbol_table_path(int64_t hour) const {
    return fmt::format("{}/symtab/{:02x}/{:04x}.symtab", path_, hour % 256, hour);
  }

  void accept_profile() {
    const bool is_late = random_() % 10 == 0;
    const int64_t late = is_late ? static_cast<int64_t>(random_() % kMaxLateHours) : 0;
    const Sent sent{std::max(hour_ - late, int64_t{0}), static_cast<double>(1 + random_() % 1000)};
    const size_t names_at = random_() % (names_.size() - kNameBytesOfProfile);
    std::string stack = fmt::format("p{}", profiles_.size());
    for (size_t at = 0; at < kNameBytesOfProfile; at += 4000) {
      stack += fmt::format(";{}_{}", profiles_.size(), std::string_view(names_).substr(names_at + at, 4000));
    }
    const auto profile = plimsoll::testing::make_profile(
        {.seed = profiles_.size() + 1,
         .machine = fmt::format("m{}", profiles_.size() % 5),
         .from_ns = kStartNs + sent.hour * kHourNs + static_cast<int64_t>(random_() % 3'000) * 1'000'000'000,
         .stacks = fmt::format("process={} thread=t{} {} {}\n", app_of(sent.hour), random_() % 3, stack,
                               static_cast<uint64_t>(sent.hits))});
    const auto accepted = ingest_->accept_upload(as_bytes(wire::encode(profile)), {});
    ASSERT_TRUE(accepted) << accepted.error().text();
    profiles_.push_back(sent);
  }

  void add_spans() {
    traces::SpanSet set;
    for (uint64_t i = 0; i < kSpansOfHour; ++i) {
      const int64_t start_ns =
          kStartNs + hour_ * kHourNs + static_cast<int64_t>(random_() % 3'000'000'000'000);
      ASSERT_TRUE(set.add({.trace = {.high = random_(), .low = random_()},
                           .id = random_() | 1,
                           .start_ns = start_ns,
                           .end_ns = start_ns + static_cast<int64_t>(random_() % 1'000'000'000),
                           .service = "cart",
                           .operation = "GET /"}));
    }
    ASSERT_TRUE(spans_->add(set, 1));
  }

  void add_symbol_table() {
    const std::string path = symbol_table_path(hour_);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    ASSERT_TRUE(write_file_durably(path, as_bytes(std::string_view(names_).substr(0, kBytesOfSymbolTable))));
    const std::chrono::sys_time<std::chrono::nanoseconds> used{std::chrono::nanoseconds(now_ns_)};
    std::filesystem::last_write_time(path, std::chrono::file_clock::from_sys(used));
  }

  // Rounds as long as one finds something: a server has one every few seconds.
  void drop() {
    for (bool is_over = true; is_over;) {
      const auto report = retention_->enforce();
      ASSERT_TRUE(report) << report.error().text();
      const auto spans = spans_->drop_old(now_ns_ - limits_.traces_max_age_ns,
                                          static_cast<uint64_t>(limits_.traces_max_bytes));
      ASSERT_TRUE(spans) << spans.error().text();
      const bool is_full = *free_(path_) < limits_.wanted_free_bytes();
      const auto oldest = is_full ? spans_->drop_oldest() : Result<bool>(false);
      ASSERT_TRUE(oldest) << oldest.error().text();
      is_over = !report->empty() || *spans > 0 || *oldest;
    }
  }

  std::mt19937_64 random_{20'261'129};
  const std::string names_ = random_text(4 * kMiB);
  std::vector<Sent> profiles_;  // by sequence
};

// Each limit for itself, as of a large disk. 5 % more is for what none counts, whatever the limits: the write-ahead log of archive.db, of up to
// 7 MiB (1,000 pages, and the pages of 64 profiles that are dropped at once), and the pages of an hour's raw profiles.
TEST_F(RetentionDays, TheWholeFolderStaysWithinTheSumOfItsLimits) {
  RetentionLimits limits = kNoSizes;
  limits.raw_max_bytes = 28 * kMiB;
  limits.rows_max_bytes = 120 * kMiB;
  limits.symbols_max_bytes = 8 * kMiB;
  limits.traces_max_bytes = 12 * kMiB;
  const int64_t limit =
      limits.raw_max_bytes + limits.rows_max_bytes + limits.symbols_max_bytes + limits.traces_max_bytes;
  open(limits, max_block_bytes(limits, uint64_t{512} * kMiB), 2 * kMiB);
  int64_t largest = 0;
  for (int64_t hour = 0; hour < kHours; ++hour) {
    ASSERT_NO_FATAL_FAILURE(pass_hour());
    ASSERT_LE(folder_bytes(), limit / 100 * 105) << "hour " << hour << "\n" << largest_files();
    ASSERT_NO_FATAL_FAILURE(expect_oldest_went_first());
    ASSERT_TRUE(first_block_ == 1 || bytes_of_blocks() > limits.rows_max_bytes / 2) << "hour " << hour;
    largest = std::max(largest, folder_bytes());
    if (hour % 16 == 15) {
      ASSERT_NO_FATAL_FAILURE(expect_the_rest_is_answered()) << "hour " << hour;
    }
  }
  report_largest(largest, limit);
  EXPECT_GT(rows_dropped_, kHours * kProfilesOfHour / 2);
  EXPECT_GT(first_raw_, kHours * kProfilesOfHour / 2);
  EXPECT_GT(first_span_hour_, 0);
  EXPECT_GT(rolled_up_, 3);
}

// But for symbol tables, no limit is set but the room on a disk without other users.
TEST_F(RetentionDays, AFolderOnASmallDiskLeavesTheMinimumFree) {
  disk_bytes_ = 120 * kMiB;
  RetentionLimits limits = kNoSizes;
  limits.min_free_bytes = disk_bytes_ / 10;
  limits.symbols_max_bytes = 8 * kMiB;
  const int64_t limit = disk_bytes_ - limits.min_free_bytes;
  open(limits, 10 * kMiB, 2 * kMiB);
  int64_t largest = 0;
  for (int64_t hour = 0; hour < kHours; ++hour) {
    ASSERT_NO_FATAL_FAILURE(pass_hour());
    ASSERT_LE(folder_bytes(), limit / 100 * 105) << "hour " << hour << "\n" << largest_files();
    ASSERT_NO_FATAL_FAILURE(expect_oldest_went_first());
    largest = std::max(largest, folder_bytes());
    if (hour % 16 == 15) {
      ASSERT_NO_FATAL_FAILURE(expect_the_rest_is_answered()) << "hour " << hour;
    }
  }
  report_largest(largest, limit);
  EXPECT_GT(rows_dropped_, kHours * kProfilesOfHour / 2);
  EXPECT_GT(first_raw_, kHours * kProfilesOfHour / 2);
  EXPECT_GT(first_span_hour_, 0);
}

}  // namespace
}  // namespace plimsoll::store
