#include "store/care/block_repair.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "store/blocks/block_damage.h"
#include "store/blocks/block_folder.h"
#include "store/care/block_check.h"
#include "store/care/check_log.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/directory/data_directory.h"
#include "store/identity/directory_identity.h"
#include "store/ingest.h"
#include "store/model/dictionaries.h"

namespace plimsoll::store {
namespace {

// Why profiles have no rows: table unbuildable.
constexpr std::string_view kRawProfileGone = "its raw profile was gone when its block was rebuilt";
constexpr std::string_view kGivenUp = "its block was damaged, and given up";

// What retention may go by where nothing else tells how old a block is: that it is as old as can be.
constexpr int64_t kVeryOldNs = 1;

struct Damage {
  bool is_any = false;
  bool is_of_catalogue = false;  // so that no row of the block can be read
};

// Profiles by their numbers in the archive: those after the first one, up to the last.
struct Profiles {
  std::optional<int64_t> after;
  std::optional<int64_t> up_to;
};

Result<sqlite::Database> open_catalogue(const BlockFolder& block,
                                        sqlite::OpenMode mode = sqlite::OpenMode::kRead) {
  return sqlite::Database::open(block.catalogue_path(), mode);
}

class Repair {
 public:
  static Result<Repair> open(const std::string& data_dir, int64_t number) {
    auto directory = DataDirectory::open_for_writing(data_dir);
    auto identity = directory ? read_identity(data_dir) : propagate(directory);
    const auto blocks = identity ? list_blocks(directory->blocks_path()) : propagate(identity);
    if (!blocks) {
      return propagate(blocks);
    }
    const auto found =
        std::ranges::find_if(*blocks, [number](const BlockFolder& block) { return block.covers(number); });
    if (found == blocks->end()) {
      return with_hint(
          fail(ErrorCode::kNotFound, "{} has no block {:06}", data_dir, number),
          fmt::format("its blocks are {:06} to {:06}", blocks->front().first, blocks->back().number));
    }
    // The user may mean less than all of it.
    if (found->number != number) {
      return with_hint(fail(ErrorCode::kNotFound, "block {:06} of {} was merged into block {}", number,
                            data_dir, found->numbers()),
                       fmt::format("give blocks/{} for all of that one", found->number));
    }
    if (number == blocks->back().number) {
      return with_hint(fail(ErrorCode::kInvalid, "block {:06} takes rows, and cannot be repaired", number),
                       "restore the directory from a backup");
    }
    Repair repair(std::move(*directory), std::move(*identity), *found);
    repair.next_ = *(found + 1);
    if (found != blocks->begin()) {
      repair.before_ = *(found - 1);
    }
    repair.look();
    return repair;
  }

  Result<RebuildReport> rebuild() {
    if (!damage_.is_any) {
      return finish_earlier();
    }
    auto profiles = profiles_of_block();
    if (!profiles) {
      return propagate(profiles);
    }
    const auto [after, up_to] = *profiles;
    if (!after || !up_to) {
      return propagate(unknown_profiles(*profiles));
    }
    if (const Status checked = expect_raw_profiles(*after, *up_to); !checked) {
      return propagate(checked);
    }
    const Status cleared = clear_place(after, up_to);
    const auto made = cleared ? make(*after) : propagate(cleared);
    Status done = made ? build(*made, *up_to) : propagate(made);
    done = done ? seal(*made, *after, *up_to, kRawProfileGone) : done;
    auto report = done ? report_of(*made) : propagate(done);
    if (report && report->lost > 0) {
      report->kept_at = free_name_in_quarantine();
    }
    done = report ? replace(report->kept_at) : propagate(report);
    return done ? std::move(report) : propagate(done, "rebuilding block {}", block_.numbers());
  }

  Result<int64_t> forget() {
    if (!damage_.is_any) {
      const auto finished = finish_earlier();
      return finished ? Result<int64_t>(finished->lost) : propagate(finished);
    }
    // Rows that were built for it are given up too.
    Status done = clear_place(std::nullopt, std::nullopt);
    const auto profiles = done ? profiles_of_block() : propagate(done);
    if (!profiles) {
      return propagate(profiles);
    }
    if (!profiles->after && !profiles->up_to) {
      return propagate(unknown_profiles(*profiles));
    }
    // Where one of them is not known, a block beside it that cannot be read either will have what is between.
    const int64_t after = profiles->after.value_or(profiles->up_to.value_or(0));
    const int64_t up_to = profiles->up_to.value_or(after);
    const auto made = make(after);
    done = made ? seal(*made, after, up_to, kGivenUp) : propagate(made);
    const auto report = done ? report_of(*made) : propagate(done);
    done = report ? replace({}) : propagate(report);
    return done ? Result<int64_t>(report->set_aside + report->lost)
                : propagate(done, "giving up block {}", block_.numbers());
  }

