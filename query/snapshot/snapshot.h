// One consistent state of a data directory, or of the part of it that a question is about, in memory, for queries.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "query/snapshot/block_reader.h"
#include "query/snapshot/frame_keys.h"
#include "query/snapshot/origin_index.h"
#include "query/snapshot/time_spans.h"
#include "query/statistics/response.h"
#include "store/frames/bindings.h"
#include "store/rows/aggregation.h"
#include "store/rows/dictionaries.h"

namespace plimsoll::query {

class StoreFollower;

// Immutable: any number of threads may query it. Costs the dictionaries' size in memory and the time to load them; with the first
// questions by function and the like, about 50 bytes for each node of the stacks besides. Snapshots that follow one another share all
// that is the same in them.
struct Snapshot {
  store::Dictionaries dictionaries;
  store::Bindings bindings;
  OriginIndex origins;
  std::vector<statistics::StratumResponse> responses;  // by stratum
  std::shared_ptr<const store::RowSource> rows;
  // What was worked out about the stacks for one question, for the next one.
  std::unique_ptr<FrameKeysCache> frame_keys = std::make_unique<FrameKeysCache>();
  int64_t machines_registered = 0;
  std::string draws_path =
      {};  // draws.db, for what became of drawn machines; where it is missing, none were drawn
  // Blocks that cannot be read. Of segments, which are found when they are read, `rows` tells.
  std::vector<store::DamagedPart> damaged_blocks;
  // That the windows of all profiles in the directory cover, of other times than were asked for too; from > to: there are none.
  int64_t history_from_ns = INT64_MAX;
  int64_t history_to_ns = INT64_MIN;
  // That the blocks in it cover whose rows are rolled up: whole blocks, of other times than were asked for too; from > to: none is.
  int64_t rolled_up_from_ns = INT64_MAX;
  int64_t rolled_up_to_ns = INT64_MIN;

  // Of the part of a draw that the origin belongs to.
  const statistics::StratumResponse& response_of(uint32_t origin) const {
    return responses[origins.stratum_of(origin)];
  }

  // The events of an origin, of those that are shown.
  std::span<const store::OriginEventEntry> events_of(uint32_t origin) const {
    const uint32_t first = origins.first_event[origin];
    return dictionaries.origin_events.span().subspan(first, origins.first_event[origin + 1] - first);
  }

  // Opens beside a writer, in another process or this one. Has all profiles of `times`, those of the same draws around them, and others:
  // blocks are taken as a whole.
  static Result<std::shared_ptr<const Snapshot>> load(const std::string& data_dir,
                                                      const TimeSpans& times = all_times(),
                                                      const BeforeOpening& before_opening = {});
};

// Keeps the newest snapshots of the times that were asked for last, and makes others once their blocks have changed or a machine has
// registered. Reads what is new alone: that costs as much as the profiles that came since, whatever the history. Any thread; questions
// about the same blocks wait for each other while something new is read.
class SnapshotCache {
 public:
  explicit SnapshotCache(std::string data_dir);
  ~SnapshotCache();

  Result<std::shared_ptr<const Snapshot>> newest(const TimeSpans& times = all_times());

  // Closes the files of blocks that have been dropped; questions that run keep theirs.
  void forget_dropped();

  const std::string& data_dir() const { return data_dir_; }

 private:
  std::string data_dir_;
  std::unique_ptr<StoreFollower> follower_;
};

}  // namespace plimsoll::query
