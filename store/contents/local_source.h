// What is open of a data directory, and what was read of it so far.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/blocks/known_blocks.h"
#include "store/contents/block_reader.h"
#include "store/contents/block_series.h"
#include "store/directory/data_directory.h"
#include "store/door/source.h"

namespace plimsoll::store {

// Opens beside a writer, in another process or this one. Has blocks as a whole, and those contents in memory that were asked for last.
// Questions about the same blocks wait for each other while something new is read.
class LocalSource : public Source {
 public:
  // A fifth of the memory that this process may have, and 64 GiB at most.
  static uint64_t default_max_bytes();

  // `max_bytes` is for what several blocks have in common, of those that were asked for last; kTooLarge where a question needs more.
  explicit LocalSource(std::string data_dir, uint64_t max_bytes = default_max_bytes())
      : data_dir_(std::move(data_dir)), max_bytes_(max_bytes) {}

  Result<Contents> newest(const TimeSpans& times) override { return newest(times, {}); }
  Result<Contents> newest(const TimeSpans& times, const BeforeOpening& before_opening);

  void forget_dropped() override;
  std::vector<uint64_t> lineages() const override;

 private:
  struct Series {
    Series(const BlockSeries::Readers& of, uint64_t max_bytes) : blocks(of), contents(of, max_bytes) {}
    BlockSeries::Readers blocks;  // protected by the source's mutex; that it will have
    std::mutex mutex;
    BlockSeries contents;  // protected by mutex
    std::atomic<uint64_t> lineage{contents.lineage()};
    std::atomic<uint64_t> memory_bytes{0};
  };
  // Of a series that is locked: what it tells of itself is so again at the end, whatever was thrown.
  class SeriesUpdate {
   public:
    explicit SeriesUpdate(Series& series) : series_(series) {}
    SeriesUpdate(const SeriesUpdate&) = delete;
    SeriesUpdate& operator=(const SeriesUpdate&) = delete;
    ~SeriesUpdate() {
      series_.lineage = series_.contents.lineage();
      series_.memory_bytes = series_.contents.memory_bytes();
    }

   private:
    Series& series_;
  };
  struct Chosen {
    BlockSeries::Readers blocks;
    std::shared_ptr<Series> series;
    BlockFacts facts;
  };

  // `listed`: set to all blocks that were there.
  Result<Contents> newest_of_blocks(const TimeSpans& times, const BeforeOpening& before_opening,
                                    std::vector<BlockFolder>& listed);
  bool is_any_gone(const std::vector<BlockFolder>& listed) const;
  Result<Chosen> choose(const TimeSpans& times, std::vector<BlockFolder>& listed);
  Status open_blocks();
  std::shared_ptr<Series> series_of(const BlockSeries::Readers& blocks);
  void forget_old_series();

  const std::string data_dir_;
  const uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::unique_ptr<const DataDirectory> directory_;          // protected by mutex_; none: not opened yet
  std::map<int64_t, std::shared_ptr<BlockReader>> blocks_;  // likewise; by number
  std::list<std::shared_ptr<Series>> series_;               // likewise; the one that was asked for last first
  KnownBlocks known_;                                       // likewise
};

}  // namespace plimsoll::store
