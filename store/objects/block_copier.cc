#include "store/objects/block_copier.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
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

std::vector<std::string> files_of(const StoredBlock& block, const Manifest& manifest) {
  return manifest.paths_below(fmt::format("blocks/{}/", block.name));
}

void drop_blocks_before(int64_t number, CopyDraft& draft) {
  auto& blocks = draft.manifest().blocks;
  while (!blocks.empty() && blocks.begin()->first < number) {
    for (const std::string& path : files_of(blocks.begin()->second, draft.manifest())) {
      draft.drop(path);
    }
    blocks.erase(blocks.begin());
  }
}

// Those before the first are gone; where none is sealed, all are.
void drop_gone_blocks(const std::vector<BlockFolder>& blocks, CopyDraft& draft) {
  const auto& known = draft.manifest().blocks;
  const bool goes_on =
      !blocks.empty() && !known.empty() && blocks.back().number + 1 >= known.begin()->second.first();
  drop_blocks_before(goes_on ? blocks.front().first : INT64_MAX, draft);
}

// Blocks that must come into a draft at once, so that it has all of their rows, and none twice: one, or all that the draft has as one.
using Step = std::vector<BlockFolder>;

// Without what the draft has merged with later blocks than there are: it stays there.
std::vector<Step> steps_of(const std::vector<BlockFolder>& blocks, const Manifest& draft) {
  std::vector<Step> steps;
  bool is_open = false;  // a block of the draft has rows of the last step, and of what follows
  for (const BlockFolder& block : blocks) {
    if (!is_open) {
      steps.emplace_back();
    }
    steps.back().push_back(block);
    const auto over = draft.blocks.lower_bound(block.number);
    is_open =
        over != draft.blocks.end() && over->first != block.number && over->second.first() <= block.number;
  }
  if (is_open) {
    steps.pop_back();
  }
  return steps;
}

// In an order in which a pass may end behind any step: a manifest has no gaps. Blocks before the oldest that the draft has, which came back
// with a backup, go down from it.
std::vector<Step> without_gaps(std::vector<Step> steps, const Manifest& draft) {
  const int64_t oldest = draft.blocks.empty() ? 0 : draft.blocks.begin()->second.first();
  const auto known =
      std::ranges::find_if(steps, [&](const Step& step) { return step.back().number >= oldest; });
  std::reverse(steps.begin(), known);
  std::rotate(steps.begin(), known, steps.end());
  return steps;
}

// Blocks of the draft whose rows a step has by now, under other numbers. A restore may be reading them.
void drop_others(const Step& step, CopyDraft& draft) {
  auto& blocks = draft.manifest().blocks;
  for (auto at = blocks.lower_bound(step.front().first);
       at != blocks.end() && at->second.first() <= step.back().number;) {
    if (std::ranges::find(step, at->first, &BlockFolder::number) != step.end()) {
      ++at;
      continue;
    }
    for (const std::string& path : files_of(at->second, draft.manifest())) {
      draft.drop_replaced(path);
    }
    at = blocks.erase(at);
  }
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
  for (const Step& step : without_gaps(steps_of(blocks, draft.manifest()), draft.manifest())) {
    if (draft.is_over_budget()) {
      break;
    }
    const Status copied = copy_together(step, draft);
    all = all && !copied ? copied : all;
    // One that the store has, and that is damaged here, keeps no other from being copied. There are no gaps.
    if (!copied &&
        (copied.error().code == ErrorCode::kUnavailable || !draft.manifest().covers(step.back().number))) {
      break;
    }
  }
  return all;
}

Status BlockCopier::copy_together(const std::vector<BlockFolder>& blocks, CopyDraft& draft) const {
  // What is there of a part of them stands in no manifest.
  const std::optional<Manifest> before = blocks.size() > 1 ? std::optional(draft.manifest()) : std::nullopt;
  for (const BlockFolder& block : blocks) {
    if (const Status copied = copy_block(block, draft); !copied) {
      if (before.has_value()) {
        draft.manifest() = *before;
      }
      return propagate(copied, "copying block {}", block.name());
    }
  }
  drop_others(blocks, draft);
  return {};
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
