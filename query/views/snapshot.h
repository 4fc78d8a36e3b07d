// One consistent state of a data directory, in memory, for queries.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "store/frames/bindings.h"
#include "store/rows/dictionaries.h"
#include "store/rows/local_rows.h"

namespace plimsoll::query {

// Immutable: any number of threads may query it. Costs the dictionaries' size in memory and the time to load them.
struct Snapshot {
  store::Dictionaries dictionaries;
  store::Bindings bindings;
  std::unique_ptr<store::RowSource> rows;
  int64_t machines_registered = 0;
  // Of the catalogue when the snapshot was taken; another value means that something has been committed since. So does
  // another number of machines: those are in a database of their own, which every heartbeat writes.
  int64_t version = 0;

  // Opens beside a writer, in another process or this one.
  static Result<std::shared_ptr<const Snapshot>> load(const std::string& data_dir);
};

// Keeps the newest snapshot, and loads it anew once the catalogue has changed or a machine has registered. Any thread.
class SnapshotCache {
 public:
  explicit SnapshotCache(std::string data_dir);
  ~SnapshotCache();

  Result<std::shared_ptr<const Snapshot>> newest();

  const std::string& data_dir() const { return data_dir_; }

 private:
  struct Watch;
  std::string data_dir_;
  std::mutex mutex_;
  std::unique_ptr<Watch> watch_;              // protected by mutex_
  std::shared_ptr<const Snapshot> snapshot_;  // likewise
};

}  // namespace plimsoll::query
