// Random operations on a data directory: profiles come, some of them twice or up to 72 hours late; rows are built, merged, asked for, of all
// times or of some; names change; blocks are sealed, rolled up, merged, and the oldest dropped; the directory is closed and opened again,
// backed up while it is open, and restored, with all that came after the backup gone. Every answer is the model's.
//
// PLIMSOLL_TEST_OPERATIONS   how many (20,000)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "proto/profile_codec.h"
#include "query/selection/sides.h"
#include "query/views/top.h"
#include "store/care/backup.h"
#include "store/catalogue/block_table.h"
#include "store/compaction/compactor.h"
#include "store/frames/binding_writer.h"
#include "store/ingest.h"
#include "store/merging/block_merger.h"
#include "store/model/bindings.h"
#include "store/rollup/roll_up.h"
#include "tests/fuzz/operations_model.h"
#include "tests/fuzz/seed.h"
#include "tests/profile_fixture.h"
#include "tests/temporary_directory.h"

namespace plimsoll::fuzz {
namespace {

using store::Ingest;

// Operations on one directory, before the next begins empty: each answer reads all that came before it.
constexpr uint64_t kOperationsOfLife = 4000;

constexpr uint32_t kAddresses = 12;
constexpr int64_t kFirstSecond = 1'700'000'000;
constexpr int64_t kNsPerSecond = 1'000'000'000;
// As long as daemons keep profiles, unless they are configured otherwise.
constexpr uint32_t kMaxLateSeconds = 72 * 3600;

uint64_t operations_wanted() {
  const char* const text = std::getenv("PLIMSOLL_TEST_OPERATIONS");
  return text == nullptr ? 20'000 : std::strtoull(text, nullptr, 10);
}

wire::Binary tool() {
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity("\x0a\x0b");
  binary.set_path("/usr/bin/tool");
  return binary;
}

struct Done {
  uint64_t profiles = 0;
  uint64_t duplicates = 0;
  uint64_t questions = 0;
  uint64_t merges = 0;
  uint64_t bindings = 0;
  uint64_t reopened = 0;
  uint64_t blocks = 0;  // of each life in the end
  uint64_t dropped = 0;
  uint64_t rolled_up = 0;
  uint64_t merged_blocks = 0;
  uint64_t late = 0;  // profiles, by an hour or more
  uint64_t backups = 0;
  uint64_t restored = 0;
};

class Life {
 public:
  Life(uint64_t seed, Done& done) : random_(seed), seed_(seed), done_(done) { open(); }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  ~Life() { done_.blocks += ingest_->blocks()->size(); }

  void operate() {
    const uint32_t choice = below(100);
    if (choice < 25) {
      send_new();
    } else if (choice < 33) {
      send_again();
    } else if (choice < 48) {
      build();
    } else if (choice < 77) {
      ask();
    } else if (choice < 79) {
      roll_up();
    } else if (choice < 80) {
      merge_blocks();
    } else if (choice < 89) {
      merge();
    } else if (choice < 98) {
      bind();
    } else if (choice < 99) {
      drop();
    } else {
      leave();
    }
  }

 private:
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  void close() {
    merger_.reset();
    roll_up_.reset();
    compactor_.reset();
    ingest_.reset();
  }

  void open() {
    close();
    auto ingest = Ingest::open(path_, {.block_limits = {.max_profiles = 10 + below(80)}});
    ASSERT_TRUE(ingest) << ingest.error().text();
    ingest_ = std::move(*ingest);
    const store::CompactionLimits limits{
        .max_rows = 50 + below(5000), .min_inputs = 2 + below(7), .max_inputs = 2 + below(9)};
    compactor_ = *store::Compactor::open(*ingest_, limits);
    const store::RollUpLimits kept{.keep_replaced = std::chrono::hours(below(2))};
    roll_up_ = std::make_unique<store::RollUp>(*ingest_, kept);
    const store::MergeLimits merged{.keep_replaced = std::chrono::hours(below(2))};
    merger_ = std::make_unique<store::BlockMerger>(*ingest_, merged);
    ++done_.reopened;
  }

  // Closed, backed up or restored.
  void leave() {
    const uint32_t choice = below(4);
    if (choice == 0) {
      back_up();
    } else if (choice == 1) {
      restore();
    } else {
      open();
    }
  }

