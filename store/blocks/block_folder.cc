#include "store/blocks/block_folder.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/durable_file.h"
#include "base/time.h"
#include "proto/profile.pb.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/identity/directory_identity.h"
#include "store/identity/listed_database.h"

namespace plimsoll::store {
namespace {

constexpr int64_t kFirst = 1;
constexpr std::string_view kTemporary = ".tmp";    // of a block that is being made
constexpr std::string_view kMoving = ".moving";    // of one that an older format is moved into
constexpr std::string_view kDropped = ".dropped";  // of one that is out of the row

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

Status remove_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? Status(fail_errno(error.value(), "removing {}", path)) : Status();
}

Result<bool> is_there(const std::string& path) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  return error ? Result<bool>(fail_errno(error.value(), "looking for {}", path)) : is_there;
}

Status carry_over_events(sqlite::Database& before, sqlite::Database& catalogue) {
  return sqlite::for_each_row(
      before.query("SELECT id, name, unit, kind FROM event ORDER BY id"), [&](const sqlite::Statement& row) {
        return catalogue.execute("INSERT INTO event VALUES (?, ?, ?, ?)", row.integer(0), row.text(1),
                                 row.integer(2), row.integer(3));
      });
}

// With the binaries that they are of, which get the first IDs.
Status carry_over_kernels(sqlite::Database& before, sqlite::Database& catalogue) {
  return sqlite::for_each_row(
      before.query(
          "SELECT identity_kind, identity, path, content FROM kernel_symbols "
          "JOIN binary ON binary.id = kernel_symbols.binary WHERE NOT is_carried_over OR "
          "EXISTS (SELECT 1 FROM location WHERE kind IN (?, ?) AND owner = binary.id) ORDER BY binary.id",
          wire::KERNEL, wire::MODULE),
      [&](const sqlite::Statement& row) {
        const Status added =
            catalogue.execute("INSERT INTO binary (identity_kind, identity, path) VALUES (?, ?, ?)",
                              row.integer(0), as_bytes(row.blob(1)), row.text(2));
        return added ? catalogue.execute(
                           "INSERT INTO kernel_symbols (binary, content, is_carried_over) "
                           "VALUES (last_insert_rowid(), ?, 1)",
                           as_bytes(row.blob(3)))
                     : added;
      });
}

// Both are of the same directory.
Status carry_over_directory_id(sqlite::Database& before, sqlite::Database& catalogue) {
  const auto id = directory_id_of(before);
  return !id ? propagate(id) : id->empty() ? Status() : give_directory_id(catalogue, *id);
}

// Closed again, so that its folder may be renamed.
Status make_catalogue(const std::string& path, sqlite::Database* before) {
  auto catalogue = Catalogue::open(path, sqlite::OpenMode::kReadWrite);
  if (!catalogue || before == nullptr) {
    return catalogue ? Status() : propagate(catalogue);
  }
  auto transaction = sqlite::Transaction::begin(catalogue->database());
  Status carried = transaction ? carry_over_events(*before, catalogue->database()) : propagate(transaction);
  carried = carried ? carry_over_kernels(*before, catalogue->database()) : carried;
  const auto last_before = carried ? last_built_sequence(*before) : propagate(carried);
  carried = last_before ? write_accepted_before(catalogue->database(), *last_before) : propagate(last_before);
  carried = carried ? carry_over_directory_id(*before, catalogue->database()) : carried;
  return carried ? transaction->commit() : carried;
}

Result<BlockFolder> make_block_after(const std::string& blocks_path, int64_t number,
                                     sqlite::Database* before) {
  const BlockFolder block = folder_of(blocks_path, number);
  const BlockFolder temporary{number, fmt::format("{}{}", block.path, kTemporary)};
  const auto is_made = is_there(block.catalogue_path());
  if (!is_made || *is_made) {
    const Status synced = is_made ? sync_folder(blocks_path) : propagate(is_made);
    return synced ? Result<BlockFolder>(block) : propagate(synced);
  }
  Status made = remove_folder(temporary.path);
  made = made ? make_folder(temporary.segments_path()) : made;
  made = made ? make_catalogue(temporary.catalogue_path(), before) : made;
  made = made ? sync_folder(temporary.path) : made;
  made = made ? rename_folder(temporary.path, block.path, blocks_path) : made;
  return made ? Result<BlockFolder>(block) : propagate(made, "making block {}", number);
}

