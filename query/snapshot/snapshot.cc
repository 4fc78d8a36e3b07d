#include "query/snapshot/snapshot.h"

#include <utility>

#include "query/snapshot/store_follower.h"

namespace plimsoll::query {

Result<std::shared_ptr<const Snapshot>> Snapshot::load(const std::string& data_dir, const TimeSpans& times,
                                                       const BeforeOpening& before_opening) {
  return StoreFollower(data_dir).newest(times, before_opening);
}

SnapshotCache::SnapshotCache(std::string data_dir)
    : data_dir_(std::move(data_dir)), follower_(std::make_unique<StoreFollower>(data_dir_)) {}

SnapshotCache::~SnapshotCache() = default;

Result<std::shared_ptr<const Snapshot>> SnapshotCache::newest(const TimeSpans& times) {
  return follower_->newest(times);
}

void SnapshotCache::forget_dropped() {
  follower_->forget_dropped();
}

}  // namespace plimsoll::query
