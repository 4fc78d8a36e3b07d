#include "store/directory/bound_databases.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/durable_file.h"
#include "base/log.h"
#include "store/access/access_store.h"
#include "store/archive/archive.h"
#include "store/blocks/block_damage.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/block_table.h"
#include "store/draws/draw_store.h"
#include "store/identity/listed_database.h"
#include "store/live/live_machines.h"

namespace plimsoll::store {
namespace {

constexpr std::string_view kArchive = "archive.db";
constexpr std::string_view kLive = "live.db";
constexpr std::string_view kDraws = "draws.db";
constexpr std::string_view kAccess = "access.db";
constexpr std::array kAlways{kArchive, kLive};
// Those that only a server makes.
constexpr std::array kOptional{kDraws, kAccess};

std::string path_in(const std::string& data_dir, std::string_view name) {
  return fmt::format("{}/{}", data_dir, name);
}

std::string catalogue_name(const BlockFolder& block) {
  return fmt::format("blocks/{}/catalogue.db", block.name());
}

Result<bool> has_file(const std::string& path) {
  std::error_code error;
  const bool has = std::filesystem::exists(path, error);
  return error ? Result<bool>(fail_errno(error.value(), "looking for {}", path)) : has;
}

template <typename Store>
Status status_of(const Result<Store>& opened) {
  return opened ? Status() : propagate(opened);
}

Status make_tables(const std::string& data_dir, std::string_view name, std::string_view file) {
  const std::string path = path_in(data_dir, file);
  constexpr auto kReadWrite = sqlite::OpenMode::kReadWrite;
  return name == kArchive ? status_of(Archive::open(path, sqlite::OpenMode::kReadWriteShrinking))
         : name == kLive  ? status_of(LiveMachines::open(path, kReadWrite))
         : name == kDraws ? status_of(DrawStore::open(path, kReadWrite))
                          : status_of(AccessStore::open(path, kReadWrite));
}

Status bind_database(const std::string& data_dir, std::string_view name, std::string_view id) {
  auto database = sqlite::Database::open(path_in(data_dir, name), sqlite::OpenMode::kReadWrite);
  const Status given = database ? give_directory_id(*database, id) : propagate(database);
  const auto has = given ? directory_id_of(*database) : propagate(given);
  if (!has) {
    return propagate(has, "giving the directory's ID to {}", path_in(data_dir, name));
  }
  return *has == id ? Status() : foreign_database(data_dir, name, *has, id);
}

// 0 too where there are no tables yet.
Result<int64_t> highest_sequence(const std::string& archive_path) {
  auto archive = sqlite::Database::open(archive_path, sqlite::OpenMode::kRead);
  const auto has_ledger = archive ? archive->has_table("ledger") : propagate(archive);
  if (!has_ledger || !*has_ledger) {
    return has_ledger ? Result<int64_t>(0) : propagate(has_ledger);
  }
  return last_accepted_sequence(*archive);
}

// The newest profile that became rows, and the block that it is in; 0: there is none.
Result<std::pair<int64_t, int64_t>> last_built(const std::vector<BlockFolder>& blocks) {
  std::pair<int64_t, int64_t> known;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    auto catalogue = sqlite::Database::open(block->catalogue_path(), sqlite::OpenMode::kRead);
    const auto sequence = catalogue ? last_built_sequence(*catalogue) : propagate(catalogue);
    const auto before = sequence ? accepted_before(*catalogue) : propagate(sequence);
    // What a later block knows of one that cannot be read is all that is known.
    if (!before && block != blocks.rbegin() && is_unreadable(*block)) {
      return known;
    }
    if (!before) {
      return propagate(before);
    }
    known = std::pair(*sequence, block->number);
    // One without profiles of its own knows those of the blocks before it; where these were dropped it speaks for them.
    const bool is_first = block + 1 == blocks.rend();
    if (*sequence > *before || (is_first && *sequence != 0)) {
      return std::pair(*sequence, block->number);
    }
  }
  return std::pair<int64_t, int64_t>();
}

// The blocks are read first: a writer accepts a profile before it becomes rows.
Status expect_archive_of(const std::string& data_dir, const std::vector<BlockFolder>& blocks) {
  const auto built = last_built(blocks);
  const auto has_archive = built ? has_file(path_in(data_dir, kArchive)) : propagate(built);
  if (!has_archive) {
    return propagate(has_archive);
  }
  if (!*has_archive) {
    return built->first == 0 ? Status() : missing_database(data_dir, kArchive);
  }
  const auto highest = highest_sequence(path_in(data_dir, kArchive));
  if (!highest) {
    return propagate(highest, "reading how many profiles {} has", path_in(data_dir, kArchive));
  }
  if (*highest >= built->first) {
    return {};
  }
  return with_hint(
      with_field(
          fail(ErrorCode::kCorrupt,
               "{} is older than the blocks: its newest profile is number {}, and block {:06} has rows of "
               "number {}; new profiles would get numbers that the block has already, and never become rows",
               path_in(data_dir, kArchive), *highest, built->second, built->first),
          std::string(kArchive)),
      "put the newest archive.db of this directory back, or restore the whole directory from one backup with "
      "\"plimsoll store restore\"");
}

}  // namespace

