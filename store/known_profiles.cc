#include "store/known_profiles.h"

#include <optional>
#include <span>
#include <vector>

#include "base/log.h"
#include "store/identity/directory_identity.h"

namespace plimsoll::store {
namespace {

// How a profile came is not in the rows: its ID stays as long as that of an imported one.
Status add_known(Archive& archive, std::span<const KnownProfile> profiles) {
  std::vector<ArchivedProfile> entries;
  entries.reserve(profiles.size());
  for (const KnownProfile& profile : profiles) {
    entries.push_back({.sequence = profile.sequence,
                       .id = profile.id,
                       .encoded = {},
                       .received_ns = profile.to_ns,
                       .arrival = Arrival::kImported});
  }
  return archive.add_known(entries);
}

Status complete(Archive& archive, RowStore& rows, int64_t built_up_to) {
  const auto before = archive.last_sequence();
  const auto unknown = before ? archive.unknown_up_to(built_up_to) : propagate(before);
  if (!unknown) {
    return propagate(unknown);
  }
  uint64_t added = 0;
  for (const SequenceRange& range : *unknown) {
    const Status done =
        rows.for_each_profile(range.first, range.last, [&](std::span<const KnownProfile> profiles) {
          added += profiles.size();
          return add_known(archive, profiles);
        });
    if (!done) {
      return done;
    }
  }
  const Status moved = archive.go_on_after(built_up_to);
  if (moved && (added > 0 || *before < built_up_to)) {
    log_warning(
        "the directory was restored up to profile number {}, and {} has rows up to number {}: the IDs of {} "
        "profiles were taken from the rows; their raw profiles are lost",
        *before, rows.address(), built_up_to, added);
  }
  return moved;
}

// As where the database was restored from an older backup. What is there is built again.
Status warn_of_lost_profiles(Archive& archive, const RowStore& rows, int64_t built_up_to) {
  const auto last = archive.last_sequence();
  const auto next = last ? archive.next_after(built_up_to) : propagate(last);
  if (!next) {
    return propagate(next);
  }
  const std::optional<ArchivedProfile>& first = *next;
  const int64_t lost_up_to = first.has_value() ? first->sequence - 1 : *last;
  if (lost_up_to > built_up_to) {
    log_warning(
        "{} has rows up to profile number {}, and raw profiles up to number {} are gone: those between get "
        "no rows; restore a newer backup of the database to have them",
        rows.address(), built_up_to, lost_up_to);
  }
  return {};
}

}  // namespace

Status settle_known_profiles(const std::string& data_dir, Archive& archive, RowStore& rows) {
  const int64_t built_up_to = rows.sink().committed_up_to();
  auto identity = read_identity(data_dir);
  const auto last = identity ? archive.last_sequence() : propagate(identity);
  if (!last) {
    return propagate(last);
  }
  if (!identity->is_restored && *last < built_up_to) {
    return with_hint(
        with_field(
            fail(ErrorCode::kCorrupt,
                 "{}/archive.db is older than the rows in {}: its newest profile is number {}, and they "
                 "have number {}; new profiles would get numbers that have rows already, and never "
                 "become rows",
                 data_dir, rows.address(), *last, built_up_to),
            "archive.db"),
        "put the newest archive.db of this directory back, or restore the whole directory with "
        "\"plimsoll store restore\"");
  }
  if (identity->is_restored) {
    const Status completed = complete(archive, rows, built_up_to);
    identity->is_restored = false;
    const Status noted = completed ? write_identity(data_dir, *identity) : completed;
    if (!noted) {
      return propagate(noted, "taking the IDs of profiles from the rows in {}", rows.address());
    }
  }
  return warn_of_lost_profiles(archive, rows, built_up_to);
}

}  // namespace plimsoll::store
