// Copies sealed blocks, one by one, each as of one moment.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "store/blocks/block_folder.h"
#include "store/blocks/known_blocks.h"
#include "store/objects/copy_draft.h"

namespace plimsoll::store {

// One thread.
class BlockCopier {
 public:
  explicit BlockCopier(std::string data_dir) : data_dir_(std::move(data_dir)) {}

  // Sealed blocks of the directory, the oldest first. Profiles that have rows in these are in the archive from now on: a pass asks for them
  // before it copies raw profiles.
  Result<std::vector<BlockFolder>> sealed_blocks();

  // Those that have changed, until the pass is over its budget; those before the first leave the draft. Blocks that were merged since leave it
  // once the one that they became is in it, and that one where they came back, once all of them are. A block that cannot be copied is an
  // error and stays in the draft as it was, or keeps later ones out of it where it was never there: a manifest has no gaps.
  Status copy(const std::vector<BlockFolder>& blocks, CopyDraft& draft) const;

 private:
  struct OpenFile {
    std::string path;
    UniqueFd file;
    int64_t version = 0;
  };
  struct OpenBlock {
    std::vector<std::string> paths;   // of all segments
    std::vector<OpenFile> new_files;  // of those that the store may lack
    int64_t built_up_to = 0;
  };

  Status copy_together(const std::vector<BlockFolder>& blocks, CopyDraft& draft) const;
  Status copy_block(const BlockFolder& block, CopyDraft& draft) const;
  static Result<OpenBlock> open_block(const BlockFolder& block, const std::string& catalogue_copy,
                                      const Manifest& draft);

  const std::string data_dir_;
  KnownBlocks known_blocks_;
};

}  // namespace plimsoll::store
