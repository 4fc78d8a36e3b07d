#include "server/replica/fleet_follower.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/stop_scope.h"

namespace plimsoll::server {
namespace {

constexpr int64_t kMaxSilentAgeNs = kNsPerMinute;
constexpr std::chrono::milliseconds kLockStep{100};

}  // namespace

FleetFollower::FleetFollower(FollowerSettings settings)
    : settings_(std::move(settings)), fetcher_(settings_.fetcher) {}

Result<std::unique_ptr<FleetFollower>> FleetFollower::open(FollowerSettings settings) {
  std::error_code error;
  std::filesystem::create_directories(settings.fetcher.folder, error);
  if (error) {
    return fail_errno(error.value(), "creating {}", settings.fetcher.folder);
  }
  std::unique_ptr<FleetFollower> follower(new FleetFollower(std::move(settings)));
  const Status taken = follower->take_left();
  return taken ? Result<std::unique_ptr<FleetFollower>>(std::move(follower)) : propagate(taken);
}

// A copy that is damaged, after a power failure say, is fetched again.
Status FleetFollower::take_left() {
  std::vector<std::string> folders;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(settings_.fetcher.folder, error), end;
       !error && entry != end; entry.increment(error)) {
    folders.push_back(entry->path().string());
  }
  if (error) {
    return fail_errno(error.value(), "listing {}", settings_.fetcher.folder);
  }
  std::shared_ptr<store::CopiedDirectory> newest;
  for (const std::string& folder : folders) {
    auto copy = store::CopiedDirectory::open(folder);
    if (!copy) {
      std::filesystem::remove_all(folder, error);
      continue;
    }
    const bool is_newer = newest == nullptr || (*copy)->facts().taken_ns() > newest->facts().taken_ns();
    const std::shared_ptr<store::CopiedDirectory> other = is_newer ? std::exchange(newest, *copy) : *copy;
    if (other != nullptr) {
      other->remove_when_unused();
    }
  }
  return newest == nullptr ? Status() : take_over(std::move(newest));
}

std::shared_ptr<const store::CopiedDirectory> FleetFollower::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

Result<std::unique_lock<std::timed_mutex>> FleetFollower::lock_fetching() {
  std::unique_lock lock(fetching_, std::defer_lock);
  while (!lock.try_lock_for(kLockStep)) {
    if (const Status stopped = check_stop(); !stopped) {
      return propagate(stopped);
    }
  }
  return Result<std::unique_lock<std::timed_mutex>>(std::move(lock));
}

Status FleetFollower::catch_up(int64_t since_ns) {
  const auto fetching = lock_fetching();
  if (!fetching) {
    return propagate(fetching);
  }
  {
    // What another question has fetched meanwhile will do.
    const std::lock_guard lock(mutex_);
    if (current_at_ns_ && *current_at_ns_ > since_ns) {
      return {};
    }
  }
  return fetch(true);
}

Status FleetFollower::follow() {
  const auto fetching = lock_fetching();
  return fetching ? fetch(false) : propagate(fetching);
}

Status FleetFollower::fetch(bool wants_all) {
  const int64_t asked_ns = settings_.monotonic_ns();
  const std::shared_ptr<const store::CopiedDirectory> known = current();
  auto fetched = fetcher_.fetch(known.get(), wants_all);
  Status done = fetched ? Status() : propagate(fetched);
  if (fetched && fetched->copy != nullptr) {
    done = take_over(std::move(fetched->copy));
  }
  // One that ended with its question says nothing of the primary server.
  if (!done && !check_stop()) {
    return done;
  }
  const std::lock_guard lock(mutex_);
  newest_attempt_ = done;
  if (done) {
    current_at_ns_ = asked_ns - fetched->age_ns;
  }
  return done;
}

Status FleetFollower::take_over(std::shared_ptr<store::CopiedDirectory> copy) {
  if (const Status settled = settings_.settle ? settings_.settle(*copy) : Status(); !settled) {
    copy->remove_when_unused();
    return settled;
  }
  std::shared_ptr<store::CopiedDirectory> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(current_, std::move(copy));
  }
  if (before != nullptr) {
    before->remove_when_unused();
  }
  return {};
}

Status FleetFollower::newest_attempt() const {
  const std::lock_guard lock(mutex_);
  return newest_attempt_;
}

std::optional<int64_t> FleetFollower::age_ns() const {
  const std::lock_guard lock(mutex_);
  if (current_ == nullptr) {
    return std::nullopt;
  }
  // Of a copy that was left nothing tells but the clocks of both machines.
  const int64_t age_ns = current_at_ns_ ? settings_.monotonic_ns() - *current_at_ns_
                                        : settings_.wall_ns() - current_->facts().taken_ns();
  return std::max<int64_t>(age_ns, 0);
}

std::optional<std::string> FleetFollower::note() const {
  const std::optional<int64_t> age = age_ns();
  const Status attempt = newest_attempt();
  if (!age || *age <= kMaxSilentAgeNs) {
    return std::nullopt;
  }
  const int64_t minutes = *age / kNsPerMinute;
  return fmt::format(
      "machines and draws are as they were {} min ago: {}", minutes,
      attempt ? "the copy of the primary server takes that long to make and fetch" : attempt.error().message);
}

}  // namespace plimsoll::server