Status bind_databases(const std::string& data_dir, DirectoryIdentity& identity) {
  const auto blocks = list_blocks(data_dir + "/blocks");
  Status bound = blocks ? expect_archive_of(data_dir, *blocks) : propagate(blocks);
  DirectoryIdentity complete{.id = identity.id};
  for (const std::string_view name : kAlways) {
    bound = bound ? make_tables(data_dir, name, name) : bound;
    bound = bound ? bind_database(data_dir, name, identity.id) : bound;
    complete.databases.emplace_back(name);
  }
  for (const std::string_view name : kOptional) {
    const auto is_there = has_file(path_in(data_dir, name));
    bound = bound && !is_there ? propagate(is_there) : bound;
    if (bound && *is_there) {
      bound = bind_database(data_dir, name, identity.id);
      complete.databases.emplace_back(name);
    }
  }
  if (!bound) {
    return bound;
  }
  for (const BlockFolder& block : *blocks) {
    const auto is_there = has_file(block.catalogue_path());
    bound = bound && !is_there ? propagate(is_there) : bound;
    bound = bound && !*is_there ? missing_database(data_dir, catalogue_name(block)) : bound;
    bound = bound ? bind_database(data_dir, catalogue_name(block), identity.id) : bound;
  }
  bound = bound ? sync_folder(data_dir) : bound;
  bound = bound ? write_identity(data_dir, complete) : bound;
  if (bound) {
    identity = std::move(complete);
  }
  return bound;
}

Status expect_bound_databases(const std::string& data_dir, DirectoryIdentity& identity) {
  for (const std::string& name : identity.databases) {
    if (const Status expected = expect_database(data_dir, name, identity.id); !expected) {
      return expected;
    }
  }
  const auto blocks = list_blocks(data_dir + "/blocks");
  if (!blocks) {
    return propagate(blocks);
  }
  for (const BlockFolder& block : *blocks) {
    // A sealed block that cannot be read costs its rows. Without the newest nothing tells what has become rows.
    const bool is_newest = &block == &blocks->back();
    if (!is_newest && is_unreadable(block)) {
      continue;
    }
    if (const Status expected = expect_database(data_dir, catalogue_name(block), identity.id); !expected) {
      return expected;
    }
  }
  if (const Status expected = expect_archive_of(data_dir, *blocks); !expected) {
    return expected;
  }
  for (const std::string_view name : kOptional) {
    const auto is_there = has_file(path_in(data_dir, name));
    const Status listed = !is_there   ? propagate(is_there)
                          : *is_there ? make_listed(data_dir, name, identity)
                                      : Status();
    if (!listed) {
      return listed;
    }
  }
  return {};
}

Status make_listed(const std::string& data_dir, std::string_view name, DirectoryIdentity& identity) {
  if (identity.lists(name)) {
    return {};
  }
  DirectoryIdentity extended = identity;
  extended.databases.emplace_back(name);
  Status made = make_tables(data_dir, name, name);
  made = made ? bind_database(data_dir, name, identity.id) : made;
  made = made ? sync_folder(data_dir) : made;
  made = made ? write_identity(data_dir, extended) : made;
  if (made) {
    identity = std::move(extended);
  }
  return made;
}

Status make_again(const std::string& data_dir, std::string_view name, DirectoryIdentity& identity) {
  const bool is_known = std::ranges::find(kAlways, name) != kAlways.end() ||
                        std::ranges::find(kOptional, name) != kOptional.end();
  if (!is_known) {
    return with_hint(fail(ErrorCode::kInvalid, "{} cannot be made again", name),
                     "archive.db, live.db, draws.db and access.db can; restore the others from a backup");
  }
  const auto is_there = has_file(path_in(data_dir, name));
  const auto blocks = is_there ? list_blocks(data_dir + "/blocks") : propagate(is_there);
  const auto built = blocks ? last_built(*blocks) : propagate(blocks);
  if (!built) {
    return propagate(built);
  }
  if (*is_there) {
    return with_hint(fail(ErrorCode::kConflict, "{} is there", path_in(data_dir, name)),
                     "move it away to go on without it");
  }
  // What is left of the one that is gone would be read as a part of the new one.
  for (const char* suffix : {"-wal", "-shm"}) {
    std::error_code ignored;
    std::filesystem::remove(path_in(data_dir, name) + suffix, ignored);
  }
  // Under a name of its own until it is whole: an archive that begins with 1 must not be found.
  const std::string temporary = fmt::format("{}.tmp", name);
  std::error_code error;
  std::filesystem::remove(path_in(data_dir, temporary), error);
  Status made = make_tables(data_dir, name, temporary);
  if (made && name == kArchive) {
    auto archive = sqlite::Database::open(path_in(data_dir, temporary), sqlite::OpenMode::kReadWrite);
    made = archive ? archive->execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('ledger', ?)",
                                      built->first)
                   : propagate(archive);
  }
  made = made ? bind_database(data_dir, temporary, identity.id) : made;
  if (made) {
    std::filesystem::rename(path_in(data_dir, temporary), path_in(data_dir, name), error);
    made = error ? Status(fail_errno(error.value(), "renaming {}", path_in(data_dir, temporary)))
                 : sync_folder(data_dir);
  }
  if (!made || identity.lists(name)) {
    return made;
  }
  identity.databases.emplace_back(name);
  return write_identity(data_dir, identity);
}

Status expect_newest_block(const std::string& data_dir, const DirectoryIdentity& identity) {
  const auto blocks = list_blocks(data_dir + "/blocks");
  return blocks ? expect_database(data_dir, catalogue_name(blocks->back()), identity.id) : propagate(blocks);
}

Status expect_archive(const std::string& data_dir, const DirectoryIdentity& identity) {
  const auto blocks = list_blocks(data_dir + "/blocks");
  const Status expected = blocks ? expect_database(data_dir, kArchive, identity.id) : propagate(blocks);
  return expected ? expect_archive_of(data_dir, *blocks) : expected;
}

}  // namespace plimsoll::store
