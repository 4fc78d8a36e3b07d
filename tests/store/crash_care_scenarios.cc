#include <fmt/format.h>

#include <filesystem>

#include "base/durable_file.h"
#include "store/care/backup.h"
#include "store/care/block_repair.h"
#include "tests/store/crash_fixture.h"
#include "tests/unit/store/format_3.h"
#include "tests/unit/store/format_6.h"
#include "tests/unit/store/old_segment_writer.h"
#include "tests/unit/store/segment_fixture.h"
#include "tests/unit/store/segment_version_1_writer.h"

namespace plimsoll::testing {
namespace {

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

void add_care_scenarios(std::vector<std::unique_ptr<Scenario>>& all) {
  for (const DamagedPart part : {DamagedPart::kCatalogue, DamagedPart::kSegment}) {
    all.push_back(std::make_unique<Rebuilding>(part));
  }
  for (const int format : {8, 7, 6, 5, 3, 2}) {
    all.push_back(std::make_unique<Upgrading>(format));
  }
  all.push_back(std::make_unique<BackingUp>());
}

}  // namespace plimsoll::testing
