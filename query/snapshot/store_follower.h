// What is open of a data directory, and what was read of it so far.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "query/snapshot/block_reader.h"
#include "query/snapshot/snapshot.h"
#include "query/snapshot/snapshot_series.h"
#include "store/data_directory.h"
#include "store/draws/draw_store.h"
#include "store/live/live_machines.h"

namespace plimsoll::query {

// Any thread.
class StoreFollower {
 public:
  explicit StoreFollower(std::string data_dir) : data_dir_(std::move(data_dir)) {}

  Result<std::shared_ptr<const Snapshot>> newest(const TimeSpans& times,
                                                 const BeforeOpening& before_opening = {});

  // Lets go of blocks that are not there any more.
  void forget_dropped();

 private:
  struct Series {
    explicit Series(const SnapshotSeries::Readers& of) : blocks(of), snapshots(of) {}
    SnapshotSeries::Readers blocks;  // protected by the follower's mutex; that it will have
    std::mutex mutex;
    SnapshotSeries snapshots;  // protected by mutex
  };
  struct Chosen {
    SnapshotSeries::Readers blocks;
    std::shared_ptr<Series> series;
    FleetFacts facts;
  };

  // `listed`: set to all blocks that were there.
  Result<std::shared_ptr<const Snapshot>> newest_of_blocks(const TimeSpans& times,
                                                           const BeforeOpening& before_opening,
                                                           std::vector<store::BlockFolder>& listed);
  bool is_any_gone(const std::vector<store::BlockFolder>& listed) const;
  Result<Chosen> choose(const TimeSpans& times, std::vector<store::BlockFolder>& listed);
  bool is_rolled_up(const store::BlockFolder& block);
  Status open_blocks();
  std::shared_ptr<Series> series_of(const SnapshotSeries::Readers& blocks);
  Result<int64_t> machines_registered();
  Result<std::vector<store::DrawnWeight>> drawn_weights(std::string_view draw);

  const std::string data_dir_;
  std::mutex mutex_;
  std::unique_ptr<const store::DataDirectory> directory_;   // protected by mutex_; none: not opened yet
  std::map<int64_t, std::shared_ptr<BlockReader>> blocks_;  // likewise; by number
  std::list<std::shared_ptr<Series>> series_;               // likewise; the one that was asked for last first
  std::map<std::pair<int64_t, int64_t>, bool>
      rolled_up_;                                // likewise; later generations, by number and generation
  std::optional<store::LiveMachines> machines_;  // likewise; none until there has been a server
  std::mutex draws_mutex_;
  std::optional<store::DrawStore> draws_;  // protected by draws_mutex_; none until there has been a server
};

}  // namespace plimsoll::query
