#include "store/objects/block_copier.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <set>
#include <utility>

#include "base/file.h"
#include "sqlite/database.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/file_version.h"
#include "store/catalogue/segment_table.h"
#include "store/objects/copied_file.h"
#include "store/objects/manifest.h"

namespace plimsoll::store {
namespace {

void drop_blocks_before(int64_t number, CopyDraft& draft) {
  auto& blocks = draft.manifest().blocks;
  while (!blocks.empty() && blocks.begin()->first < number) {
    const std::string folder = fmt::format("blocks/{}/", blocks.begin()->second.name);
    for (const std::string& path : draft.manifest().paths_below(folder)) {
      draft.drop(path);
    }
    blocks.erase(blocks.begin());
  }
}

// Those before the first are gone; where none is sealed, all are.
void drop_gone_blocks(const std::vector<BlockFolder>& blocks, CopyDraft& draft) {
  const auto& known = draft.manifest().blocks;
  const bool goes_on = !blocks.empty() && !known.empty() && blocks.back().number + 1 >= known.begin()->first;
  drop_blocks_before(goes_on ? blocks.front().number : INT64_MAX, draft);
}

// In an order in which a pass may end behind any block: a manifest has no gaps. Blocks before the oldest that the draft has, which came back
// with a backup, go down from it.
std::vector<BlockFolder> without_gaps(std::vector<BlockFolder> blocks, const Manifest& draft) {
  const int64_t oldest = draft.blocks.empty() ? 0 : draft.blocks.begin()->first;
  const auto known =
      std::ranges::find_if(blocks, [&](const BlockFolder& block) { return block.number >= oldest; });
  std::reverse(blocks.begin(), known);
  std::rotate(blocks.begin(), known, blocks.end());
  return blocks;
}

}  // namespace

Result<std::vector<BlockFolder>> BlockCopier::sealed_blocks() {
  const auto blocks = list_blocks(data_dir_ + "/blocks");
  if (!blocks) {
    return propagate(blocks);
  }
  std::vector<BlockFolder> sealed;
  for (const BlockFolder& block : *blocks) {
    const auto state = known_blocks_.state_of(block);
    // One that is damaged stays in the store as it was when it could be read, and copy_block() says why it cannot.
    if (state && !state->is_sealed) {
      break;
    }
    const bool is_newest = &block == &blocks->back();
    if (state || !is_newest) {
      sealed.push_back(block);
    }
  }
  known_blocks_.forget_before(blocks->front().number);
  return sealed;
}

Status BlockCopier::copy(const std::vector<BlockFolder>& blocks, CopyDraft& draft) const {
  drop_gone_blocks(blocks, draft);
  Status all;
  for (const BlockFolder& block : without_gaps(blocks, draft.manifest())) {
    if (draft.is_over_budget()) {
      break;
    }
    const Status copied = copy_block(block, draft);
    all = all && !copied ? propagate(copied, "copying block {}", block.name()) : all;
    // One that the store has, and that is damaged here, keeps no other from being copied. There are no gaps.
    if (!copied &&
        (copied.error().code == ErrorCode::kUnavailable || !draft.manifest().blocks.contains(block.number))) {
      break;
    }
  }
  return all;
}

Status BlockCopier::copy_block(const BlockFolder& block, CopyDraft& draft) const {
  const auto version = file_version(block.catalogue_path());
  if (!version) {
    return propagate(version);
  }
  const auto& blocks = draft.manifest().blocks;
  const auto known = blocks.find(block.number);
  if (known != blocks.end() && known->second.name == block.name() && known->second.version == *version) {
    return {};
  }
  const std::string old_name = known != blocks.end() ? known->second.name : block.name();
  const TemporaryCopy catalogue(data_dir_, block.name());
  const auto opened = open_block(block, catalogue.path(), draft.manifest());
  const auto content = opened ? MappedFile::open(catalogue.path(), kMaxStoredBytes) : propagate(opened);
  if (!content) {
    return propagate(content);
  }
  // A block that is not whole yet stands in no manifest.
  const Manifest before = draft.manifest();
  Status stored;
  for (const OpenFile& file : opened->new_files) {
    const auto segment = stored ? MappedFile::map(file.file, file.path, kMaxStoredBytes) : propagate(stored);
    stored = segment ? draft.put(file.path, segment->bytes(), file.version) : propagate(segment);
  }
  const std::string catalogue_name = fmt::format("blocks/{}/catalogue.db", block.name());
  stored = stored ? draft.put(catalogue_name, content->bytes(), 0) : stored;
  if (!stored) {
    draft.manifest() = before;
    return stored;
  }
  std::set<std::string> files(opened->paths.begin(), opened->paths.end());
  files.insert(catalogue_name);
  for (const std::string& name : {old_name, block.name()}) {
    for (const std::string& path : draft.manifest().paths_below(fmt::format("blocks/{}/", name))) {
      if (!files.contains(path)) {
        draft.drop_replaced(path);
      }
    }
  }
  draft.manifest().blocks[block.number] = {
      .name = block.name(), .version = *version, .built_up_to = opened->built_up_to};
  return {};
}

// As of one moment: the files are opened before the catalogue is copied, and stay while they are open.
Result<BlockCopier::OpenBlock> BlockCopier::open_block(const BlockFolder& block,
                                                       const std::string& catalogue_copy,
                                                       const Manifest& draft) {
  auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  const auto transaction =
      catalogue ? sqlite::Transaction::begin_read(catalogue->database()) : propagate(catalogue);
  const auto visible = transaction ? visible_segments(catalogue->database()) : propagate(transaction);
  const auto built = visible ? last_built_sequence(catalogue->database()) : propagate(visible);
  if (!built) {
    return propagate(built);
  }
  OpenBlock opened{.paths = {}, .new_files = {}, .built_up_to = *built};
  for (const SegmentEntry& segment : *visible) {
    opened.paths.push_back(fmt::format("blocks/{}/segments/{}", block.name(), segment.file));
    const std::string path = fmt::format("{}/{}", block.segments_path(), segment.file);
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) {
      return fail_errno(errno, "looking at {}", path);
    }
    // A block that was rebuilt has other segments under the same names.
    const auto known = draft.files.find(opened.paths.back());
    const bool is_known = known != draft.files.end() && known->second.bytes == segment.bytes &&
                          known->second.version == version_of(info);
    if (is_known) {
      continue;
    }
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) {
      return fail_errno(errno, "opening {}", path);
    }
    opened.new_files.push_back({opened.paths.back(), std::move(file), version_of(info)});
  }
  const Status made = catalogue->database().copy_to(catalogue_copy);
  return made ? Result<OpenBlock>(std::move(opened)) : propagate(made);
}

}  // namespace plimsoll::store
