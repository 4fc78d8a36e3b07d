#include "tests/store/crash_scenarios.h"

#include <filesystem>
#include <map>

#include "base/durable_file.h"
#include "proto/profile_codec.h"
#include "query/views/top.h"
#include "store/care/backup.h"
#include "store/care/block_repair.h"
#include "store/care/check.h"
#include "store/compaction/compactor.h"
#include "store/ingest.h"
#include "store/retention/retention.h"
#include "store/rollup/roll_up.h"
#include "tests/profile_fixture.h"
#include "tests/unit/store/format_3.h"
#include "tests/unit/store/format_6.h"
#include "tests/unit/store/old_segment_writer.h"
#include "tests/unit/store/segment_fixture.h"
#include "tests/unit/store/segment_version_1_writer.h"

namespace plimsoll::testing {
namespace {

constexpr int64_t kMinuteNs = 60 * int64_t{1'000'000'000};
constexpr int64_t kDayNs = 24 * 60 * kMinuteNs;
constexpr int64_t kStartNs = 1'700'000'000'000'000'000;

int64_t start_of(uint64_t profile) {
  return kStartNs + static_cast<int64_t>(profile) * 20 * kMinuteNs;
}

// Each has functions of its own, and one that some share.
wire::RawProfile crash_profile(uint64_t number) {
  return make_profile(
      {.seed = number,
       .machine = fmt::format("m{}", number % 3),
       .from_ns = start_of(number),
       .job = number % 2 == 0 ? "db" : "web",
       .stacks = fmt::format("main;f{0} {1}\nthread=io main;read;g{0}@g.cc:{0} {2}\nmain;shared {0}\n",
                             number, 1 + number, 2 * number)});
}

using Answer = std::map<std::string, double>;

Answer answer_of(const Profiles& profiles) {
  Answer answer;
  for (const uint64_t number : profiles) {
    const auto hits = static_cast<double>(number);
    answer[fmt::format("f{}", number)] += 1 + hits;
    answer[fmt::format("g{}", number)] += 2 * hits;
    answer["shared"] += hits;
  }
  return answer;
}

Result<Answer> ask(const std::string& data_dir) {
  const auto snapshot = query::Snapshot::load(data_dir);
  const auto request = query::parse_top({{"limit", "1000"}, {"margins", "no"}}, 0);
  const auto table = !snapshot  ? propagate(snapshot)
                     : !request ? propagate(request)
                                : query::top(*request, **snapshot);
  if (!table) {
    return propagate(table);
  }
  Answer answer;
  for (const auto& row : table->rows) {
    if (const double self = std::get<double>(row[1]); self != 0) {
      answer[std::get<std::string>(row[0])] = self;
    }
  }
  return answer;
}

std::string text_of(const Answer& answer) {
  std::string text;
  for (const auto& [function, hits] : answer) {
    text += fmt::format(" {}={}", function, hits);
  }
  return text;
}

// Nothing where the answer is of these.
std::string wrong_answer(const std::string& data_dir, const Profiles& expected) {
  const auto answer = ask(data_dir);
  if (!answer) {
    return "asking: " + answer.error().text();
  }
  const Answer right = answer_of(expected);
  return *answer == right ? "" : fmt::format("the answer is{}, and not{}", text_of(*answer), text_of(right));
}

std::string damage_in(const std::string& data_dir) {
  const auto report = store::check_store(data_dir);
  if (!report) {
    return "checking: " + report.error().text();
  }
  for (const store::Finding& finding : report->findings) {
    if (finding.is_damage) {
      return fmt::format("damage: {}: {}", finding.file, finding.what);
    }
  }
  return "";
}

Profiles up_to(uint64_t last) {
  Profiles profiles;
  for (uint64_t number = 1; number <= last; ++number) {
    profiles.insert(number);
  }
  return profiles;
}

store::IngestOptions options_of(uint64_t profiles_per_block) {
  // One time for all: blocks do not grow old, and a run does the same each time.
  return {.block_limits = {.max_profiles = profiles_per_block}, .now_ns = [] { return kStartNs + kDayNs; }};
}

Status accept(store::Ingest& ingest, uint64_t number, Profiles* unknown = nullptr) {
  const auto accepted = ingest.accept(as_bytes(wire::encode(crash_profile(number))), {});
  if (accepted && unknown != nullptr && accepted->acceptance == store::Acceptance::kNew) {
    unknown->insert(number);
  }
  return accepted ? Status() : propagate(accepted);
}

Status build(store::Ingest& ingest) {
  const auto built = ingest.build_pending();
  return built ? Status() : propagate(built);
}

Status build_all(store::Ingest& ingest) {
  while (true) {
    const auto built = ingest.build_pending();
    if (!built || built->profiles + built->unbuildable == 0) {
      return built ? Status() : propagate(built);
    }
  }
}

void must(const Status& status) {
  if (!status) {
    std::fprintf(stderr, "preparing: %s\n", status.error().text().c_str());
    std::abort();
  }
}

// Profiles 1 to `last`, each a segment.
void fill(const std::string& data_dir, uint64_t last, uint64_t per_block) {
  auto ingest = store::Ingest::open(data_dir, options_of(per_block));
  must(ingest ? Status() : propagate(ingest));
  for (uint64_t number = 1; number <= last; ++number) {
    must(accept(**ingest, number));
    must(build(**ingest));
  }
}

using OpenIngest = std::unique_ptr<store::Ingest>;

OpenIngest open(const std::string& data_dir, uint64_t per_block, Witness& witness) {
  OpenIngest ingest;
  witness.step([&]() -> Status {
    auto opened = store::Ingest::open(data_dir, options_of(per_block));
    if (opened) {
      ingest = std::move(*opened);
    }
    return opened ? Status() : propagate(opened);
  });
  return ingest;
}

void accept_and_acknowledge(store::Ingest& ingest, uint64_t number, Witness& witness) {
  if (witness.step([&] { return accept(ingest, number); })) {
    witness.acknowledge(number);
  }
}

// That all profiles are there once when they are sent again, whatever was going on.
class WholeScenario : public Scenario {
 public:
  WholeScenario(std::string name, uint64_t per_block, uint64_t last)
      : Scenario(std::move(name)), per_block_(per_block), last_(last) {}

  std::string check(const std::string& folder, const Profiles& acknowledged) const override {
    const std::string data_dir = folder + "/data";
    {
      const auto ingest = store::Ingest::open(data_dir, options_of(per_block_));
      if (!ingest) {
        return "opening: " + ingest.error().text();
      }
      Profiles unknown;
      for (uint64_t number = 1; number <= last_; ++number) {
        if (const Status accepted = accept(**ingest, number, &unknown); !accepted) {
          return fmt::format("sending profile {} again: {}", number, accepted.error().text());
        }
        if (acknowledged.contains(number) && unknown.contains(number)) {
          return fmt::format("profile {} was acknowledged, and is gone", number);
        }
      }
      if (const Status built = build_all(**ingest); !built) {
        return "building: " + built.error().text();
      }
      if (std::string wrong = finish(folder, **ingest); !wrong.empty()) {
        return wrong;
      }
    }
    const std::string wrong = wrong_answer(data_dir, up_to(last_));
    return wrong.empty() ? damage_in(data_dir) : wrong;
  }

 protected:
  // Before the answer is compared.
  virtual std::string finish(const std::string& /*folder*/, store::Ingest& /*ingest*/) const { return ""; }

  uint64_t per_block_;
  uint64_t last_;
};

class Creating : public WholeScenario {
 public:
  Creating() : WholeScenario("creating", 4, 1) {}
  Profiles prepare(const std::string& folder) const override {
    std::filesystem::create_directories(folder);
    return {};
  }
  void run(const std::string& folder, Witness& witness) const override {
    if (const OpenIngest ingest = open(folder + "/data", per_block_, witness)) {
      witness.step([&] {
        const auto draws = ingest->directory().open_draws();
        return draws ? Status() : propagate(draws);
      });
      accept_and_acknowledge(*ingest, 1, witness);
    }
  }
};

class Accepting : public WholeScenario {
 public:
  Accepting() : WholeScenario("accepting", 20, 14) {}
  Profiles prepare(const std::string& folder) const override {
    fill(folder + "/data", 2, per_block_);
    return up_to(2);
  }
  void run(const std::string& folder, Witness& witness) const override {
    if (const OpenIngest ingest = open(folder + "/data", per_block_, witness)) {
      for (uint64_t number = 3; number <= last_; ++number) {
        accept_and_acknowledge(*ingest, number, witness);
        // As from a daemon that has not heard of it.
        accept_and_acknowledge(*ingest, number - 1, witness);
      }
    }
  }
};

class Building : public WholeScenario {
 public:
  Building() : WholeScenario("building", 20, 8) {}
  Profiles prepare(const std::string& folder) const override {
    fill(folder + "/data", 2, per_block_);
    return up_to(2);
  }
  void run(const std::string& folder, Witness& witness) const override {
    if (const OpenIngest ingest = open(folder + "/data", per_block_, witness)) {
      for (uint64_t number = 3; number <= last_; ++number) {
        accept_and_acknowledge(*ingest, number, witness);
        // One, or two at once.
        if (number % 3 != 0) {
          witness.step([&] { return build(*ingest); });
        }
      }
    }
  }
};

class Sealing : public WholeScenario {
 public:
  Sealing() : WholeScenario("sealing", 2, 8) {}
  Profiles prepare(const std::string& folder) const override {
    fill(folder + "/data", 1, per_block_);
    return up_to(1);
  }
  void run(const std::string& folder, Witness& witness) const override {
    if (const OpenIngest ingest = open(folder + "/data", per_block_, witness)) {
      for (uint64_t number = 2; number <= last_; ++number) {
        accept_and_acknowledge(*ingest, number, witness);
        witness.step([&] { return build(*ingest); });
      }
    }
  }
};

class Merging : public WholeScenario {
 public:
  Merging() : WholeScenario("merging", 9, 14) {}
  Profiles prepare(const std::string& folder) const override {
    fill(folder + "/data", last_, per_block_);
    return up_to(last_);
  }
  void run(const std::string& folder, Witness& witness) const override {
    if (const OpenIngest ingest = open(folder + "/data", per_block_, witness)) {
      const auto compactor = store::Compactor::open(*ingest, {.min_inputs = 2, .max_inputs = 3});
      witness.step([&]() -> Status {
        const auto merged = (*compactor)->merge_all();
        return merged && !merged->damaged.empty() ? fail(ErrorCode::kCorrupt, "{}", merged->damaged.front())
               : merged                           ? Status()
                                                  : propagate(merged);
      });
    }
  }
};

// Each time it is asked, so that a block that failed is due again.
std::chrono::steady_clock::time_point hours_later() {
  static std::chrono::steady_clock::time_point now;
  return now += std::chrono::hours(2);
}

class RollingUp : public WholeScenario {
 public:
  RollingUp() : WholeScenario("rolling up", 3, 10) {}
  Profiles prepare(const std::string& folder) const override {
    fill(folder + "/data", last_, per_block_);
    return up_to(last_);
  }
  void run(const std::string& folder, Witness& witness) const override {
    if (const OpenIngest ingest = open(folder + "/data", per_block_, witness)) {
      store::RollUp roll_up(*ingest, {.full_max_age_ns = 1},
                            {.now_ns = [] { return kStartNs + kDayNs; }, .steady_now = hours_later});
      for (int block = 1; block <= 3; ++block) {
        witness.step([&]() -> Status {
          const auto report = roll_up.run_once_before(INT64_MAX);
          return report ? Status() : propagate(report);
        });
      }
    }
  }

 protected:
  std::string finish(const std::string& /*folder*/, store::Ingest& ingest) const override {
    store::RollUp roll_up(ingest, {.full_max_age_ns = 1}, {.now_ns = [] { return kStartNs + kDayNs; }});
    while (true) {
      const auto report = roll_up.run_once_before(INT64_MAX);
      if (!report) {
        return "rolling up: " + report.error().text();
      }
      if (report->block == 0) {
        break;
      }
    }
    const auto blocks = ingest.blocks();
    for (size_t i = 0; blocks && i + 1 < blocks->size(); ++i) {
      if ((*blocks)[i].generation == 0) {
        return fmt::format("block {} is not rolled up", (*blocks)[i].number);
      }
    }
    return "";
  }
};

// Old blocks, raw profiles and IDs.
class Dropping : public Scenario {
 public:
  Dropping() : Scenario("dropping") {}

  Profiles prepare(const std::string& folder) const override {
    fill(folder + "/data", kLast, kPerBlock);
    return up_to(kLast);
  }

  void run(const std::string& folder, Witness& witness) const override {
    if (const OpenIngest ingest = open(folder + "/data", kPerBlock, witness)) {
      witness.step([&] { return enforce(*ingest); });
    }
  }

  std::string check(const std::string& folder, const Profiles& /*acknowledged*/) const override {
    const std::string data_dir = folder + "/data";
    {
      const auto ingest = store::Ingest::open(data_dir, options_of(kPerBlock));
      if (!ingest) {
        return "opening: " + ingest.error().text();
      }
      if (const Status built = build_all(**ingest); !built) {
        return "building: " + built.error().text();
      }
      std::string wrong;
      for (uint64_t blocks = 0; blocks <= kDropped; ++blocks) {
        wrong = wrong_answer(data_dir, after_block(blocks));
        if (wrong.empty()) {
          break;
        }
      }
      if (!wrong.empty()) {
        return "neither all, nor without the oldest blocks: " + wrong;
      }
      if (const Status enforced = enforce(**ingest); !enforced) {
        return "dropping: " + enforced.error().text();
      }
    }
    const std::string wrong = wrong_answer(data_dir, after_block(kDropped));
    return wrong.empty() ? damage_in(data_dir) : wrong;
  }

 private:
  static constexpr uint64_t kPerBlock = 3;
  static constexpr uint64_t kDropped = 2;  // blocks
  static constexpr uint64_t kLast = 10;

  static Profiles after_block(uint64_t block) {
    Profiles profiles = up_to(kLast);
    profiles.erase(profiles.begin(), profiles.upper_bound(block * kPerBlock));
    return profiles;
  }

  static Status enforce(store::Ingest& ingest) {
    // Behind the window of the last profile of the last block that is to go; raw profiles were all received at one time, a day later, and
    // are too many.
    store::RetentionLimits limits;
    limits.rows_max_age_ns = 10 * kMinuteNs;
    limits.rows_max_bytes = INT64_MAX;
    limits.raw_max_age_ns = kDayNs;
    limits.raw_max_bytes = 30'000;
    limits.symbols_max_bytes = INT64_MAX;
    limits.max_upload_age_ns = 1;
    const int64_t now_ns = start_of(kDropped * kPerBlock) + 11 * kMinuteNs;
    store::Retention retention(ingest, limits, {.now_ns = [=] { return now_ns; }});
    const auto report = retention.enforce();
    return report ? Status() : propagate(report);
  }
};

enum class DamagedPart { kCatalogue, kSegment };

class Rebuilding : public WholeScenario {
 public:
  explicit Rebuilding(DamagedPart part)
      : WholeScenario(part == DamagedPart::kCatalogue ? "rebuilding a catalogue" : "rebuilding a segment", 4,
                      10),
        part_(part) {}

  Profiles prepare(const std::string& folder) const override {
    fill(folder + "/data", last_, per_block_);
    const std::string block = folder + "/data/blocks/000002";
    const std::string damaged =
        part_ == DamagedPart::kCatalogue
            ? block + "/catalogue.db"
            : std::filesystem::directory_iterator(block + "/segments")->path().string();
    std::filesystem::resize_file(damaged, 0);
    return up_to(last_);
  }

  void run(const std::string& folder, Witness& witness) const override {
    witness.step([&] { return rebuild(folder); });
  }

  std::string check(const std::string& folder, const Profiles& acknowledged) const override {
    {
      const auto ingest = store::Ingest::open(folder + "/data", options_of(per_block_));
      if (!ingest) {
        return "opening: " + ingest.error().text();
      }
    }
    if (part_ == DamagedPart::kCatalogue) {
      Profiles without = up_to(last_);
      without.erase(without.upper_bound(per_block_), without.upper_bound(2 * per_block_));
      const std::string wrong = wrong_answer(folder + "/data", without);
      if (!wrong.empty() && !wrong_answer(folder + "/data", up_to(last_)).empty()) {
        return "neither all of the block nor nothing: " + wrong;
      }
    }
    if (const Status rebuilt = rebuild(folder); !rebuilt) {
      return "rebuilding again: " + rebuilt.error().text();
    }
    return WholeScenario::check(folder, acknowledged);
  }

 private:
  static Status rebuild(const std::string& folder) {
    const auto report = store::rebuild_block(folder + "/data", 2);
    return report || report.error().code == ErrorCode::kConflict ? Status() : propagate(report);
  }

  DamagedPart part_;
};

// A directory as an older program left it.
class Upgrading : public WholeScenario {
 public:
  explicit Upgrading(int format)
      : WholeScenario(fmt::format("upgrading format {}", format), 20, 4), format_(format) {}

  Profiles prepare(const std::string& folder) const override {
    const std::string data_dir = folder + "/data";
    fill(data_dir, last_, per_block_);
    const std::string block = data_dir + "/blocks/000001";
    if (format_ <= 8) {
      rewrite_segments(block);
    }
    {
      auto catalogue = *store::Catalogue::open(block + "/catalogue.db", sqlite::OpenMode::kReadWrite);
      must(catalogue.database().run("DROP TABLE label_set"));
      if (format_ <= 3) {
        must(catalogue.database().run(store::kTablesOfFormat3));
      }
    }
    if (format_ <= 7) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir)) {
        if (entry.path().extension() == ".db") {
          must(sqlite::Database::open(entry.path(), sqlite::OpenMode::kReadWrite)
                   ->run("DROP TABLE directory_identity"));
        }
      }
      std::filesystem::remove(data_dir + "/identity");
    }
    if (format_ <= 6) {
      make_format_6(data_dir);
    }
    must(write_file_durably(data_dir + "/FORMAT", as_bytes(fmt::format("{}\n", format_))));
    return up_to(last_);
  }