// With all that its write-ahead log has, so that the file alone is all of it.
Status complete_catalogue(const std::string& path) {
  auto catalogue = Catalogue::open(path, sqlite::OpenMode::kReadWrite);
  if (!catalogue) {
    return propagate(catalogue);
  }
  if (const Status added = Catalogue::add_columns_of_format_7(catalogue->database()); !added) {
    return added;
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
                                   "stop the process that reads it, and try again");
}

// Where both are there, an older program has begun again after the first was moved: both have rows.
Status expect_one_of(const std::string& from, const std::string& to) {
  const auto is_old = is_there(from);
  const auto is_new = is_there(to);
  if (!is_old || !is_new) {
    return !is_old ? propagate(is_old) : propagate(is_new);
  }
  return *is_old && *is_new
             ? Status(with_hint(fail(ErrorCode::kCorrupt, "both {} and {} are there", from, to),
                                "keep the one with more profiles, and move the other away"))
             : Status();
}

Status move_catalogue(const std::string& from, const std::string& to) {
  const auto is_left = is_there(from);
  if (!is_left) {
    return propagate(is_left);
  }
  std::error_code error;
  if (*is_left) {
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

Result<BlockFolder> make_block(const std::string& blocks_path, int64_t number, sqlite::Database& before) {
  return make_block_after(blocks_path, number, &before);
}

Status drop_block(const std::string& blocks_path, const BlockFolder& block) {
  const std::string dropped = fmt::format("{}{}", block.path, kDropped);
  // In the row or out of it before any file goes: a block without some of its files is in no row.
  if (const Status renamed = rename_folder(block.path, dropped, blocks_path); !renamed) {
    return propagate(renamed, "dropping block {}", block.number);
  }
  return remove_folder(dropped);
}

Status remove_dropped(const std::string& blocks_path) {
  std::vector<std::string> dropped;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(blocks_path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == kDropped) {
      dropped.push_back(entry->path().string());
    }
  }
  Status removed = error ? Status(fail_errno(error.value(), "listing {}", blocks_path)) : Status();
  for (const std::string& path : dropped) {
    removed = removed ? remove_folder(path) : removed;
  }
  return removed;
}

Result<BlockFolder> make_first_block(const std::string& blocks_path) {
  return make_block_after(blocks_path, kFirst, nullptr);
}

Status move_into_first_block(const std::string& data_dir, const std::string& blocks_path) {
  const BlockFolder block = folder_of(blocks_path, kFirst);
  const BlockFolder moving{kFirst, fmt::format("{}{}", block.path, kMoving)};
  const std::string old_catalogue = data_dir + "/catalogue.db";
  const std::string old_segments = data_dir + "/segments";
  for (const BlockFolder& made : {block, moving}) {
    for (const Status& checked : {expect_one_of(old_catalogue, made.catalogue_path()),
                                  expect_one_of(old_segments, made.segments_path())}) {
      if (!checked) {
        return checked;
      }
    }
  }
  const auto is_moved = is_there(block.path);
  const auto has_segments = is_there(old_segments);
  if (!is_moved || !has_segments || *is_moved) {
    return !is_moved ? propagate(is_moved) : !has_segments ? propagate(has_segments) : Status();
  }
  Status moved = make_folder(moving.path);
  moved = moved ? move_catalogue(old_catalogue, moving.catalogue_path()) : moved;
  if (moved && *has_segments) {
    moved = rename_folder(old_segments, moving.segments_path(), data_dir);
  }
  // Of a format without rows that are of use today there is neither.
  moved = moved ? make_folder(moving.segments_path()) : moved;
  moved = moved ? make_catalogue(moving.catalogue_path(), nullptr) : moved;
  moved = moved ? sync_folder(moving.path) : moved;
  moved = moved ? rename_folder(moving.path, block.path, blocks_path) : moved;
  return moved ? moved : propagate(moved, "moving rows into {}", block.path);
}

}  // namespace plimsoll::store