  // While it is open: profiles wait to become rows, and files that were merged or rolled up are there still.
  void back_up() {
    const std::string path = folder_ / fmt::format("backup-{}", ++copies_);
    const auto report = store::back_up(path_, path);
    ASSERT_TRUE(report) << report.error().text();
    ASSERT_FALSE(report->is_damaged) << report->findings.front().what;
    if (backup_.has_value()) {
      std::filesystem::remove_all(backup_->path);
    }
    backup_ = Backup{path, model_, sent_.size(), last_bound_};
    ++done_.backups;
  }

  // As after the loss of the disk: it goes on from the backup.
  void restore() {
    if (!backup_.has_value()) {
      return;
    }
    const std::string path = folder_ / fmt::format("restored-{}", ++copies_);
    const auto report = store::restore(backup_->path, path);
    ASSERT_TRUE(report) << report.error().text();
    ASSERT_FALSE(report->is_damaged) << report->findings.front().what;
    close();
    std::filesystem::remove_all(path_);
    path_ = path;
    snapshots_ = std::make_unique<query::SnapshotCache>(path_);
    model_ = backup_->model;
    sent_.resize(backup_->sent);
    last_bound_ = backup_->last_bound;
    open();
    for (int question = 0; question < 3; ++question) {
      ask();
    }
    ++done_.restored;
  }

  void send_new() {
    // Now and then one was kept back.
    const uint32_t late = below(10) == 0 ? below(below(2) == 0 ? 1000 : kMaxLateSeconds) : 0;
    const int64_t second = now_s() + below(20) - late;
    done_.late += late >= 3600 ? 1 : 0;
    testing::ProfileSpec spec{.seed = seed_ * 1'000'000 + ++profiles_,
                              .machine = fmt::format("m{}", below(4)),
                              .from_ns = second * kNsPerSecond,
                              .events = {{.name = "cycles"}, {.name = "faults"}},
                              .stacks = ""};
    Samples samples;
    for (uint32_t line = 1 + below(8); line > 0; --line) {
      add_line(spec, samples);
    }
    wire::RawProfile profile = testing::make_profile(spec);
    // The first event and the first thread are those of such samples.
    const std::string thread = profile.threads(0).name();
    const std::string app = profile.processes(0).comm();
    for (uint32_t count = below(3); count > 0; --count) {
      const uint32_t address = below(kAddresses);
      const uint64_t hits = 1 + below(100);
      testing::add_sample(profile, tool(), wire::ELF, address, hits);
      samples[{spec.machine, "cycles", app, thread, {}, {}, {fmt::format("@{}", address)}, second}] += hits;
    }
    sent_.push_back(wire::encode(profile));
    const auto accepted = ingest_->accept(as_bytes(sent_.back()), {});
    ASSERT_TRUE(accepted) << accepted.error().text();
    ASSERT_EQ(accepted->acceptance, store::Acceptance::kNew);
    model_.accept(samples);
    ++done_.profiles;
  }

  void add_line(testing::ProfileSpec& spec, Samples& samples) {
    SampleKey key{.machine = spec.machine,
                  .event = below(3) == 0 ? "faults" : "cycles",
                  .app = fmt::format("app{}", below(3)),
                  .thread = fmt::format("t{}", below(3)),
                  .color = below(2) == 0 ? "" : fmt::format("c{}", below(4)),
                  .size = below(3) != 0 ? "" : fmt::format("s{}", below(3)),
                  .stack = {"main"},
                  .second = spec.from_ns / kNsPerSecond};
    for (uint32_t depth = below(4); depth > 0; --depth) {
      key.stack.push_back(fmt::format("f{}", below(6)));
    }
    const uint64_t hits = 1 + below(1000);
    const std::string color = key.color.empty() ? "" : "color:" + key.color;
    const std::string size = key.size.empty() ? "" : "size:" + key.size;
    spec.stacks += fmt::format("process={} thread={} labels={}{}{} event={} {} {}\n", key.app, key.thread,
                               color, color.empty() || size.empty() ? "" : ",", size, key.event,
                               fmt::join(key.stack, ";"), hits);
    samples[key] += hits;
  }

  void send_again() {
    if (!sent_.empty()) {
      const auto accepted = ingest_->accept(as_bytes(sent_[random_() % sent_.size()]), {});
      ASSERT_TRUE(accepted) << accepted.error().text();
      ASSERT_EQ(accepted->acceptance, store::Acceptance::kKnown);
      ++done_.duplicates;
    }
  }

  void build() {
    uint64_t built = 0;
    do {
      const auto report = ingest_->build_pending();
      ASSERT_TRUE(report) << report.error().text();
      ASSERT_EQ(report->unbuildable, 0);
      built = report->profiles;
    } while (built > 0);
    model_.build();
    bind_known();
  }

