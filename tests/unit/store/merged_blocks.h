// Blocks that are merged without a merger: one block is built again from the raw profiles of all of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "sqlite/database.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/block_table.h"
#include "store/catalogue/catalogue.h"
#include "store/directory/data_directory.h"
#include "store/identity/directory_identity.h"
#include "store/ingest.h"

namespace plimsoll::testing {

// Merges the blocks `first` to `number` of a directory that nothing has open, which have all their raw profiles. Their folders stay, as they do
// until a server removes them.
inline store::BlockFolder merge_blocks(const std::string& data_dir, int64_t first, int64_t number) {
  const auto directory = *store::DataDirectory::open_for_writing(data_dir);
  const auto blocks = *store::list_blocks(directory.blocks_path());
  std::vector<store::BlockFolder> members;
  std::ranges::copy_if(blocks, std::back_inserter(members), [&](const store::BlockFolder& block) {
    return first <= block.first && block.number <= number;
  });
  const std::string id = store::read_identity(data_dir)->id;
  const store::BlockFolder place = store::replacement_of(members);
  store::BlockFolder built;
  {
    auto oldest = *store::Catalogue::open(members.front().catalogue_path(), sqlite::OpenMode::kRead);
    auto newest = *store::Catalogue::open(members.back().catalogue_path(), sqlite::OpenMode::kRead);
    const int64_t after = *store::accepted_before(oldest.database());
    const int64_t up_to = *store::last_built_sequence(newest.database());
    built = *store::make_replacement(directory.blocks_path(), place, &oldest.database(), after, id);
    const auto ingest = *store::Ingest::open_for_rebuilding(directory, built, up_to);
    while (ingest->build_pending()->profiles > 0) {
    }
  }
  {
    auto catalogue = *store::Catalogue::open(built.catalogue_path(), sqlite::OpenMode::kReadWrite);
    store::BlockState state = *store::read_block_state(catalogue.database());
    state.is_sealed = true;
    EXPECT_TRUE(store::write_block_state(catalogue.database(), state));
  }
  std::filesystem::rename(built.path, place.path);
  return *store::publish_replacement(directory.blocks_path(), members);
}

}  // namespace plimsoll::testing
