// Recordings of bursts in the store: the local sink and source against the model, with restarts, and with a disk that fails or a process that
// ends at each step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "sqlite/database.h"
#include "store/bursts/local_burst_sink.h"
#include "store/bursts/local_burst_source.h"
#include "tests/conformance/memory_bursts.h"
#include "tests/store/file_layer.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {
namespace {

using store::BurstQuestion;
using store::LocalBurstSink;
using store::LocalBurstSource;
using store::StoredBursts;
using ::testing::IsEmpty;

constexpr int64_t kMinute = int64_t{60} * 1'000'000'000;
// Exit status of a process that was told that its recording is kept.
constexpr int kRecordingAdded = 10;

struct MadeRecording {
  std::string id;
  StoredBursts summary;
  std::string content;
};

class RandomRecordings {
 public:
  explicit RandomRecordings(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t bound) { return random_() % bound; }

  MadeRecording next() {
    MadeRecording made;
    made.id = text(store::kBurstIdBytes);
    made.content = text(1 + below(2000));
    made.summary = {.machine = "m" + std::to_string(below(3)),
                    .draw = below(2) == 0 ? "" : "d" + std::to_string(below(2)),
                    .config_bits = 0x7f00,
                    .clock = {below(2) == 0, static_cast<int64_t>(below(9)), static_cast<int64_t>(below(9))},
                    .begin_ns = static_cast<int64_t>(below(50)) * kMinute,
                    .bursts = 1 + below(9),
                    .events = below(1000),
                    .lost = below(2)};
    made.summary.end_ns = made.summary.begin_ns + static_cast<int64_t>(1 + below(10)) * kMinute;
    return made;
  }

 private:
  std::string text(size_t size) {
    std::string made(size, '\0');
    for (char& letter : made) {
      letter = static_cast<char>(random_());
    }
    return made;
  }

  std::mt19937_64 random_;
};

// Operations differ in how many steps they take: the end is where several in a row had ended before the step at which they were to fail.
class StepsBeyond {
 public:
  bool has_more() const { return beyond_ < 8; }
  void note(bool was_reached) { beyond_ = was_reached ? 0 : beyond_ + 1; }

 private:
  int beyond_ = 0;
};

class BurstSinkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FileLayer::only_skip_syncs();
    reopen();
  }

  std::unique_ptr<LocalBurstSink> sink_of(const std::string& directory_id) {
    return std::make_unique<LocalBurstSink>(path_, directory_id, [this] { return now_ns_; });
  }

  // As after a restart: its first call removes what was left behind.
  void reopen() {
    sink_.reset();
    sink_ = sink_of("0123456789abcdef");
    const auto dropped = sink_->drop_old(INT64_MIN, UINT64_MAX);
    ASSERT_TRUE(dropped) << dropped.error().text();
    ASSERT_EQ(*dropped, 0);
  }

  static Result<bool> add_to(store::BurstSink& sink, const MadeRecording& made) {
    return sink.add(made.id, made.summary, as_bytes(made.content));
  }

  // What the source shows is what the model has: of all, of some, and each recording's bytes.
  bool shows(MemoryBursts& model) {
    for (const auto& question : {BurstQuestion(), BurstQuestion{.times = {10 * kMinute, 30 * kMinute}},
                                 BurstQuestion{.machine = "m1"}, BurstQuestion{.draw = "d1"},
                                 BurstQuestion{.newest = 2}, BurstQuestion{.draw = "d1", .newest = 1}}) {
      const auto shown = source_.list(question);
      if (!shown || *shown != *model.list(question)) {
        return false;
      }
    }
    for (size_t i = 0; i < model.size(); ++i) {
      const auto read = source_.read(model.id_of(i));
      if (!read || *read != *model.read(model.id_of(i))) {
        return false;
      }
    }
    return true;
  }

  size_t files() const {
    size_t found = 0;
    const std::string folder = store::recordings_folder(path_);
    if (std::filesystem::exists(folder)) {
      for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        found += entry.is_regular_file() ? 1 : 0;
      }
    }
    return found;
  }

  TemporaryDirectory folder_;
  const std::string path_ = folder_ / "bursts";
  int64_t now_ns_ = 1000 * kMinute;
  std::unique_ptr<LocalBurstSink> sink_;
  LocalBurstSource source_{path_};
  MemoryBursts model_{[this] { return now_ns_; }};
};