  void run(const std::string& folder, Witness& witness) const override {
    open(folder + "/data", per_block_, witness);
  }

 private:
  void rewrite_segments(const std::string& block) const {
    auto catalogue = *store::Catalogue::open(block + "/catalogue.db", sqlite::OpenMode::kReadWrite);
    store::RowOrder order;
    must(order.add_workloads_of(catalogue.database()));
    for (const auto& file : std::filesystem::directory_iterator(block + "/segments")) {
      const auto rows = *store::scan_rows(file.path().string());
      const std::string old = format_ <= 4   ? store::encode_segment_of_version_1(rows)
                              : format_ == 5 ? store::OldSegmentWriter(2).encode(rows)
                                             : store::OldSegmentWriter(3).encode(rows, order);
      must(write_file_durably(file.path().string(), as_bytes(old)));
      must(catalogue.database().execute("UPDATE segment SET bytes = ? WHERE file = ?", old.size(),
                                        file.path().filename().string()));
    }
  }

  int format_;
};

class BackingUp : public WholeScenario {
 public:
  BackingUp() : WholeScenario("backing up", 3, 5) {}
  Profiles prepare(const std::string& folder) const override {
    fill(folder + "/data", last_, per_block_);
    return up_to(last_);
  }
  void run(const std::string& folder, Witness& witness) const override {
    witness.step([&] { return back_up(folder); });
  }

