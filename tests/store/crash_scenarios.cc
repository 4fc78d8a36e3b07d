#include <filesystem>

#include "store/compaction/compactor.h"
#include "store/merging/block_merger.h"
#include "store/packed/block_packs.h"
#include "store/retention/retention.h"
#include "store/rollup/roll_up.h"
#include "tests/store/crash_fixture.h"

namespace plimsoll::testing {
namespace {

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

// Four blocks that are rolled up become one.
class MergingBlocks : public WholeScenario {
 public:
  MergingBlocks() : WholeScenario("merging blocks", 2, 9) {}
  Profiles prepare(const std::string& folder) const override {
    fill(folder + "/data", last_, per_block_);
    auto ingest = store::Ingest::open(folder + "/data", options_of(per_block_));
    must(ingest ? Status() : propagate(ingest));
    store::RollUp roll_up(**ingest, {.keep_replaced = std::chrono::seconds(0)});
    for (int block = 1; block <= 4; ++block) {
      const auto report = roll_up.run_once_before(INT64_MAX);
      must(report ? Status() : propagate(report));
    }
    return up_to(last_);
  }
  void run(const std::string& folder, Witness& witness) const override {
    if (const OpenIngest ingest = open(folder + "/data", per_block_, witness)) {
      store::BlockMerger merger(*ingest, {},
                                {.now_ns = [] { return kStartNs + kDayNs; }, .steady_now = hours_later});
      witness.step([&] { return merge_all(merger); });
    }
  }

 protected:
  std::string finish(const std::string& /*folder*/, store::Ingest& ingest) const override {
    store::BlockMerger merger(ingest, {}, {.now_ns = [] { return kStartNs + kDayNs; }});
    if (const Status merged = merge_all(merger); !merged) {
      return "merging: " + merged.error().text();
    }
    const auto blocks = ingest.blocks();
    return blocks && blocks->size() == 2 ? "" : "the blocks are not merged";
  }

 private:
  static Status merge_all(store::BlockMerger& merger) {
    while (true) {
      const auto report = merger.run_once();
      if (!report || report->blocks == 0) {
        return report ? Status() : propagate(report);
      }
    }
  }
};

// The entries of sealed blocks, which questions read in place of the catalogues'.
class Packing : public WholeScenario {
 public:
  Packing() : WholeScenario("packing", 3, 10) {}
  Profiles prepare(const std::string& folder) const override {
    fill(folder + "/data", last_, per_block_);
    return up_to(last_);
  }
  void run(const std::string& folder, Witness& witness) const override {
    if (const OpenIngest ingest = open(folder + "/data", per_block_, witness)) {
      witness.step([&] { return pack_all(*ingest); });
    }
  }

 protected:
  std::string finish(const std::string& /*folder*/, store::Ingest& ingest) const override {
    if (const Status packed = pack_all(ingest); !packed) {
      return "packing: " + packed.error().text();
    }
    const auto blocks = ingest.blocks();
    for (size_t i = 0; blocks && i + 1 < blocks->size(); ++i) {
      auto catalogue = store::Catalogue::open((*blocks)[i].catalogue_path(), sqlite::OpenMode::kRead);
      if (!catalogue || !store::usable_pack((*blocks)[i], catalogue->database())) {
        return fmt::format("block {} has no packed entries", (*blocks)[i].number);
      }
    }
    return "";
  }

 private:
  static Status pack_all(store::Ingest& ingest) {
    store::BlockPacker packer;
    while (true) {
      const auto blocks = ingest.blocks();
      const auto packed = blocks ? packer.run_once(*blocks) : propagate(blocks);
      if (!packed || *packed == 0) {
        return packed ? Status() : propagate(packed);
      }
    }
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

}  // namespace

void add_writing_scenarios(std::vector<std::unique_ptr<Scenario>>& all) {
  all.push_back(std::make_unique<Creating>());
  all.push_back(std::make_unique<Accepting>());
  all.push_back(std::make_unique<Building>());
  all.push_back(std::make_unique<Sealing>());
  all.push_back(std::make_unique<Merging>());
  all.push_back(std::make_unique<RollingUp>());
  all.push_back(std::make_unique<MergingBlocks>());
  all.push_back(std::make_unique<Packing>());
  all.push_back(std::make_unique<Dropping>());
}

}  // namespace plimsoll::testing