 private:
  Repair(DataDirectory directory, DirectoryIdentity identity, BlockFolder block)
      : directory_(std::move(directory)), identity_(std::move(identity)), block_(std::move(block)) {}

  // Reads all of the block.
  void look() {
    const ShowProgress silent;
    CheckLog log(directory_.path(), silent);
    const auto catalogue = check_block(log, block_, /*is_newest=*/false, identity_.id);
    const std::string name = fmt::format("blocks/{}/catalogue.db", block_.name());
    const auto is_of_catalogue = [&](const Finding& finding) {
      return finding.is_damage && finding.file == name;
    };
    damage_.is_any = log.report().is_damaged || !catalogue;
    damage_.is_of_catalogue =
        !catalogue || is_unreadable(block_) || std::ranges::any_of(log.report().findings, is_of_catalogue);
  }

  // What an earlier call has left beside the block.
  enum class Leftover : std::uint8_t {
    kNone,
    kPart,     // of a block that was being built
    kUnclear,  // sealed, or it cannot be read: what the block took the place of, or a whole one that did not come to take its place
  };
  Result<Leftover> leftover() const {
    const auto is_left = has_replacement(block_);
    if (!is_left || !*is_left) {
      return is_left ? Result<Leftover>(Leftover::kNone) : propagate(is_left);
    }
    if (is_unreadable(beside(block_))) {
      return Leftover::kUnclear;
    }
    auto catalogue = open_catalogue(beside(block_));
    const auto state = catalogue ? read_block_state(*catalogue) : propagate(catalogue);
    return state ? Result<Leftover>(state->is_sealed ? Leftover::kUnclear : Leftover::kPart)
                 : propagate(state);
  }

  // Leaves only a part of what is to be made. What may be the one copy of lost rows is kept.
  Status clear_place(std::optional<int64_t> after, std::optional<int64_t> up_to) const {
    const auto left = leftover();
    if (!left || *left == Leftover::kNone) {
      return left ? Status() : propagate(left);
    }
    if (*left == Leftover::kUnclear) {
      const std::string kept_at = free_name_in_quarantine();
      log_warning("{}, which an earlier repair has left, is kept in {}", beside(block_).path, kept_at);
      return remove_replaced(directory_.blocks_path(), block_, kept_at);
    }
    auto catalogue = open_catalogue(beside(block_));
    const auto begin = catalogue ? accepted_before(*catalogue) : propagate(catalogue);
    const auto last = begin ? last_built_sequence(*catalogue) : propagate(begin);
    if (!last) {
      return propagate(last);
    }
    const bool is_of_these = after && up_to && *begin == *after && *last <= *up_to;
    return is_of_these ? Status() : remove_replaced(directory_.blocks_path(), block_);
  }

  // After a crash behind take_place().
  Result<RebuildReport> finish_earlier() {
    const auto left = leftover();
    if (!left) {
      return propagate(left);
    }
    // Of a block that was restored before it was rebuilt.
    const Status cleared = *left == Leftover::kPart ? clear_place(std::nullopt, std::nullopt) : Status();
    if (!cleared || *left != Leftover::kUnclear) {
      return !cleared ? propagate(cleared)
                      : Result<RebuildReport>(
                            with_hint(fail(ErrorCode::kConflict, "block {} is sound", block_.numbers()),
                                      "\"plimsoll store check\" lists what is damaged"));
    }
    auto report = report_of(block_);
    if (report && report->lost > 0) {
      report->kept_at = free_name_in_quarantine();
    }
    const Status removed =
        report ? remove_replaced(directory_.blocks_path(), block_, report->kept_at) : propagate(report);
    return removed ? std::move(report) : propagate(removed);
  }

  // Hours have the last of their profiles' numbers: where one that is rolled up has no note, its first profile is not known.
  static Result<bool> says_where_it_begins(const BlockFolder& block) {
    if (is_unreadable(block)) {
      return false;
    }
    auto catalogue = open_catalogue(block);
    const auto begin = catalogue ? accepted_before(*catalogue) : propagate(catalogue);
    const auto is_rolled = begin ? is_rolled_up(*catalogue) : propagate(begin);
    return is_rolled ? Result<bool>(*begin != 0 || !*is_rolled) : propagate(is_rolled);
  }