  void merge() {
    const auto report = below(2) == 0 ? compactor_->merge_once() : compactor_->merge_all();
    ASSERT_TRUE(report) << report.error().text();
    ASSERT_THAT(report->damaged, ::testing::IsEmpty());
    done_.merges += report->made;
  }

  void drop() {
    const auto blocks = ingest_->blocks();
    ASSERT_TRUE(ingest_->archive().drop_profiles(ingest_->built_up_to(), INT64_MAX, below(100)));
    // Some are kept for questions about times before others, and to be merged.
    if (blocks->size() > 4 + below(3)) {
      auto catalogue = *store::Catalogue::open(blocks->front().catalogue_path(), sqlite::OpenMode::kRead);
      const auto last = store::last_built_sequence(catalogue.database());
      ASSERT_TRUE(last && ingest_->drop_block(blocks->front()));
      model_.drop(static_cast<size_t>(*last));
      ++done_.dropped;
    }
  }

  // Questions that have the full rows go on with them.
  void roll_up() {
    const auto report = roll_up_->run_once_before(INT64_MAX);
    ASSERT_TRUE(report) << report.error().text();
    if (report->block == 0) {
      return;
    }
    const auto blocks = ingest_->blocks();
    const auto block = std::ranges::find(*blocks, report->block, &store::BlockFolder::number);
    ASSERT_EQ(block->generation, 1);
    auto catalogue = *store::Catalogue::open(block->catalogue_path(), sqlite::OpenMode::kRead);
    const auto first = store::accepted_before(catalogue.database());
    const auto last = store::last_built_sequence(catalogue.database());
    ASSERT_TRUE(first && last);
    model_.roll_up(static_cast<size_t>(*first), static_cast<size_t>(*last));
    ++done_.rolled_up;
  }

  // It changes no answer.
  void merge_blocks() {
    const auto report = merger_->run_once();
    ASSERT_TRUE(report) << report.error().text();
    done_.merged_blocks += static_cast<uint64_t>(report->blocks);
  }

  // Code of the tool gets another name, now and then one that other code has too.
  void bind() {
    const std::string place = fmt::format("@{}", below(kAddresses));
    const std::string function = fmt::format("f{}", below(20));
    const auto blocks = ingest_->blocks();
    size_t bound = 0;
    for (const store::BlockFolder& block : *blocks) {
      bound += bind(block, {{place, function}}, "");
    }
    if (bound > 0) {
      model_.bind(place, function);
      ++done_.bindings;
    }
  }

  // What has come lately is looked up in symbols that are known.
  void bind_known() {
    const auto blocks = ingest_->blocks();
    for (const store::BlockFolder& block : *blocks) {
      if (block.number >= last_bound_) {
        bind(block, model_.functions(), "AND id NOT IN (SELECT location FROM binding)");
      }
    }
    last_bound_ = blocks->back().number;
  }

  // How many locations of the block.
  size_t bind(const store::BlockFolder& block, const std::map<std::string, std::string>& functions,
              const std::string& condition) {
    std::vector<store::Binding> bindings;
    const auto written = ingest_->write_catalogue(block, [&](sqlite::Database& catalogue) -> Status {
      for (const auto& [place, function] : functions) {
        const Status listed = sqlite::for_each_row(
            catalogue.query("SELECT id FROM location WHERE kind = ? AND address = ? " + condition, wire::ELF,
                            std::stoi(place.substr(1))),
            [&](const sqlite::Statement& row) {
              bindings.push_back({static_cast<uint32_t>(row.integer(0)), {{.function = function}}});
            });
        if (!listed) {
          return listed;
        }
      }
      return store::BindingWriter(catalogue).bind(bindings, ++generation_);
    });
    EXPECT_TRUE(written) << written.error().text();
    return bindings.size();
  }

  int64_t now_s() const { return kFirstSecond + 2 * static_cast<int64_t>(profiles_); }

  Question random_question() {
    const std::vector<std::string> dimensions = {"machine",     "app",        "thread",
                                                 "label:color", "label:size", "function"};
    Question question{.event = below(3) == 0 ? "faults" : "cycles", .by = dimensions[below(6)]};
    if (below(2) == 0) {
      question.where = dimensions[below(5)];
      question.where_is = question.where == "machine"      ? fmt::format("m{}", below(5))
                          : question.where == "app"        ? fmt::format("app{}", below(4))
                          : question.where == "thread"     ? fmt::format("t{}", below(4))
                          : below(4) == 0                  ? ""
                          : question.where == "label:size" ? fmt::format("s{}", below(4))
                                                           : fmt::format("c{}", below(5));
    }
    if (below(2) == 0) {
      // Of the time that most profiles are of, or of that of the late ones.
      const bool is_recent = below(3) != 0;
      question.since_s =
          now_s() - below(is_recent ? 1 + 2 * static_cast<uint32_t>(profiles_) : kMaxLateSeconds);
      question.until_s =
          below(2) == 0 ? INT64_MAX : question.since_s + 1 + below(is_recent ? 500 : kMaxLateSeconds);
    }
    return question;
  }

