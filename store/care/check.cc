#include "store/care/check.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "store/blocks/block_folder.h"
#include "store/care/archive_check.h"
#include "store/care/block_check.h"
#include "store/care/burst_check.h"
#include "store/care/check_log.h"
#include "store/care/database_check.h"
#include "store/care/span_check.h"
#include "store/care/symbol_check.h"
#include "store/directory/data_directory.h"
#include "store/identity/directory_identity.h"
#include "store/spans/finding_store.h"

namespace plimsoll::store {
namespace {

// Of whole blocks, whose numbers tell in what order profiles came.
constexpr std::string_view kRestoreMissing = "restore what is missing, or the whole directory, from a backup";
// Spans are not taken while there is a gap.
constexpr std::string_view kRestoreMissingSpans =
    "restore what is missing from a backup; or stop the server and remove the folders before the gap";

void note_replaced(CheckLog& log, const BlockFolder& block, const std::vector<BlockFolder>& current) {
  const auto by =
      std::ranges::find_if(current, [&](const BlockFolder& newer) { return replaces(newer, block); });
  const bool is_merged = by != current.end() && by->numbers() != block.numbers();
  log.note(block.path,
           is_merged ? fmt::format("the block has been merged into {} since: left by a crash, or replaced a "
                                   "moment ago",
                                   by->name())
                     : "the block has been rolled up since: left by a crash, or replaced a moment ago",
           "nothing: the server removes it");
}

// All folders of blocks that count: one that is missing, or lacks its catalogue, leaves the others to be looked at.
std::vector<BlockFolder> folders_of_blocks(CheckLog& log, const std::string& blocks_path,
                                           std::string_view remedy) {
  std::vector<BlockFolder> blocks;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(blocks_path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (BlockFolder block = block_at(entry->path().string()); block.number != 0) {
      blocks.push_back(std::move(block));
    } else if (!entry->path().filename().string().starts_with(kFindingsFile)) {
      const bool is_rebuilt = entry->path().extension() == ".rebuilt";
      log.note(entry->path().string(),
               is_rebuilt ? "no block: a repair was interrupted"
                          : "no block: left by a crash, or being made or dropped at the moment",
               is_rebuilt ? "run \"plimsoll store repair\" again"
                          : "nothing: the server removes it when it makes or drops a block again");
    }
  }
  if (error) {
    log.add(blocks_path, fmt::format("it cannot be listed: {}", error.message()), std::string(remedy));
  }
  BlockFolders parted = part_folders(std::move(blocks));
  for (const BlockFolder& block : parted.replaced) {
    note_replaced(log, block, parted.current);
  }
  for (size_t i = 1; i < parted.current.size(); ++i) {
    const BlockFolder& before = parted.current[i - 1];
    const BlockFolder& block = parted.current[i];
    if (before.number != block.first - 1) {
      log.add(blocks_path,
              fmt::format("blocks between {:06} and {:06} are missing", before.number, block.first),
              std::string(remedy));
    }
  }
  return std::move(parted.current);
}

std::vector<BlockFolder> folders_of_profiles(CheckLog& log) {
  const std::string blocks_path = log.data_dir() + "/blocks";
  std::vector<BlockFolder> blocks = folders_of_blocks(log, blocks_path, kRestoreMissing);
  std::error_code error;
  if (blocks.empty() && std::filesystem::exists(blocks_path, error)) {
    log.add(blocks_path, "it has no block", std::string(kRestoreMissing));
  }
  return blocks;
}

// What has the rows of a block that is gone, if it was rolled up or merged meanwhile.
std::optional<BlockFolder> successor_of(const std::string& blocks_path, const BlockFolder& block) {
  const auto now = list_blocks(blocks_path);
  if (!now) {
    return std::nullopt;
  }
  const auto found =
      std::ranges::find_if(*now, [&](const BlockFolder& newer) { return replaces(newer, block); });
  return found == now->end() ? std::nullopt : std::optional(*found);
}

// Those that are replaced before their turn comes are checked as what they became.
void check_blocks(CheckLog& log, const std::vector<BlockFolder>& blocks, std::string_view id,
                  std::optional<LedgerCheck>& ledger) {
  int64_t checked = 0;  // number
  for (const BlockFolder& block : blocks) {
    if (block.number <= checked) {
      continue;
    }
    checked = block.number;
    const bool is_newest = &block == &blocks.back();
    auto catalogue = check_block(log, block, is_newest, id);
    std::error_code error;
    if (catalogue || std::filesystem::exists(block.path, error)) {
      if (catalogue && ledger) {
        ledger->add_block(*catalogue);
      }
      continue;
    }
    const auto successor = successor_of(log.data_dir() + "/blocks", block);
    if (!successor) {
      continue;  // dropped
    }
    checked = successor->number;
    auto other = check_block(log, *successor, /*is_newest=*/false, id);
    if (other && ledger) {
      ledger->pass_over(*other);
    }
  }
}

// The folder is made when the first spans come.
void check_spans(CheckLog& log, std::string_view id) {
  const std::string spans_path = spans_path_of(log.data_dir());
  std::error_code error;
  if (!std::filesystem::exists(spans_path, error)) {
    return;
  }
  for (const BlockFolder& block : folders_of_blocks(log, spans_path, kRestoreMissingSpans)) {
    check_span_block(log, block, id);
  }
  const std::string findings = fmt::format("spans/{}", kFindingsFile);
  if (std::filesystem::exists(fmt::format("{}/{}", log.data_dir(), findings), error)) {
    check_database(log, findings, id);
  }
}

// The folder is made when the first recording comes.
void check_all_bursts(CheckLog& log, std::string_view id) {
  std::error_code error;
  if (std::filesystem::exists(bursts_path_of(log.data_dir()), error)) {
    check_bursts(log, id);
  }
}

// Empty: the directory has none yet.
DirectoryIdentity check_identity(CheckLog& log, const std::string& data_dir) {
  const auto text = read_file(data_dir + "/FORMAT", 64);
  std::optional<int> format;
  for (int known = kOldestReadableFormat; known <= kDirectoryFormat; ++known) {
    format = text && *text == fmt::format("{}\n", known) ? known : format;
  }
  if (!format) {
    log.add(data_dir + "/FORMAT", "it is not the number of the format and a line end",
            std::string(kRestoreFile));
  }
  const auto identity = read_identity(data_dir);
  if (!identity) {
    log.add(identity_path(data_dir), identity.error(), kRestoreFile);
    return {};
  }
  if (identity->is_there()) {
    return *identity;
  }
  if (format.value_or(kDirectoryFormat) < kOldestFormatWithIdentity) {
    log.note(identity_path(data_dir), "an older version made the directory, and gave it no ID",
             "start a server of this version, which gives it one");
  } else {
    log.add(identity_path(data_dir), "the file is missing: it says which databases are of this directory",
            std::string(kRestoreFile));
  }
  return {};
}

void check_databases(CheckLog& log, const DirectoryIdentity& identity) {
  for (const std::string name : {"live.db", "draws.db", "access.db"}) {
    std::error_code error;
    if (identity.lists(name) || std::filesystem::exists(log.data_dir() + "/" + name, error)) {
      check_database(log, name, identity.is_complete() ? identity.id : "");
    }
  }
}

}  // namespace

Result<CheckReport> check_store(const std::string& data_dir, const ShowProgress& show) {
  std::error_code error;
  if (!std::filesystem::exists(data_dir + "/FORMAT", error)) {
    return with_hint(
        fail(ErrorCode::kNotFound, "{} is not a Plimsoll data directory: it has no file FORMAT", data_dir),
        std::filesystem::exists(identity_path(data_dir), error)
            ? "it has lost that file: copy FORMAT from a backup of this directory"
            : "give one with --data");
  }
  if (const auto checked = DataDirectory::check(data_dir);
      !checked && checked.error().code == ErrorCode::kUnsupported) {
    return propagate(checked);
  }
  const auto format = read_file(data_dir + "/FORMAT", 64);
  if (format &&
      (*format == "2\n" || *format == "3\n" || *format == "4\n" || *format == "5\n" || *format == "6\n")) {
    return with_hint(fail(ErrorCode::kUnsupported, "{} has format {}", data_dir, format->front()),
                     "convert it: start its server, or run plimsoll import --data");
  }
  CheckLog log(data_dir, show);
  const DirectoryIdentity identity = check_identity(log, data_dir);
  const std::string id = identity.is_complete() ? identity.id : "";
  const std::vector<BlockFolder> blocks = folders_of_profiles(log);
  auto archive = check_database(log, "archive.db", id);
  std::optional<LedgerCheck> ledger;
  if (archive) {
    ledger.emplace(log, *archive, identity.rows.is_elsewhere());
  }
  check_blocks(log, blocks, id, ledger);
  if (archive && ledger) {
    ledger->finish();
    check_raw_profiles(log, *archive);
  }
  check_databases(log, identity);
  check_spans(log, id);
  check_all_bursts(log, id);
  check_symbol_tables(log);
  return std::move(log.report());
}

}  // namespace plimsoll::store
