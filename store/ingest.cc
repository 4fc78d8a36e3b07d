#include "store/ingest.h"

#include <utility>

#include "base/log.h"
#include "base/trial_process.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/clickhouse/connection.h"
#include "store/known_profiles.h"

namespace plimsoll::store {
namespace {

// Of the trial of one profile, which takes a second at most. It is no reason to set a profile aside, but keeps a start from waiting for
// one that takes forever.
constexpr uint32_t kTrialCpuSeconds = 60;

constexpr BlockLimits kNoLimits{
    .max_bytes = UINT64_MAX, .max_entries = UINT64_MAX, .max_profiles = UINT64_MAX, .max_age_ns = INT64_MAX};

Status check_addresses(const RowsAddress& rows) {
  const auto parsed = clickhouse::parse_address(rows.address);
  Status checked = parsed ? Status() : propagate(parsed);
  for (const std::string& address : rows.shards) {
    const auto shard = clickhouse::parse_address(address);
    checked = !checked || shard ? checked : propagate(shard);
  }
  return checked;
}

}  // namespace

Ingest::Ingest(Files files, const IngestOptions& options)
    : directory_(std::move(files.directory)),
      archive_(std::move(files.archive)),
      accepted_(std::move(files.accepted)),
      blocks_(std::move(files.blocks)),
      row_store_(std::move(files.row_store)),
      machines_(std::move(files.machines)),
      acceptor_(directory_.path(), *archive_, memory_, options.upload_limits, options.now_ns),
      builder_(*accepted_, row_store_ != nullptr ? row_store_->sink() : blocks_->newest(), memory_,
               std::move(files.mark)) {}

Result<std::unique_ptr<Ingest>> Ingest::open(const std::string& data_dir, const IngestOptions& options) {
  auto directory = DataDirectory::open_for_writing(data_dir);
  if (!directory) {
    return propagate(directory);
  }
  auto mark = BuildingMark::open(directory->building_path());
  if (!mark) {
    return propagate(mark);
  }
  const int64_t ended_at = mark->left();
  std::optional<std::string> why_set_aside;
  if (ended_at != 0) {
    log_info("the process before this one ended while it built profile number {}, which is tried alone first",
             ended_at);
    why_set_aside = why_it_ends_processes(
        ended_at, [&] { return open_files(std::move(*directory), std::move(*mark), options); }, options);
  }
  auto opened = open_files(std::move(*directory), std::move(*mark), options);
  const Status cleared = opened ? (*opened)->blocks_->remove_leftovers() : propagate(opened);
  if (!cleared) {
    return propagate(cleared);
  }
  (*opened)->builder_.note_end(ended_at, std::move(why_set_aside));
  return opened;
}

Result<std::unique_ptr<Ingest>> Ingest::open_for_rebuilding(const DataDirectory& directory,
                                                            const BlockFolder& block, int64_t up_to,
                                                            const IngestOptions& options) {
  IngestOptions unbounded = options;
  unbounded.block_limits = kNoLimits;
  auto mark = BuildingMark::open(directory.building_path());
  if (!mark) {
    return propagate(mark);
  }
  const int64_t ended_at = mark->left();
  const auto open = [&]() -> Result<std::unique_ptr<Ingest>> {
    auto own_mark = BuildingMark::open(directory.building_path());
    return own_mark ? open_files(directory.without_lock(), std::move(*own_mark), unbounded, &block)
                    : propagate(own_mark);
  };
  std::optional<std::string> why_set_aside;
  if (ended_at != 0 && ended_at <= up_to) {
    why_set_aside = why_it_ends_processes(ended_at, open, unbounded);
  }
  auto opened = open();
  if (opened) {
    (*opened)->builder_.build_up_to(up_to);
    (*opened)->builder_.note_end(ended_at, std::move(why_set_aside));
  }
  return opened;
}

Result<std::unique_ptr<Ingest>> Ingest::open_files(DataDirectory directory, BuildingMark mark,
                                                   const IngestOptions& options, const BlockFolder* only) {
  auto archive = Archive::open(directory.archive_path(), sqlite::OpenMode::kReadWriteShrinking);
  if (!archive) {
    return propagate(archive);
  }
  auto accepted = Archive::open(directory.archive_path(), sqlite::OpenMode::kRead);
  if (!accepted) {
    return propagate(accepted);
  }
  auto blocks = LocalBlocks::open(directory.blocks_path(), options.block_limits, options.now_ns, only);
  if (!blocks) {
    return propagate(blocks);
  }
  auto row_store = only == nullptr ? open_row_store(directory, **blocks, **archive, options)
                                   : Result<std::unique_ptr<RowStore>>();
  if (!row_store) {
    return propagate(row_store);
  }
  auto machines = LiveMachines::open(directory.live_path(), sqlite::OpenMode::kReadWrite);
  if (!machines) {
    return propagate(machines);
  }
  return std::unique_ptr<Ingest>(
      new Ingest({std::move(directory), std::move(mark), std::move(*archive), std::move(*accepted),
                  std::move(*blocks), std::move(*row_store), std::move(*machines)},
                 options));
}

// Which it is stands in the directory, before the first row is there: a crash in between leaves a directory without rows, whose rows will be there.
Result<std::unique_ptr<RowStore>> Ingest::open_row_store(const DataDirectory& directory,
                                                         const LocalBlocks& blocks, Archive& archive,
                                                         const IngestOptions& options) {
  auto identity = read_identity(directory.path());
  if (!identity) {
    return propagate(identity);
  }
  // Before all else: other refusals repeat the address, which may hold a password.
  const Status is_valid = options.rows.is_elsewhere() ? check_addresses(options.rows) : Status();
  if (!is_valid) {
    return propagate(is_valid);
  }
  const bool is_known = identity->rows.is_elsewhere();
  if (!is_known && !options.rows.is_elsewhere()) {
    return std::unique_ptr<RowStore>();
  }
  if (is_known && options.rows.is_elsewhere() && identity->rows.address != options.rows.address &&
      !clickhouse::are_same_replicas(identity->rows, options.rows)) {
    return with_hint(fail(ErrorCode::kConflict, "the rows of {} are in {}, not in {}", directory.path(),
                          identity->rows.address, options.rows.address),
                     "give that address, or another data directory");
  }
  const bool is_given = options.rows.is_elsewhere();
  if (const Status same =
          is_known && is_given ? clickhouse::expect_same_shards(identity->rows, options.rows) : Status();
      !same) {
    return propagate(same, "opening the rows of {}", directory.path());
  }
  if (!is_known && blocks.newest().committed_up_to() > 0) {
    return with_hint(fail(ErrorCode::kConflict, "{} has rows of its own, which {} would lack",
                          directory.path(), options.rows.address),
                     "copy them there with \"plimsoll store copy\", or give a data directory without rows");
  }
  const RowsAddress rows = options.rows.is_elsewhere() ? options.rows : identity->rows;
  auto opened = clickhouse::ClickHouseStore::open(rows, identity->id, {}, options.now_ns);
  if (opened && rows != identity->rows) {
    identity->rows = rows;
    if (const Status noted = write_identity(directory.path(), *identity); !noted) {
      return propagate(noted, "noting where the rows are");
    }
  }
  const Status settled =
      opened ? settle_known_profiles(directory.path(), archive, **opened) : propagate(opened);
  return settled ? Result<std::unique_ptr<RowStore>>(std::move(*opened)) : propagate(settled);
}

// In a fork of this process, which opens the files by itself: no connection is open yet. All that it takes is its own, and goes with it.
std::optional<std::string> Ingest::why_it_ends_processes(int64_t sequence, const Opening& open,
                                                         const IngestOptions& options) {
  std::unique_ptr<Ingest> ingest;
  const auto load = [&] {
    auto opened = open();
    if (opened && (*opened)->builder_.prepare_trial()) {
      ingest = std::move(*opened);
    }
  };
  // All that a commit does with it, but that nothing of it stays.
  const auto build = [&] {
    auto batch = ingest != nullptr ? ingest->builder_.build_alone(sequence) : std::nullopt;
    if (batch.has_value() && ingest->row_store_ == nullptr) {
      static_cast<void>(ingest->blocks_->newest().rehearse(std::move(*batch)).has_value());
    }
  };
  const auto killed = dies_alone(load, build, {options.trial_memory_bytes, kTrialCpuSeconds});
  if (!killed) {
    log_warning("cannot check whether profile number {} was the cause: {}", sequence, killed.error().text());
    return std::nullopt;
  }
  const std::optional<std::string>& why = *killed;
  return why ? std::optional("a process ended while it was built, and so did one that did nothing else: " +
                             *why)
             : std::nullopt;
}

}  // namespace plimsoll::store