  void ask() {
    const Question question = random_question();
    if (!model_.has(question.event)) {
      return;
    }
    query::Parameters parameters = {{"event", question.event}, {"by", question.by}, {"limit", "1000"}};
    if (!question.where.empty()) {
      parameters.emplace_back("where", question.where + "=" + question.where_is);
    }
    if (question.since_s > 0) {
      parameters.emplace_back("since", format_time(question.since_s * kNsPerSecond));
    }
    if (question.until_s < INT64_MAX) {
      parameters.emplace_back("until", format_time(question.until_s * kNsPerSecond));
    }
    // The cache's are of the same moment; loading afresh takes the other way.
    const store::TimeSpans times = query::times_of(parameters, 0);
    const auto snapshot = below(4) == 0 ? query::Snapshot::load(path_, times) : snapshots_->newest(times);
    ASSERT_TRUE(snapshot) << snapshot.error().text();
    const auto table = query::top(*query::parse_top(parameters, 0), **snapshot);
    ASSERT_TRUE(table) << table.error().text();
    Answer answer;
    for (const auto& row : table->rows) {
      answer[std::get<std::string>(row[0])] = {std::get<double>(row[query::column_of(*table, "self")]),
                                               std::get<double>(row[query::column_of(*table, "total")])};
    }
    ASSERT_EQ(answer, model_.answer(question)) << question.text();
    ++done_.questions;
  }

  std::mt19937_64 random_;
  uint64_t seed_;
  Done& done_;
  testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "data";
  std::unique_ptr<Ingest> ingest_;
  std::unique_ptr<store::Compactor> compactor_;
  std::unique_ptr<store::RollUp> roll_up_;
  std::unique_ptr<store::BlockMerger> merger_;
  std::unique_ptr<query::SnapshotCache> snapshots_ = std::make_unique<query::SnapshotCache>(path_);
  Model model_;
  std::vector<std::string> sent_;
  // The newest, and what it has to answer.
  struct Backup {
    std::string path;
    Model model;
    size_t sent = 0;
    int64_t last_bound = 1;
  };
  std::optional<Backup> backup_;
  int copies_ = 0;
  uint64_t profiles_ = 0;
  int64_t generation_ = 1;
  int64_t last_bound_ = 1;  // block whose locations may lack names that are known
};

TEST(FuzzOperations, EveryAnswerIsTheModels) {
  const uint64_t wanted = operations_wanted();
  Done done;
  for (uint64_t operation = 0; operation < wanted;) {
    const uint64_t life_seed = seed(1) + operation / kOperationsOfLife;
    Life life(life_seed, done);
    for (uint64_t i = 0; i < kOperationsOfLife && operation < wanted; ++i, ++operation) {
      SCOPED_TRACE(fmt::format("operation {} of the life of seed {}", i, life_seed));
      life.operate();
      ASSERT_FALSE(HasFailure());
    }
  }
  std::printf(
      "%lu operations: %lu profiles, %lu again, %lu answers, %lu merges, %lu names, opened %lu times, %lu "
      "blocks left, %lu rolled up, %lu merged and %lu dropped; %lu late profiles, %lu backups, %lu "
      "restored\n",
      wanted, done.profiles, done.duplicates, done.questions, done.merges, done.bindings, done.reopened,
      done.blocks, done.rolled_up, done.merged_blocks, done.dropped, done.late, done.backups, done.restored);
  EXPECT_GT(done.questions, wanted / 10);
  EXPECT_GT(done.merges, wanted / 100);
  EXPECT_GT(done.blocks, wanted / 2000);
  EXPECT_GT(done.dropped, wanted / 2000);
  EXPECT_GT(done.rolled_up, wanted / 2000);
  EXPECT_GT(done.merged_blocks, wanted / 4000);
  EXPECT_GT(done.late, wanted / 2000);
  EXPECT_GT(done.backups, wanted / 1000);
  EXPECT_GT(done.restored, wanted / 1000);
}

}  // namespace
}  // namespace plimsoll::fuzz
