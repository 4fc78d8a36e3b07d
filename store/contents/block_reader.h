// A block of the store as a follower knows it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/aggregation/local_rows.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/joined/part_reader.h"
#include "store/model/damaged_part.h"

namespace plimsoll::store {

// A seam for tests: called with the files of segments after their list was read, and before they are opened.
using BeforeOpening = std::function<void(const std::vector<std::string>& paths)>;

// Reads what is new alone. Any thread. The catalogue of a sealed block is open while it is read, no longer.
class BlockReader : public PartReader {
 public:
  explicit BlockReader(BlockFolder folder, BeforeOpening before_opening = {})
      : folder_(std::move(folder)), before_opening_(std::move(before_opening)) {}

  const BlockFolder& folder() const { return folder_; }

  // As the newest commit has it: of a sealed block from memory, else for the time of a look-up. Does not wait for read().
  Result<BlockState> state();

  std::string name() const override;

  // Its catalogue is damaged, or gone. What is found damaged in segments is in their rows.
  std::optional<DamagedPart> damage() const override;

  // Costs microseconds, but waits for read().
  Result<int64_t> version() override;

  // Rows are LocalRows. Where segments were merged and removed between reading their list and opening them, the list is read again, a
  // bounded number of times.
  Result<PartContents> read(const EntriesMark& known) override;

  // Frees what is known of a sealed block that has had no new entries for a while, unless it is being read. A caller that has been given them
  // keeps them.
  void forget_old_entries();

 private:
  using Clock = std::chrono::steady_clock;

  Result<BlockState> state_locked();
  void note_damage(const Error& error);
  Result<int64_t> version_locked();
  Status open();
  bool forget_unless_extended();
  Result<PartContents> read_once(const EntriesMark& known);
  Result<std::shared_ptr<const LocalRows>> open_rows();
  Result<EntriesMark> newest_entries();
  Status read_entries(const EntriesMark& newest);
  Status read_all_entries();
  Result<std::shared_ptr<const PartEntries>> read_packed_entries();
  Result<std::shared_ptr<const PartEntries>> read_catalogue_entries();

  const BlockFolder folder_;
  const BeforeOpening before_opening_;

  mutable std::mutex state_mutex_;
  std::optional<Catalogue> for_state_;  // protected by state_mutex_; of a block that is not sealed
  std::optional<BlockState> sealed_;    // likewise
  std::optional<DamagedPart> damage_;   // likewise

  std::mutex mutex_;
  std::unique_ptr<Catalogue> catalogue_;        // protected by mutex_, like all below
  LocalRows::Segments segments_ = {};           // that were opened last
  bool are_gone_for_good_ = false;              // segments that are not there
  std::shared_ptr<const PartEntries> entries_;  // none: they were forgotten, or not read yet
  EntriesMark mark_;                            // of entries_
  int64_t reading_ = 0;                         // likewise
  std::optional<Clock::time_point>
      entries_extended_;  // when there were new ones last, of a block that was read
};

}  // namespace plimsoll::store
