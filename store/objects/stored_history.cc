#include "store/objects/stored_history.h"

#include <algorithm>
#include <vector>

#include "sqlite/database.h"
#include "store/archive/archive.h"
#include "store/objects/profile_pack.h"

namespace plimsoll::store {

Status expect_same_history(const std::string& data_dir, const Manifest& stored) {
  const std::vector<std::string> packs = stored.paths_below("packs/");
  const PackRange range = packs.empty() ? PackRange() : pack_at(packs.back()).value_or(PackRange());
  const int64_t newest = std::max(range.last, stored.built_up_to());
  if (newest == 0) {
    return {};
  }
  const std::string path = data_dir + "/archive.db";
  auto database = sqlite::Database::open(path, sqlite::OpenMode::kRead);
  const auto accepted = database ? last_accepted_sequence(*database) : propagate(database);
  const auto archive = accepted ? Archive::open(path, sqlite::OpenMode::kRead) : propagate(accepted);
  const auto id = archive ? (*archive)->id_of(range.last) : propagate(archive);
  // Its ID was taken from rows elsewhere (Archive::add_known()), and the store has its content: packs without it would take that one's place.
  const auto lacking =
      id ? database->integer("SELECT count(*) FROM ledger WHERE sequence = ? AND content_hash = x''", 0,
                             range.last)
         : propagate(id);
  if (!lacking) {
    return propagate(lacking, "comparing {} with the object store", data_dir);
  }
  // 0: an older version has put the pack. Without an ID the profile was forgotten since.
  const int64_t fingerprint = packs.empty() ? 0 : stored.files.at(packs.back()).version;
  const bool is_same = fingerprint == 0 || id->empty() || fingerprint == fingerprint_of_id(*id);
  return *accepted >= newest && is_same && *lacking == 0
             ? Status()
             : with_hint(
                   fail(ErrorCode::kConflict,
                        "the object store has profiles up to number {}, and {} lacks some of them: it was "
                        "restored from an older backup, or its archive.db was made again",
                        newest, data_dir),
                   "restore the directory from the object store, or give this server another prefix in "
                   "objects.address");
}

}  // namespace plimsoll::store
