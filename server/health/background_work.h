// How the server's background threads are doing.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/no_exceptions.h"
#include "base/result.h"
#include "base/time.h"
#include "query/views/running_server.h"

namespace plimsoll::server {

enum class Work : uint8_t { kRows, kSymbols, kCompaction, kDraws, kInventory };
inline constexpr size_t kWorks = 5;

// "rows", "symbols", "compaction", "draws", "inventory": a label of metrics.
std::string_view name_of(Work work);

// Any thread. Each background thread reports its passes here; a pass that finds nothing to do is a success too.
class BackgroundWork {
 public:
  // `now_ns`: wall clock.
  explicit BackgroundWork(std::function<int64_t()> now_ns = wall_now_ns) : now_ns_(std::move(now_ns)) {}

  // Runs a pass of `work`, and reports how it ended. `what` is for what it throws (no_exceptions()).
  template <typename Pass>
  auto run(Work work, std::string_view what, Pass&& pass) -> decltype(pass()) {
    begin(work);
    auto done = no_exceptions(what, std::forward<Pass>(pass));
    end(work, done ? Status() : propagate(done));
    return done;
  }

  // Of the kinds of work that have begun a pass, in the order of Work.
  std::vector<query::BackgroundWorkHealth> all() const;

 private:
  void begin(Work work);
  void end(Work work, const Status& done);

  const std::function<int64_t()> now_ns_;
  mutable std::mutex mutex_;
  struct Kept {
    bool has_begun = false;
    query::BackgroundWorkHealth health;
  };
  std::array<Kept, kWorks> works_;  // protected by mutex_
};

}  // namespace plimsoll::server
