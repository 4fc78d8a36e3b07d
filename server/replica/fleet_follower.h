// Keeps a copy of the primary server's machines and draws that is some seconds old.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "server/replica/fleet_fetcher.h"
#include "store/replica/copied_directory.h"
#include "store/replica/copied_fleet.h"

namespace plimsoll::server {

struct FollowerSettings {
  FetcherSettings fetcher;
  // Called with each copy before it takes the place of the one before; an error keeps it out.
  std::function<Status(const store::CopiedDirectory& copy)> settle = {};
  std::function<int64_t()> wall_ns = wall_now_ns;
  std::function<int64_t()> monotonic_ns = monotonic_now_ns;
};

// Any thread. A copy of one moment takes the place of another at once; the files of the one before go with the last question that uses it.
class FleetFollower : public store::DirectoryFollower {
 public:
  // The copy that an earlier process has left in the folder is the first; what else it has left goes. The folder is this process's alone.
  static Result<std::unique_ptr<FleetFollower>> open(FollowerSettings settings);

  std::shared_ptr<const store::CopiedDirectory> current() const override;
  Status catch_up(int64_t since_ns) override;

  // Fetches the newest copy, if there is a newer one.
  Status follow();

  // The error of the newest attempt; fine where it succeeded, and before the first.
  Status newest_attempt() const;
  // How long ago all that the copy lacks was committed at the most; nothing: there is no copy.
  std::optional<int64_t> age_ns() const;
  // What answers have to say where the copy is older than a minute.
  std::optional<std::string> note() const;

 private:
  explicit FleetFollower(FollowerSettings settings);
  Status take_left();
  // Ends early where check_stop() fails.
  Result<std::unique_lock<std::timed_mutex>> lock_fetching();
  // With fetching_ held.
  Status fetch(bool wants_all);
  Status take_over(std::shared_ptr<store::CopiedDirectory> copy);

  const FollowerSettings settings_;

  std::timed_mutex fetching_;  // held while files come
  FleetFetcher fetcher_;       // protected by fetching_

  mutable std::mutex mutex_;  // held for moments
  // Protected by mutex_:
  std::shared_ptr<store::CopiedDirectory> current_;  // null: none has come yet
  std::optional<int64_t>
      current_at_ns_;  // when the copy was current, by the monotonic clock; nothing: it was left
  Status newest_attempt_;
};

}  // namespace plimsoll::server