  Result<Profiles> profiles_of_block() {
    Profiles profiles;
    const bool is_readable = !is_unreadable(block_);
    if (is_readable) {
      auto own = open_catalogue(block_);
      const auto begin = own ? accepted_before(*own) : propagate(own);
      profiles.after = begin && *begin != 0 ? std::optional(*begin) : std::nullopt;
    }
    if (!profiles.after && before_ && !is_unreadable(*before_)) {
      auto before = open_catalogue(*before_);
      const auto last = before ? last_built_sequence(*before) : propagate(before);
      if (!last) {
        return propagate(last, "reading which profiles block {} has", before_->numbers());
      }
      profiles.after = *last;
    }
    if (!profiles.after && block_.first == 1) {
      profiles.after = 0;
    }
    const auto next_says = says_where_it_begins(next_);
    if (!next_says) {
      return propagate(next_says);
    }
    if (*next_says) {
      auto next = open_catalogue(next_);
      const auto begin = next ? accepted_before(*next) : propagate(next);
      const auto first = begin && *begin == 0
                             ? next->integer(
                                   "SELECT min(archive_sequence) - 1 FROM (SELECT archive_sequence "
                                   "FROM origin UNION ALL SELECT archive_sequence FROM unbuildable)",
                                   0)
                             : begin;
      if (!first) {
        return propagate(first, "reading which profiles block {} has", next_.numbers());
      }
      profiles.up_to = *first;
    } else if (is_readable) {
      auto own = open_catalogue(block_);
      const auto last = own ? last_built_sequence(*own) : propagate(own);
      profiles.up_to = last ? std::optional(*last) : std::nullopt;
    }
    return profiles;
  }

  Status unknown_profiles(const Profiles& profiles) const {
    if (profiles.after && !is_unreadable(next_)) {
      return with_hint(
          fail(ErrorCode::kInvalid, "block {} is rolled up, and does not say where block {} ends",
               next_.numbers(), block_.numbers()),
          "restore the block from a backup, or give it up (--forget)");
    }
    if (profiles.after) {
      return with_hint(
          fail(ErrorCode::kInvalid, "block {} cannot be read either, which says where block {} ends",
               next_.numbers(), block_.numbers()),
          fmt::format("give this one up (--forget blocks/{}), then rebuild blocks/{}, which gets the rows "
                      "of both",
                      block_.number, next_.number));
    }
    return with_hint(
        fail(ErrorCode::kInvalid, "nothing that can be read says with which profile block {} begins",
             block_.numbers()),
        before_ ? fmt::format("begin with blocks/{}", before_->number)
                : "earlier blocks were dropped: restore it from a backup, or give it up (--forget)");
  }

  Status expect_raw_profiles(int64_t after, int64_t up_to) const {
    auto archive = directory_.open_archive();
    const auto raw =
        archive ? archive->integer("SELECT count(*) FROM raw_profile WHERE sequence > ? AND sequence <= ?", 0,
                                   after, up_to)
                : propagate(archive);
    if (!raw) {
      return propagate(raw, "counting raw profiles");
    }
    if (*raw == 0) {
      return with_hint(fail(ErrorCode::kNotFound, "no raw profile of block {} is left", block_.numbers()),
                       "restore the block from a backup, or give it up (--forget)");
    }
    if (*raw == up_to - after || damage_.is_of_catalogue) {
      return {};
    }
    return with_hint(
        fail(ErrorCode::kInvalid,
             "{} of the {} raw profiles of block {} are gone, and rows of them may be in its sound "
             "segments",
             up_to - after - *raw, up_to - after, block_.numbers()),
        "restore the block from a backup, or leave it as it is: results lack the damaged segment only");
  }

  // With what is carried over from the block before it, or from the next one, which has got the same from this one.
  Result<BlockFolder> make(int64_t after) {
    std::optional<sqlite::Database> beside;
    for (const BlockFolder& block : {before_.value_or(next_), next_}) {
      auto opened = beside || is_unreadable(block)
                        ? Result<sqlite::Database>(fail(ErrorCode::kNotFound, "none"))
                        : open_catalogue(block);
      if (opened) {
        beside = std::move(*opened);
      }
    }
    return make_replacement(directory_.blocks_path(), block_, beside ? &*beside : nullptr, after,
                            identity_.id);
  }

