// What is open of a data directory, and what was read of it so far.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/blocks/known_blocks.h"
#include "store/contents/block_reader.h"
#include "store/contents/joined_rows.h"
#include "store/directory/data_directory.h"
#include "store/door/source.h"
#include "store/joined/part_choice.h"
#include "store/joined/recent_series.h"

namespace plimsoll::store {

// Opens beside a writer, in another process or this one. Has blocks as a whole, and those contents in memory that were asked for last.
// Questions about the same blocks wait for each other while something new is read.
class LocalSource : public Source {
 public:
  // `max_bytes` is for what several blocks have in common, of those that were asked for last; kTooLarge where a question needs more.
  explicit LocalSource(std::string data_dir, uint64_t max_bytes = default_series_bytes(),
                       BeforeOpening before_opening = {})
      : data_dir_(std::move(data_dir)),
        before_opening_(std::move(before_opening)),
        series_(&join_local_rows, max_bytes) {}

  Result<Contents> newest(const TimeSpans& times) override;

  void forget_dropped() override;
  std::vector<uint64_t> lineages() const override;

 private:
  struct Chosen : PartChoice {
    std::shared_ptr<RecentSeries::Series> series;
  };

  // `listed`: set to all blocks that were there.
  Result<Contents> newest_of_blocks(const TimeSpans& times, std::vector<BlockFolder>& listed);
  bool is_any_gone(const std::vector<BlockFolder>& listed) const;
  Result<Chosen> choose(const TimeSpans& times, std::vector<BlockFolder>& listed);
  Status open_blocks();
  void forget_series_of_others();

  const std::string data_dir_;
  const BeforeOpening before_opening_;
  mutable std::mutex mutex_;
  std::unique_ptr<const DataDirectory> directory_;          // protected by mutex_; none: not opened yet
  std::map<int64_t, std::shared_ptr<BlockReader>> blocks_;  // likewise; by number
  RecentSeries series_;                                     // likewise
  KnownBlocks known_;                                       // likewise
};

}  // namespace plimsoll::store
