// Stops collection: all of it by order (the kill switch), or the part that fails. docs/scheduling.md has the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "scheduler/safety/failures.h"
#include "store/draws/draw_store.h"

namespace plimsoll::scheduler {

struct CollectionBreakerSettings {
  FailureLimits limits;
  int64_t window_ns = 3600 * int64_t{1'000'000'000};  // in which failures are counted
  int64_t pause_ns =
      3600 * int64_t{1'000'000'000};  // before a stopped part is tried again; doubles each time, up to a day
};

// Any thread may call. Owns its connection; what it holds survives a restart. All times are wall clock of the server.
class CollectionBreaker {
 public:
  static Result<std::unique_ptr<CollectionBreaker>> open(store::DrawStore store,
                                                         CollectionBreakerSettings settings);

  const CollectionBreakerSettings& settings() const { return settings_; }

  // Nothing is measured any more, from each machine's next heartbeat on, until resume(). `who`, for the log.
  Status stop_everything(const std::string& reason, const std::string& who, int64_t now_ns);
  // Ends all stops, those for failures too. False: there was none.
  Result<bool> resume(const std::string& who, int64_t now_ns);

  // By attempts of the last `window_ns`: stops what fails, lets what was stopped try again step by step.
  Status judge(std::span<const Attempt> attempts, int64_t now_ns);

  // Those that hold something back.
  std::vector<store::Stop> stops() const;
  // Whether such a machine must not measure at all.
  bool is_stopped(const Attempt& who) const;
  bool is_everything_stopped() const;

  // Of those drawn, in the order of their preference: why a machine is held back; empty: it may measure.
  std::vector<std::string> held_back(std::span<const Attempt> drawn) const;

 private:
  CollectionBreaker(store::DrawStore store, CollectionBreakerSettings settings,
                    std::vector<store::Stop> stops)
      : settings_(settings), store_(std::move(store)), stops_(std::move(stops)) {}
  // The stop's next step, by what was attempted since the last.
  void step(store::Stop& stop, std::span<const Attempt> attempts, int64_t now_ns) const;
  // A new stop, in place of one that was there before and has ended.
  store::Stop stop_for(const Scope& scope, std::vector<store::Stop>& stops, std::span<const Attempt> attempts,
                       int64_t now_ns) const;
  Status keep(std::vector<store::Stop> stops, int64_t now_ns, const std::string& log);

  const CollectionBreakerSettings settings_;
  mutable std::mutex mutex_;
  store::DrawStore store_;          // protected by mutex_
  std::vector<store::Stop> stops_;  // likewise
};

}  // namespace plimsoll::scheduler