  Status build(const BlockFolder& made, int64_t up_to) {
    auto catalogue = open_catalogue(made);
    const auto state = catalogue ? read_block_state(*catalogue) : propagate(catalogue);
    if (!state || state->is_sealed) {
      return state ? Status() : propagate(state);
    }
    auto ingest = Ingest::open_for_rebuilding(directory_, made, up_to);
    int failures = 0;
    while (ingest) {
      const auto built = (*ingest)->build_pending();
      // Where there is no memory for a batch, the next one is smaller (Ingest::build_pending()).
      const bool lacks_memory = !built && (built.error().code == ErrorCode::kTooLarge ||
                                           built.error().code == ErrorCode::kExhausted);
      if (lacks_memory && ++failures < kMaxFailures) {
        continue;
      }
      if (!built || built->profiles + built->unbuildable == 0) {
        return built ? Status() : propagate(built);
      }
      failures = 0;
    }
    return propagate(ingest);
  }

  // With the profiles that have neither rows nor a reason why.
  Status seal(const BlockFolder& made, int64_t after, int64_t up_to, std::string_view why_none) {
    auto archive = directory_.open_archive();
    auto opened =
        archive ? Catalogue::open(made.catalogue_path(), sqlite::OpenMode::kReadWrite) : propagate(archive);
    if (!opened) {
      return propagate(opened);
    }
    sqlite::Database& catalogue = opened->database();
    auto state = read_block_state(catalogue);
    if (!state || state->is_sealed) {
      return state ? Status() : propagate(state);
    }
    auto transaction = sqlite::Transaction::begin(catalogue);
    if (!transaction) {
      return propagate(transaction);
    }
    const auto newest_received_ns = archive->integer(
        "SELECT max(received_ns) FROM ledger WHERE sequence > ? AND sequence <= ?", kVeryOldNs, after, up_to);
    if (!newest_received_ns) {
      return propagate(newest_received_ns);
    }
    // By their numbers, which have no gaps: the archive forgets old ones.
    Status done = catalogue.execute(
        "INSERT OR IGNORE INTO unbuildable WITH RECURSIVE number(sequence) AS (SELECT ?1 + 1 WHERE ?1 < ?2 "
        "UNION ALL SELECT sequence + 1 FROM number WHERE sequence < ?2) SELECT sequence, ?3 FROM number "
        "WHERE sequence NOT IN (SELECT archive_sequence FROM origin)",
        after, up_to, why_none);
    state->is_sealed = true;
    state->first_built_ns = std::max(*newest_received_ns, kVeryOldNs);
    done = done ? write_block_state(catalogue, *state) : done;
    done = done ? transaction->commit() : done;
    return done ? catalogue.run("PRAGMA wal_checkpoint(TRUNCATE)") : done;
  }

  static Result<RebuildReport> report_of(const BlockFolder& block) {
    auto catalogue = open_catalogue(block);
    RebuildReport report;
    const Status counted =
        catalogue ? sqlite::for_each_row(
                        catalogue->query(
                            "SELECT (SELECT count(*) FROM origin), (SELECT coalesce(sum(rows), 0) FROM "
                            "segment), count(*), coalesce(sum(reason IN (?, ?)), 0) FROM unbuildable",
                            kRawProfileGone, kGivenUp),
                        [&](const sqlite::Statement& row) {
                          report = {.profiles = row.integer(0),
                                    .rows = row.integer(1),
                                    .set_aside = row.integer(2) - row.integer(3),
                                    .lost = row.integer(3)};
                        })
                  : propagate(catalogue);
    return counted ? Result<RebuildReport>(std::move(report)) : propagate(counted);
  }

  std::string free_name_in_quarantine() const {
    std::error_code error;
    for (int i = 0;; ++i) {
      std::string name = fmt::format("{}/quarantine/block-{}{}", directory_.path(), block_.numbers(),
                                     i == 0 ? "" : fmt::format(".{}", i));
      if (!std::filesystem::exists(name, error)) {
        return name;
      }
    }
  }

  Status replace(const std::string& keep_at) {
    const Status replaced = take_place(directory_.blocks_path(), block_);
    return replaced ? remove_replaced(directory_.blocks_path(), block_, keep_at) : replaced;
  }

  static constexpr int kMaxFailures = 100;

  DataDirectory directory_;
  DirectoryIdentity identity_;
  BlockFolder block_;
  std::optional<BlockFolder> before_;  // none: it is the first
  BlockFolder next_;
  Damage damage_;
};

}  // namespace

Result<RebuildReport> rebuild_block(const std::string& data_dir, int64_t number) {
  auto repair = Repair::open(data_dir, number);
  return repair ? repair->rebuild() : propagate(repair);
}

Result<int64_t> forget_block(const std::string& data_dir, int64_t number) {
  auto repair = Repair::open(data_dir, number);
  return repair ? repair->forget() : propagate(repair);
}

}  // namespace plimsoll::store