 protected:
  std::string finish(const std::string& folder, store::Ingest& /*ingest*/) const override {
    const std::string backup = folder + "/backup";
    if (!std::filesystem::exists(backup)) {
      const Status made = back_up(folder);
      if (!made) {
        return "backing up again: " + made.error().text();
      }
    }
    std::string wrong = wrong_answer(backup, up_to(last_));
    wrong = wrong.empty() ? damage_in(backup) : wrong;
    return wrong.empty() ? "" : "of the backup: " + wrong;
  }

 private:
  static Status back_up(const std::string& folder) {
    const auto report = store::back_up(folder + "/data", folder + "/backup");
    return report ? Status() : propagate(report);
  }
};

}  // namespace

bool Witness::step(const std::function<Status()>& work) {
  std::string why;
  for (int i = 0; i < kTries; ++i) {
    const Status done = work();
    if (done) {
      return true;
    }
    why = done.error().text();
  }
  failure_ = failure_.empty() ? why : failure_;
  return false;
}

std::vector<std::unique_ptr<Scenario>> all_scenarios() {
  std::vector<std::unique_ptr<Scenario>> all;
  all.push_back(std::make_unique<Creating>());
  all.push_back(std::make_unique<Accepting>());
  all.push_back(std::make_unique<Building>());
  all.push_back(std::make_unique<Sealing>());
  all.push_back(std::make_unique<Merging>());
  all.push_back(std::make_unique<RollingUp>());
  all.push_back(std::make_unique<Dropping>());
  all.push_back(std::make_unique<Rebuilding>(DamagedPart::kCatalogue));
  all.push_back(std::make_unique<Rebuilding>(DamagedPart::kSegment));
  for (const int format : {8, 7, 6, 5, 3, 2}) {
    all.push_back(std::make_unique<Upgrading>(format));
  }
  all.push_back(std::make_unique<BackingUp>());
  return all;
}

}  // namespace plimsoll::testing