TEST_F(BurstSinkTest, HasNothingBeforeTheFirstRecording) {
  EXPECT_THAT(*source_.list({}), IsEmpty());
  EXPECT_EQ(source_.read(std::string(16, 'a')).error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_FALSE(*sink_->drop_oldest());
}

TEST_F(BurstSinkTest, DoesWhatTheModelDoes) {
  RandomRecordings random(7);
  std::vector<MadeRecording> sent;
  for (int step = 0; step < 600; ++step) {
    SCOPED_TRACE(step);
    now_ns_ += static_cast<int64_t>(random.below(kMinute));
    const uint64_t action = random.below(10);
    if (action < 5 || sent.empty()) {
      sent.push_back(random.next());
      ASSERT_EQ(add_to(*sink_, sent.back()).value_or(false), add_to(model_, sent.back()).value_or(false));
    } else if (action < 7) {
      // Again, and now and then with other content.
      MadeRecording again = sent[random.below(sent.size())];
      again.content += random.below(4) == 0 ? "other" : "";
      const auto added = add_to(*sink_, again);
      const auto expected = add_to(model_, again);
      ASSERT_EQ(added.has_value(), expected.has_value());
      ASSERT_TRUE(added ? *added == *expected : added.error().code == ErrorCode::kConflict);
    } else if (action == 7) {
      const int64_t before_ns = now_ns_ - static_cast<int64_t>(random.below(40)) * kMinute;
      const uint64_t max_bytes = 2000 + random.below(40'000);
      ASSERT_EQ(*sink_->drop_old(before_ns, max_bytes), *model_.drop_old(before_ns, max_bytes));
    } else if (action == 8) {
      ASSERT_EQ(*sink_->drop_oldest(), *model_.drop_oldest());
    } else {
      ASSERT_NO_FATAL_FAILURE(reopen());
    }
    ASSERT_TRUE(shows(model_));
    ASSERT_EQ(files(), model_.size());
  }
}

// As a catalogue was before recordings named their draws.
TEST_F(BurstSinkTest, ReadsAndUpgradesACatalogueWithoutDraws) {
  RandomRecordings random(5);
  MadeRecording old = random.next();
  old.summary.draw.clear();
  ASSERT_TRUE(*add_to(*sink_, old));
  ASSERT_TRUE(*add_to(model_, old));
  sink_.reset();
  {
    auto database = sqlite::Database::open(path_ + "/catalogue.db", sqlite::OpenMode::kReadWrite);
    ASSERT_TRUE(database && database->run("ALTER TABLE recording DROP COLUMN draw"));
  }
  EXPECT_TRUE(shows(model_));
  ASSERT_NO_FATAL_FAILURE(reopen());
  MadeRecording drawn = random.next();
  drawn.summary.draw = "d1";
  ASSERT_TRUE(*add_to(*sink_, drawn));
  ASSERT_TRUE(*add_to(model_, drawn));
  EXPECT_TRUE(shows(model_));
  EXPECT_EQ(source_.list({.draw = "d1"})->size(), 1);
}

TEST_F(BurstSinkTest, RefusesOverTheLimitOfAQuestionAndAnIdOfAnotherSize) {
  RandomRecordings random(3);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(*add_to(*sink_, random.next()));
  }
  EXPECT_EQ(source_.list({.max_recordings = 2}).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(source_.list({.max_recordings = 3})->size(), 3);
  EXPECT_EQ(source_.list({.draw = "another", .max_recordings = 2})->size(), 0) << "of those asked for";
  MadeRecording made = random.next();
  made.id += "x";
  EXPECT_EQ(add_to(*sink_, made).error().code, ErrorCode::kInvalid);
}

// The first one makes the catalogue, a later one only adds to it.
TEST_F(BurstSinkTest, ARecordingThatFailsAtAnyStepIsThereAsAWholeOrNotAtAll) {
  RandomRecordings random(11);
  for (const auto kind : {FileFault::Kind::kNoSpace, FileFault::Kind::kIoError, FileFault::Kind::kShort}) {
    int failures = 0;
    StepsBeyond beyond;
    for (uint64_t step = 0; beyond.has_more(); ++step) {
      SCOPED_TRACE(step);
      // Now and then the catalogue is made, too, which takes more steps.
      if (step % 5 == 0) {
        sink_.reset();
        std::filesystem::remove_all(path_);
        model_ = MemoryBursts([this] { return now_ns_; });
        ASSERT_NO_FATAL_FAILURE(reopen());
      }
      const MadeRecording made = random.next();
      MemoryBursts with_it(model_);
      ASSERT_TRUE(*add_to(with_it, made));
      FileLayer::fail(folder_.path(), {.kind = kind, .first = step});
      const auto added = add_to(*sink_, made);
      beyond.note(FileLayer::operations() > step);
      FileLayer::only_skip_syncs();
      failures += added ? 0 : 1;
      ASSERT_TRUE(shows(with_it) || (!added && shows(model_)));
      if (random.below(2) == 0) {
        ASSERT_NO_FATAL_FAILURE(reopen());
      }
      ASSERT_TRUE(add_to(*sink_, made));
      ASSERT_TRUE(shows(with_it));
      model_ = with_it;
    }
    EXPECT_GE(failures, 3);
  }
}

TEST_F(BurstSinkTest, AProcessThatEndsAtAnyStepLeavesARecordingAsAWholeOrNotAtAll) {
  RandomRecordings random(12);
  StepsBeyond beyond;
  int ends = 0;
  for (uint64_t step = 0; beyond.has_more(); ++step) {
    SCOPED_TRACE(step);
    const MadeRecording made = random.next();
    MemoryBursts with_it(model_);
    ASSERT_TRUE(*add_to(with_it, made));
    // A connection must not be used on both sides of a fork.
    sink_.reset();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      FileLayer::fail(folder_.path(), {.kind = FileFault::Kind::kEnd, .first = step});
      const auto sink = sink_of("0123456789abcdef");
      // The layer ends it with 0.
      ::_exit(add_to(*sink, made) ? kRecordingAdded : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const bool was_reached = !WIFEXITED(status) || WEXITSTATUS(status) != kRecordingAdded;
    beyond.note(was_reached);
    ends += was_reached ? 1 : 0;
    ASSERT_NO_FATAL_FAILURE(reopen());
    ASSERT_TRUE(shows(with_it) || (was_reached && shows(model_)));
    ASSERT_TRUE(add_to(*sink_, made));
    ASSERT_TRUE(shows(with_it));
    model_ = with_it;
    ASSERT_EQ(files(), model_.size());
  }
  EXPECT_GE(ends, 3);
}

TEST_F(BurstSinkTest, DropsAtAnyFailingStepAWholeRecordingOrNone) {
  RandomRecordings random(13);
  StepsBeyond beyond;
  for (uint64_t step = 0; beyond.has_more(); ++step) {
    SCOPED_TRACE(step);
    for (int i = 0; i < 2; ++i) {
      const MadeRecording made = random.next();
      ASSERT_TRUE(*add_to(*sink_, made) && *add_to(model_, made));
    }
    MemoryBursts without(model_);
    ASSERT_TRUE(*without.drop_oldest());
    FileLayer::fail(folder_.path(), {.kind = FileFault::Kind::kIoError, .first = step});
    const auto dropped = sink_->drop_oldest();
    beyond.note(FileLayer::operations() > step);
    FileLayer::only_skip_syncs();
    const bool is_gone = shows(without);
    ASSERT_TRUE(is_gone || (!dropped && shows(model_)));
    model_ = is_gone ? without : model_;
    ASSERT_NO_FATAL_FAILURE(reopen());
    ASSERT_TRUE(shows(model_));
    ASSERT_EQ(files(), model_.size());
  }
}

TEST_F(BurstSinkTest, RefusesRecordingsWithoutTheirCatalogueAndThoseOfAnotherDirectory) {
  RandomRecordings random(17);
  ASSERT_TRUE(*add_to(*sink_, random.next()));
  sink_.reset();
  EXPECT_EQ(add_to(*sink_of("fedcba9876543210"), random.next()).error().code, ErrorCode::kConflict);
  std::filesystem::remove(path_ + "/catalogue.db");
  const auto without = sink_of("0123456789abcdef");
  EXPECT_EQ(add_to(*without, random.next()).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(without->drop_oldest().error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace plimsoll::testing
