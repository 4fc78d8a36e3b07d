// Accepts raw profiles: decodes and checks them, and stores them durably. Which of them become rows, and when, is not decided here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/memory_budget.h"
#include "base/result.h"
#include "proto/profile_codec.h"
#include "store/archive/archive.h"

namespace plimsoll::store {

struct Accepted {
  Acceptance acceptance;
  std::string profile_id;
  uint64_t hits;
};

// Of profiles that daemons send. Those that somebody imports have none.
struct UploadLimits {
  // Since the profile's window ended: a daemon that has spooled it for longer is told so. The server need not remember longer which profiles
  // it has.
  int64_t max_age_ns = INT64_MAX;
  // Where less is free on the disk, or raw profiles take more, daemons have to keep what they have for now.
  int64_t min_free_bytes = 0;
  int64_t max_archive_bytes = INT64_MAX;
};

// Sees the decoded profile before it is stored, and can refuse it.
using ProfileCheck = std::function<Status(const wire::RawProfile& profile)>;

// Any thread.
class ProfileAcceptor {
 public:
  // What is decoded counts in `memory`. `archive` and `memory` must outlive it.
  ProfileAcceptor(std::string data_dir, Archive& archive, MemoryBudget& memory, const UploadLimits& limits,
                  std::function<int64_t()> now_ns)
      : data_dir_(std::move(data_dir)),
        archive_(archive),
        memory_(memory),
        limits_(limits),
        now_ns_(std::move(now_ns)) {}

  // Afterwards the profile is safe. kUnavailable while other profiles hold the memory that this one takes.
  Result<Accepted> accept(Bytes encoded, const wire::ProfileLimits& limits, const ProfileCheck& check);

  // From a daemon. kUnavailable too while the disk or the archive is full (UploadLimits); kInvalid where it comes too late.
  Result<Accepted> accept_upload(Bytes encoded, const wire::ProfileLimits& limits, const ProfileCheck& check);

 private:
  Result<Accepted> accept_as(Arrival arrival, Bytes encoded, const wire::ProfileLimits& limits,
                             const ProfileCheck& check);
  Status check_room();
  Status check_age(const wire::RawProfile& profile) const;

  const std::string data_dir_;
  Archive& archive_;
  MemoryBudget& memory_;
  const UploadLimits limits_;
  const std::function<int64_t()> now_ns_;
};

}  // namespace plimsoll::store
