#include "store/local/local_blocks.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/log.h"
#include "store/blocks/block_damage.h"
#include "store/blocks/hidden_files.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/segment_table.h"

namespace plimsoll::store {
namespace {

Status remove_orphans(const BlockFolder& block) {
  auto catalogue = Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  const auto segments = catalogue ? visible_segments(catalogue->database()) : propagate(catalogue);
  if (!segments) {
    return propagate(segments);
  }
  std::set<std::string> visible;
  for (const SegmentEntry& segment : *segments) {
    visible.insert(segment.file);
  }
  return remove_hidden_files(block, visible);
}

}  // namespace

Result<std::unique_ptr<LocalBlocks>> LocalBlocks::open(const std::string& blocks_path,
                                                       const BlockLimits& limits,
                                                       std::function<int64_t()> now_ns,
                                                       const BlockFolder* only) {
  const auto blocks = only != nullptr ? Result<std::vector<BlockFolder>>({*only}) : list_blocks(blocks_path);
  auto newest =
      blocks ? NewestBlock::open(blocks_path, *blocks, limits, std::move(now_ns)) : propagate(blocks);
  if (!newest) {
    return propagate(newest);
  }
  return std::unique_ptr<LocalBlocks>(new LocalBlocks(blocks_path, std::move(*newest)));
}

Status LocalBlocks::remove_leftovers() const {
  for (const Status& removed : {remove_dropped(blocks_path_), remove_replaced(blocks_path_)}) {
    if (!removed) {
      return removed;
    }
  }
  const auto blocks = list();
  if (!blocks) {
    return propagate(blocks);
  }
  for (const BlockFolder& block : *blocks) {
    const auto why = why_unreadable(block);
    if (!why) {
      return propagate(why, "looking at block {}", block.number);
    }
    // Without its catalogue nothing tells which of its files are needed.
    if (const std::optional<std::string>& damage = *why; damage && block.number < blocks->back().number) {
      log_error("block {} is left out, and stays as it is: {}; see \"plimsoll store repair --help\"",
                block.number, *damage);
      continue;
    }
    if (auto removed = remove_orphans(block); !removed) {
      if (block.number == blocks->back().number) {
        return removed;
      }
      // It costs rows of that block alone, which questions say.
      log_error("{}; see \"plimsoll store check\"", removed.error().text());
    }
  }
  return {};
}

Status LocalBlocks::write_catalogue(const BlockFolder& block, const CatalogueWork& work) {
  // What is sealed does not wait for a batch.
  if (block.number >= newest_->number()) {
    if (const auto written = newest_->write(block, work)) {
      return *written;
    }
  }
  const std::lock_guard lock(sealed_mutex_);
  // What were written to a folder that is only still there would be lost.
  if (const Status current = expect_current(block); !current) {
    return current;
  }
  // One that is missing is not made again with nothing in it.
  std::error_code ignored;
  if (std::filesystem::exists(block.path, ignored) && is_unreadable(block)) {
    return fail(ErrorCode::kCorrupt, "block {} cannot be read", block.number);
  }
  auto catalogue = sqlite::Database::open(block.catalogue_path(), sqlite::OpenMode::kReadWrite);
  return catalogue ? write_in_transaction(*catalogue, work) : propagate(catalogue);
}

Status LocalBlocks::drop(const BlockFolder& block) {
  const std::lock_guard lock(sealed_mutex_);
  if (block.number >= newest_->number()) {
    return fail(ErrorCode::kInvalid, "block {} takes rows and cannot be dropped", block.number);
  }
  const Status current = expect_current(block);
  return current ? drop_block(blocks_path_, block) : current;
}

bool LocalBlocks::is_dropped(const BlockFolder& block) const {
  const auto blocks = list();
  return blocks && std::ranges::find(*blocks, block) == blocks->end();
}

Status LocalBlocks::expect_current(const BlockFolder& block) {
  const auto replaced = is_replaced(block);
  if (!replaced) {
    return propagate(replaced);
  }
  return *replaced ? fail(ErrorCode::kNotFound, "{} has been replaced", block.path) : Status();
}

Status LocalBlocks::expect_replaceable(std::span<const BlockFolder> blocks) const {
  if (blocks.empty()) {
    return fail(ErrorCode::kInvalid, "there is no block to be replaced");
  }
  if (blocks.back().number >= newest_->number()) {
    return fail(ErrorCode::kInvalid, "block {} takes rows and cannot be replaced", blocks.back().number);
  }
  for (size_t i = 1; i < blocks.size(); ++i) {
    if (blocks[i - 1].number != blocks[i].first - 1) {
      return fail(ErrorCode::kInvalid, "block {} does not follow block {}", blocks[i].numbers(),
                  blocks[i - 1].numbers());
    }
  }
  const auto current = list();
  if (!current) {
    return propagate(current);
  }
  for (const BlockFolder& block : blocks) {
    if (std::ranges::find(*current, block) == current->end()) {
      return fail(ErrorCode::kNotFound, "{} has been dropped or replaced", block.path);
    }
    // It is of this generation and no other, and may be the only copy of its rows.
    const auto repaired = has_replacement(block);
    if (!repaired || *repaired) {
      return repaired ? Status(with_hint(fail(ErrorCode::kConflict, "the repair of block {} was interrupted",
                                              block.numbers()),
                                         "run \"plimsoll store repair\" again"))
                      : propagate(repaired);
    }
  }
  return {};
}

Result<BlockFolder> LocalBlocks::replace(std::span<const BlockFolder> blocks, const Completion& complete) {
  const std::lock_guard lock(sealed_mutex_);
  Status ready = expect_replaceable(blocks);
  ready = ready ? complete(replacement_of(blocks)) : ready;
  return ready ? publish_replacement(blocks_path_, blocks) : propagate(ready);
}

}  // namespace plimsoll::store
