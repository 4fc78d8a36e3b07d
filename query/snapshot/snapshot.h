// One consistent state of the store, or of the part of it that a question is about, in memory, for queries.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/snapshot/frame_keys.h"
#include "query/snapshot/origin_index.h"
#include "query/snapshot/responses.h"
#include "statistics/response.h"
#include "store/store.h"

namespace plimsoll::query {

// Immutable: any number of threads may query it. Costs the dictionaries' size in memory and the time to load them; with the first
// questions by function and the like, about 50 bytes for each node of the stacks besides. Snapshots that follow one another share all
// that is the same in them.
struct Snapshot : store::Contents {
  OriginIndex origins = {};
  std::vector<statistics::StratumResponse> responses = {};              // of machines, by stratum
  std::vector<statistics::StratumResponse> application_responses = {};  // of their applications, likewise
  // What was worked out about the stacks for one question, for the next one.
  std::unique_ptr<FrameKeysCache> frame_keys = std::make_unique<FrameKeysCache>();
  int64_t machines_registered = 0;
  std::shared_ptr<const store::Fleet> fleet = {};  // for what became of drawn machines

  // Of the part of a draw that the origin belongs to, to what it is an answer to.
  const statistics::StratumResponse& response_of(uint32_t origin) const {
    const bool is_beside = is_of_drawn_applications(dictionaries.origins[origin]);
    return (is_beside ? application_responses : responses)[origins.stratum_of(origin)];
  }

  // The events of an origin, of those that are shown.
  std::span<const store::OriginEventEntry> events_of(uint32_t origin) const {
    const uint32_t first = origins.first_event[origin];
    return dictionaries.origin_events.span().subspan(first, origins.first_event[origin + 1] - first);
  }

  // Has all profiles of `times`, those of the same draws around them, and others.
  static Result<std::shared_ptr<const Snapshot>> load(const std::string& data_dir,
                                                      const store::TimeSpans& times = store::all_times());
  static Result<std::shared_ptr<const Snapshot>> load(std::unique_ptr<store::Source> source,
                                                      std::shared_ptr<const store::Fleet> fleet,
                                                      const store::TimeSpans& times);
};

// Keeps the newest snapshots of what the source keeps, and makes others once their contents have changed or a machine has registered. Costs
// as much as the profiles that came since, whatever the history. Any thread; questions about the same contents wait for each other while
// something new is read.
class SnapshotCache {
 public:
  // `data_dir`: the folder that errors may name.
  SnapshotCache(std::unique_ptr<store::Source> source, std::shared_ptr<const store::Fleet> fleet,
                std::string data_dir = {})
      : source_(std::move(source)), fleet_(std::move(fleet)), data_dir_(std::move(data_dir)) {}
  explicit SnapshotCache(const std::string& data_dir)
      : SnapshotCache(store::open_source(data_dir), store::open_fleet(data_dir), data_dir) {}

  Result<std::shared_ptr<const Snapshot>> newest(const store::TimeSpans& times = store::all_times());

  // Closes the files of what has been dropped; questions that run keep theirs.
  void forget_dropped();

  const store::Fleet& fleet() const { return *fleet_; }
  // Empty where the source is none of a data directory.
  const std::string& data_dir() const { return data_dir_; }

 private:
  // What was made of the contents of one lineage.
  struct Series {
    explicit Series(uint64_t of) : lineage(of) {}
    const uint64_t lineage;
    std::mutex mutex;
    OriginIndexer origins;                                      // protected by mutex
    ResponseIndex responses{Asked::kMachine};                   // likewise
    ResponseIndex application_responses{Asked::kApplications};  // likewise
    std::shared_ptr<const Snapshot> last;  // likewise; null: none yet, or it could not be made
  };

  std::shared_ptr<Series> series_of(uint64_t lineage);
  void forget_series();
  Result<std::shared_ptr<const Snapshot>> extend(Series& series, const store::Contents& contents,
                                                 int64_t machines_registered);
  const std::unique_ptr<store::Source> source_;
  const std::shared_ptr<const store::Fleet> fleet_;
  const std::string data_dir_;

  std::mutex mutex_;
  std::list<std::shared_ptr<Series>> series_;  // protected by mutex_
};

}  // namespace plimsoll::query
