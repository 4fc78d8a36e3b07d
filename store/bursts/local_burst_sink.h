// Recordings of bursts below a data directory: bursts/catalogue.db, and a file for each in bursts/recordings.
//
// A file is on disk before the catalogue shows it, and goes after the catalogue has forgotten it: what a crash leaves in between is a file that
// no catalogue shows, which the next sink removes with its first call. So every file of the catalogue is there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "store/bursts/burst_catalogue.h"
#include "store/door/bursts.h"

namespace plimsoll::store {

// Of the process that writes the data directory. Calls wait for each other and for the disk.
class LocalBurstSink : public BurstSink {
 public:
  // Touches no disk, so that a server starts whatever is there: calls fail with kCorrupt where there are recordings without their catalogue, which
  // would be removed, and with kConflict where it is of another data directory. The first add() makes the folder.
  LocalBurstSink(std::string bursts_path, std::string directory_id, std::function<int64_t()> now_ns);

  Result<bool> add(std::string_view id, const StoredBursts& summary, Bytes encoded) override;
  Result<uint64_t> drop_old(int64_t before_ns, uint64_t max_bytes) override;
  Result<bool> drop_oldest() override;

 private:
  // All with mutex_ held.
  // Without a catalogue on disk, and where none is to be made, catalogue_ stays empty.
  Status open_catalogue(bool makes_one);
  Status keep(const BurstEntry& entry, Bytes encoded);
  Status drop(const StoredBursts& bursts);

  const std::string bursts_path_;
  const std::string directory_id_;
  const std::function<int64_t()> now_ns_;
  std::mutex mutex_;
  std::unique_ptr<BurstCatalogue> catalogue_;  // protected by mutex_; null: no recording ever came
};

}  // namespace plimsoll::store
