#include "store/blocks/block_folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/durable_file.h"
#include "base/time.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/rows/dictionary_writer.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kFirst = 1;
constexpr std::string_view kTemporary = ".tmp";  // of a block that is being made
constexpr std::string_view kMoving = ".moving";  // of one that an older format is moved into

BlockFolder folder_of(const std::string& blocks_path, int64_t number) {
  return {number, fmt::format("{}/{:06}", blocks_path, number)};
}

// 0: it is no block's name.
int64_t number_of(const std::string& name) {
  int64_t number = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
  return is_number && name == fmt::format("{:06}", number) ? number : 0;
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? Status(fail_errno(error.value(), "creating {}", path)) : Status();
}

// Durably, over nothing.
Status rename_folder(const std::string& from, const std::string& to, const std::string& parent) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  return error ? Status(fail_errno(error.value(), "renaming {} to {}", from, to)) : sync_folder(parent);
}

// Closed again, so that its folder may be renamed.
Status make_catalogue(const std::string& path, const AppendOnlyList<EventEntry>& events) {
  auto catalogue = Catalogue::open(path, sqlite::OpenMode::kReadWrite);
  if (!catalogue) {
    return propagate(catalogue);
  }
  auto transaction = sqlite::Transaction::begin(catalogue->database());
  auto dictionaries = DictionaryWriter::open(catalogue->database());
  if (!transaction || !dictionaries) {
    return !transaction ? propagate(transaction) : propagate(dictionaries);
  }
  for (size_t id = 1; id < events.size(); ++id) {
    if (const auto added = dictionaries->event(events[id]); !added) {
      return propagate(added);
    }
  }
  return transaction->commit();
}

// With all that its write-ahead log has, so that the file alone is all of it.
Status complete_catalogue(const std::string& path) {
  auto catalogue = Catalogue::open(path, sqlite::OpenMode::kReadWrite);
  if (!catalogue) {
    return propagate(catalogue);
  }
  const auto state = block_state_of_origins(catalogue->database(), wall_now_ns());
  const Status written = state ? write_block_state(catalogue->database(), *state) : propagate(state);
  if (!written) {
    return written;
  }
  // A question is over soon; what reads for longer has to be stopped.
  const Status impatient = catalogue->database().run("PRAGMA busy_timeout = 1000");
  const auto is_busy =
      impatient ? catalogue->database().integer("PRAGMA wal_checkpoint(TRUNCATE)", 1) : propagate(impatient);
  if (!is_busy) {
    return propagate(is_busy, "completing {}", path);
  }
  return *is_busy == 0 ? Status()
                       : with_hint(fail(ErrorCode::kUnavailable, "{} is being read", path),
                                   "stop who reads it, and try again");
}

Status move_catalogue(const std::string& from, const std::string& to) {
  std::error_code error;
  if (std::filesystem::exists(from, error)) {
    if (const Status complete = complete_catalogue(from); !complete) {
      return complete;
    }
    std::filesystem::rename(from, to, error);
    if (error) {
      return fail_errno(error.value(), "moving {} to {}", from, to);
    }
  }
  for (const std::string_view empty : {"-wal", "-shm"}) {
    std::filesystem::remove(fmt::format("{}{}", from, empty), error);
  }
  return {};
}

}  // namespace

Result<std::vector<BlockFolder>> list_blocks(const std::string& blocks_path) {
  std::vector<int64_t> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(blocks_path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const int64_t number = number_of(entry->path().filename().string()); number != 0) {
      numbers.push_back(number);
    }
  }
  if (error) {
    return fail_errno(error.value(), "listing {}", blocks_path);
  }
  std::ranges::sort(numbers);
  const bool has_gap =
      !numbers.empty() && numbers.back() - numbers.front() + 1 != static_cast<int64_t>(numbers.size());
  if (numbers.empty() || has_gap) {
    return with_hint(numbers.empty() ? fail(ErrorCode::kCorrupt, "{} has no block", blocks_path)
                                     : fail(ErrorCode::kCorrupt, "{} lacks a block between {:06} and {:06}",
                                            blocks_path, numbers.front(), numbers.back()),
                     "restore what is missing from a backup");
  }
  std::vector<BlockFolder> blocks;
  for (const int64_t number : numbers) {
    blocks.push_back(folder_of(blocks_path, number));
  }
  return blocks;
}

Result<BlockFolder> make_block(const std::string& blocks_path, int64_t number,
                               const AppendOnlyList<EventEntry>& events) {
  const BlockFolder block = folder_of(blocks_path, number);
  const BlockFolder temporary{number, fmt::format("{}{}", block.path, kTemporary)};
  std::error_code error;
  std::filesystem::remove_all(temporary.path, error);
  if (error) {
    return fail_errno(error.value(), "removing {}", temporary.path);
  }
  Status made = make_folder(temporary.segments_path());
  made = made ? make_catalogue(temporary.catalogue_path(), events) : made;
  made = made ? sync_folder(temporary.path) : made;
  made = made ? rename_folder(temporary.path, block.path, blocks_path) : made;
  return made ? Result<BlockFolder>(block) : propagate(made, "making block {}", number);
}

Status move_into_first_block(const std::string& data_dir, const std::string& blocks_path) {
  const BlockFolder block = folder_of(blocks_path, kFirst);
  const BlockFolder moving{kFirst, fmt::format("{}{}", block.path, kMoving)};
  std::error_code error;
  if (std::filesystem::exists(block.path, error)) {
    return std::filesystem::exists(data_dir + "/catalogue.db", error)
               ? Status(with_hint(
                     fail(ErrorCode::kCorrupt, "{} has both catalogue.db and {}", data_dir, block.path),
                     "move one of them away: rows are in both"))
               : Status();
  }
  Status moved = make_folder(moving.path);
  moved = moved ? move_catalogue(data_dir + "/catalogue.db", moving.catalogue_path()) : moved;
  if (moved && std::filesystem::exists(data_dir + "/segments", error)) {
    moved = rename_folder(data_dir + "/segments", moving.segments_path(), data_dir);
  }
  // Of a format without rows that are of use today there is neither.
  moved = moved ? make_folder(moving.segments_path()) : moved;
  moved = moved ? make_catalogue(moving.catalogue_path(), {}) : moved;
  moved = moved ? sync_folder(moving.path) : moved;
  moved = moved ? rename_folder(moving.path, block.path, blocks_path) : moved;
  return moved ? moved : propagate(moved, "moving rows into {}", block.path);
}

}  // namespace plimsoll::store
