// The blocks of a data directory as parts of a copy.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/blocks/block_folder.h"
#include "store/copy/part.h"

namespace plimsoll::store {

// Of a folder of blocks that no process has open for writing. What is written is a block of its own: a folder that gets its name when it is
// whole and on disk.
class LocalParts : public PartTarget {
 public:
  // `directory_id`: that blocks which are written have. The folder may have no block yet, or not be there.
  LocalParts(std::string blocks_path, std::string directory_id)
      : blocks_path_(std::move(blocks_path)), directory_id_(std::move(directory_id)) {}

  Result<std::vector<PartState>> parts() override;
  Result<CopiedPart> read(int64_t number) override;
  Status read_names(int64_t number, const UseNames& use) override;

  // Memory beside the part: 4 million rows. A part that is rolled up is a block of generation 1. Where its number is not the next one, it
  // becomes a merged block, so that blocks have no gap. kConflict where it does not come behind the newest one.
  Status write(CopiedPart part, RowCursor& rows, const ReadNames& read_names) override;
  Status drop(int64_t number) override;

 private:
  Result<std::vector<BlockFolder>> blocks() const;
  Result<BlockFolder> block(int64_t number) const;

  const std::string blocks_path_;
  const std::string directory_id_;
};

}  // namespace plimsoll::store
