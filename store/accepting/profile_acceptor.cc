#include "store/accepting/profile_acceptor.h"

#include "base/hex.h"
#include "base/time.h"
#include "store/directory/disk_usage.h"

namespace plimsoll::store {

Result<Accepted> ProfileAcceptor::accept(Bytes encoded, const wire::ProfileLimits& limits,
                                         const ProfileCheck& check) {
  return accept_as(Arrival::kImported, encoded, limits, check);
}

Result<Accepted> ProfileAcceptor::accept_upload(Bytes encoded, const wire::ProfileLimits& limits,
                                                const ProfileCheck& check) {
  // Before the profile is decoded: it takes no room in memory while there is none on the disk.
  if (const Status room = check_room(); !room) {
    return propagate(room);
  }
  return accept_as(Arrival::kUploaded, encoded, limits, [&](const wire::RawProfile& profile) -> Status {
    const Status checked = check ? check(profile) : Status();
    return checked ? check_age(profile) : checked;
  });
}

Status ProfileAcceptor::check_room() {
  if (const Status room = expect_free_bytes(data_dir_, limits_.min_free_bytes); !room) {
    return room;
  }
  if (limits_.max_archive_bytes < INT64_MAX) {
    const auto used = archive_.used_bytes();
    if (used && *used > limits_.max_archive_bytes) {
      return with_hint(fail(ErrorCode::kUnavailable,
                            "raw profiles take {} bytes, over the limit of {}: no rows are built from them",
                            *used, limits_.max_archive_bytes),
                       "see what \"plimsoll status\" says of rows");
    }
  }
  return {};
}

Status ProfileAcceptor::check_age(const wire::RawProfile& profile) const {
  const wire::Window& window = profile.window();
  const int64_t end_ns =
      window.start().wall_ns() + window.end().monotonic_ns() - window.start().monotonic_ns();
  const int64_t age_ns = now_ns_() - end_ns;
  if (age_ns <= limits_.max_age_ns) {
    return {};
  }
  // A clock that was set ahead makes every profile too old, and daemons drop what is refused. Where nothing has come lately either, it may
  // be the clock: what comes next, if it is right, ends the doubt.
  const auto newest_ns = archive_.newest_received_ns();
  if (newest_ns && *newest_ns != 0 && now_ns_() - *newest_ns > limits_.max_age_ns) {
    return with_hint(
        fail(ErrorCode::kUnavailable,
             "profile {} is of {} ago, and so is the newest that came before: the clock may be wrong",
             to_hex(profile.profile_id()), format_duration(age_ns)),
        "check the server's clock; profiles of now are taken");
  }
  return with_hint(with_field(fail(ErrorCode::kInvalid, "profile {} is of {} ago, over the maximum age of {}",
                                   to_hex(profile.profile_id()), format_duration(age_ns),
                                   format_duration(limits_.max_age_ns)),
                              "window"),
                   "keep limits.max_spool_age of daemons below retention.max_upload_age of the server");
}

Result<Accepted> ProfileAcceptor::accept_as(Arrival arrival, Bytes encoded, const wire::ProfileLimits& limits,
                                            const ProfileCheck& check) {
  MemoryShare memory(memory_);
  const auto decoded =
      wire::decode_in_arena(encoded, limits, [&memory](uint64_t bytes) { return memory.try_take(bytes); });
  if (!decoded) {
    return propagate(decoded);
  }
  const wire::ProfileInArena& profile = *decoded;
  if (const Status checked = check ? check(*profile) : Status(); !checked) {
    return propagate(checked);
  }
  const auto acceptance = archive_.accept(profile->profile_id(), encoded, now_ns_(), arrival);
  if (!acceptance) {
    auto failure = propagate(acceptance);
    if (failure.error().code != ErrorCode::kConflict) {
      failure.error().code =
          ErrorCode::kUnavailable;  // our trouble, not the profile's: keep it, and try again
    }
    return failure;
  }
  uint64_t hits = 0;
  for (const wire::Event& event : profile->events()) {
    hits += event.kind() == wire::SQUARES ? 0 : event.hits();
  }
  return Accepted{*acceptance, profile->profile_id(), hits};
}

}  // namespace plimsoll::store
