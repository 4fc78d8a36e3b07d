#include "store/identity/listed_database.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "base/hex.h"

namespace plimsoll::store {
namespace {

struct KnownDatabase {
  std::string_view name;
  std::string_view holds;
  std::string_view loss;  // without it
};

constexpr std::array<KnownDatabase, 4> kKnown{{
    {"archive.db", "accepted raw profiles",
     "a new one would number profiles from 1 again, and those numbered below the newest block would never "
     "become "
     "rows"},
    {"live.db", "registered machines and their history",
     "a new one would know no machine, and nothing of what the fleet was like"},
    {"draws.db", "draws, their weights, what is stopped and definitions of experiments",
     "a new one would lift all stops, and forget experiments and the machines that did not answer"},
    {"access.db", "enrolled and revoked machines, and the audit log",
     "a new one would let revoked machines register again"},
}};

constexpr KnownDatabase kCatalogue{"catalogue.db", "the segments, dictionaries and names of a block",
                                   "nothing could be read from the block's segments"};

const KnownDatabase& known(std::string_view name) {
  for (const KnownDatabase& database : kKnown) {
    if (database.name == name) {
      return database;
    }
  }
  return kCatalogue;
}

std::string how_to_restore(std::string_view name) {
  return fmt::format(
      "stop the server, then copy {0} from a backup of this directory and remove {0}-wal and {0}-shm; or "
      "restore "
      "the whole directory with \"plimsoll store restore\"",
      name);
}

}  // namespace

std::unexpected<Error> missing_database(const std::string& data_dir, std::string_view name) {
  const KnownDatabase& database = known(name);
  const std::string without =
      &database == &kCatalogue
          ? ""
          : fmt::format("; or go on without what it held: \"plimsoll store repair --data {} --forget {}\"",
                        data_dir, name);
  return with_hint(with_field(fail(ErrorCode::kCorrupt, "{}/{} is missing ({}): {}", data_dir, name,
                                   database.holds, database.loss),
                              std::string(name)),
                   how_to_restore(name) + without);
}

std::unexpected<Error> foreign_database(const std::string& data_dir, std::string_view name,
                                        std::string_view found_id, std::string_view expected_id) {
  const std::string has =
      found_id.empty() ? "no directory ID" : fmt::format("the directory ID {}", to_hex(found_id));
  return with_hint(with_field(fail(ErrorCode::kCorrupt,
                                   "{}/{} is of another data directory: it has {}, and this directory is {}",
                                   data_dir, name, has, to_hex(expected_id)),
                              std::string(name)),
                   how_to_restore(name));
}

Status expect_database(const std::string& data_dir, std::string_view name, std::string_view id) {
  const std::string path = fmt::format("{}/{}", data_dir, name);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return error ? Status(fail_errno(error.value(), "looking for {}", path))
                 : missing_database(data_dir, name);
  }
  auto database = sqlite::Database::open(path, sqlite::OpenMode::kRead);
  const auto found = database ? directory_id_of(*database) : propagate(database);
  if (!found) {
    return propagate(found, "reading which data directory {} is of", path);
  }
  return *found == id ? Status() : foreign_database(data_dir, name, *found, id);
}

Result<bool> is_database_there(const std::string& path) {
  const std::filesystem::path parts(path);
  const std::string data_dir = parts.has_parent_path() ? parts.parent_path().string() : ".";
  const std::string name = parts.filename().string();
  const auto identity = read_identity(data_dir);
  if (!identity) {
    return propagate(identity);
  }
  if (identity->lists(name)) {
    const Status expected = expect_database(data_dir, name, identity->id);
    return expected ? Result<bool>(true) : propagate(expected);
  }
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  return error ? Result<bool>(fail_errno(error.value(), "looking for {}", path)) : is_there;
}

}  // namespace plimsoll::store
