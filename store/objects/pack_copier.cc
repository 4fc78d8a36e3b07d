#include "store/objects/pack_copier.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "sqlite/database.h"
#include "store/archive/archive.h"
#include "store/objects/manifest.h"
#include "store/objects/profile_pack.h"

namespace plimsoll::store {
namespace {

Result<ProfilePack> next_pack(Archive& archive, int64_t after, uint64_t pack_bytes) {
  ProfilePack pack;
  while (pack.content().size() < pack_bytes) {
    auto found = archive.next_after(after);
    if (!found) {
      return propagate(found);
    }
    const std::optional<ArchivedProfile> profile = std::move(*found);
    if (!profile.has_value()) {
      break;
    }
    pack.add(*profile);
    after = profile->sequence;
  }
  return pack;
}

// What the directory has dropped, and a block in the store has rows of, or rows elsewhere are of.
void drop_packs(int64_t oldest_sequence, CopyDraft& draft) {
  const Manifest& manifest = draft.manifest();
  const int64_t built_up_to = manifest.has_rows_elsewhere() ? INT64_MAX : manifest.built_up_to();
  for (const std::string& path : manifest.paths_below("packs/")) {
    const auto range = pack_at(path);
    if (range && range->last < oldest_sequence && range->last <= built_up_to) {
      draft.drop(path);
    }
  }
}

}  // namespace

Status copy_packs(const std::string& data_dir, uint64_t pack_bytes, CopyDraft& draft) {
  const auto archive = Archive::open(data_dir + "/archive.db", sqlite::OpenMode::kRead);
  const auto oldest = archive ? (*archive)->oldest() : propagate(archive);
  if (!oldest) {
    return propagate(oldest);
  }
  const std::optional<ReceivedProfile> oldest_profile = *oldest;
  const int64_t oldest_sequence = oldest_profile.has_value() ? oldest_profile->sequence : INT64_MAX;
  const std::vector<std::string> packs = draft.manifest().paths_below("packs/");
  // Without a pack: before the first profile.
  PackRange last = packs.empty() ? PackRange() : pack_at(packs.back()).value_or(PackRange());
  auto found = (*archive)->next_after(last.last);
  if (!found) {
    return propagate(found);
  }
  const std::optional<ArchivedProfile> new_one = std::move(*found);
  // Numbers have no gaps: retention has dropped profiles that were never packed. A restored archive must have none either, unless rows elsewhere
  // are of the profiles in between: these were dropped, or lost before a restore (store/known_profiles.h).
  if (!draft.manifest().has_rows_elsewhere() && last.last != 0 && new_one.has_value() &&
      new_one->sequence > last.last + 1) {
    for (const std::string& path : packs) {
      draft.drop(path);
    }
    last = {};
  }
  bool grows = last.last != 0 && draft.manifest().files.at(packs.back()).bytes < pack_bytes &&
               oldest_sequence <= last.first;
  int64_t after = grows ? last.first - 1 : last.last;
  bool has_more = new_one.has_value();
  while (has_more && !draft.is_over_budget()) {
    const auto pack = next_pack(**archive, after, pack_bytes);
    if (!pack) {
      return propagate(pack);
    }
    if (pack->is_empty()) {
      break;
    }
    if (const Status stored =
            draft.put(pack_path(pack->range()), as_bytes(pack->content()), pack->last_fingerprint());
        !stored) {
      return stored;
    }
    // Not where retention has dropped its first profiles meanwhile: the newest block may have their rows alone, and is not copied.
    const bool replaces = std::exchange(grows, false) && pack->range().first == last.first;
    if (replaces && pack->range().last != last.last) {
      draft.drop_replaced(packs.back());
    }
    after = pack->range().last;
    has_more = pack->content().size() >= pack_bytes;
  }
  drop_packs(oldest_sequence, draft);
  return {};
}

}  // namespace plimsoll::store
