// One consistent state of a data directory, in memory, for queries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/snapshot/frame_keys.h"
#include "query/snapshot/origin_index.h"
#include "query/statistics/response.h"
#include "store/frames/bindings.h"
#include "store/rows/dictionaries.h"
#include "store/rows/local_rows.h"

namespace plimsoll::query {

// A seam for tests: called with the files of segments after their list was read, and before they are opened.
using BeforeOpening = std::function<void(const std::vector<std::string>& paths)>;

class SnapshotLoader;

// Immutable: any number of threads may query it. Costs the dictionaries' size in memory and the time to load them; with the first
// questions by function and the like, about 50 bytes for each node of the stacks besides. Snapshots that follow one another share all
// that is the same in them.
struct Snapshot {
  store::Dictionaries dictionaries;
  store::Bindings bindings;
  OriginIndex origins;
  std::vector<statistics::StratumResponse> responses;  // by stratum
  std::unique_ptr<store::RowSource> rows;
  // What was worked out about the stacks for one question, for the next one.
  std::unique_ptr<FrameKeysCache> frame_keys = std::make_unique<FrameKeysCache>();
  int64_t machines_registered = 0;
  std::string draws_path =
      {};  // draws.db, for what became of drawn machines; where it is missing, none were drawn
  // Of the catalogue when the snapshot was taken; another value means that something has been committed since. So does
  // another number of machines: those are in a database of their own, which every heartbeat writes.
  int64_t version = 0;

  // Of the part of a draw that the origin belongs to.
  const statistics::StratumResponse& response_of(uint32_t origin) const {
    return responses[origins.stratum_of(origin)];
  }

  // The events of an origin, of those that are shown.
  std::span<const store::OriginEventEntry> events_of(uint32_t origin) const {
    const uint32_t first = origins.first_event[origin];
    return dictionaries.origin_events.span().subspan(first, origins.first_event[origin + 1] - first);
  }

  // Opens beside a writer, in another process or this one. Where segments were merged and removed between reading their list
  // and opening them, the list is read again, a bounded number of times.
  static Result<std::shared_ptr<const Snapshot>> load(const std::string& data_dir,
                                                      const BeforeOpening& before_opening = {});
};

// Keeps the newest snapshot, and makes another once the catalogue has changed or a machine has registered. Reads what is new alone: that
// costs as much as the profiles that came since, whatever the history. Any thread.
class SnapshotCache {
 public:
  explicit SnapshotCache(std::string data_dir);
  ~SnapshotCache();

  Result<std::shared_ptr<const Snapshot>> newest();

  const std::string& data_dir() const { return data_dir_; }

 private:
  std::string data_dir_;
  std::mutex mutex_;
  std::unique_ptr<SnapshotLoader> loader_;    // protected by mutex_
  std::shared_ptr<const Snapshot> snapshot_;  // likewise
};

}  // namespace plimsoll::query
