#include "query/snapshot/store_follower.h"

#include <algorithm>
#include <span>
#include <utility>

namespace plimsoll::query {
namespace {

// The newest block, the last day, the last month, and another: each has entries of its own in memory.
constexpr size_t kMaxSeries = 4;

// How far from a profile others of its draw may be.
int64_t distance_within_draw_ns(const store::BlockState& state) {
  const int64_t interval_ns = std::min(state.max_interval_ns, INT64_MAX - 2 * store::kWindowToleranceNs);
  return interval_ns <= 0 ? 0 : interval_ns + 2 * store::kWindowToleranceNs;
}

}  // namespace

Result<std::shared_ptr<const Snapshot>> StoreFollower::newest(const TimeSpans& times,
                                                              const BeforeOpening& before_opening) {
  while (true) {
    std::vector<store::BlockFolder> listed;
    auto snapshot = newest_of_blocks(times, before_opening, listed);
    // One that was dropped or replaced since the blocks were listed is in the next list no more.
    if (snapshot || !is_any_gone(listed)) {
      return snapshot;
    }
  }
}

Result<std::shared_ptr<const Snapshot>> StoreFollower::newest_of_blocks(
    const TimeSpans& times, const BeforeOpening& before_opening, std::vector<store::BlockFolder>& listed) {
  while (true) {
    const auto chosen = choose(times, listed);
    if (!chosen) {
      return propagate(chosen);
    }
    const std::lock_guard lock(chosen->series->mutex);
    SnapshotSeries& snapshots = chosen->series->snapshots;
    // Unless another question has extended it to more blocks meanwhile.
    if (snapshots.begins(chosen->blocks)) {
      snapshots.extend_to(chosen->blocks);
      auto snapshot = snapshots.newest(chosen->facts, before_opening);
      // Where a block was found damaged, the others are chosen next.
      if (snapshot || std::ranges::none_of(chosen->blocks,
                                           [](const auto& block) { return block->damage().has_value(); })) {
        return snapshot;
      }
    }
  }
}

void StoreFollower::forget_dropped() {
  const std::lock_guard lock(mutex_);
  // What fails now fails again with the next question, which says so.
  static_cast<void>(open_blocks().has_value());
}

bool StoreFollower::is_any_gone(const std::vector<store::BlockFolder>& listed) const {
  const auto folders = store::list_blocks(data_dir_ + "/blocks");
  return folders && std::ranges::any_of(listed, [&](const store::BlockFolder& block) {
           return std::ranges::find(*folders, block) == folders->end();
         });
}

Result<StoreFollower::Chosen> StoreFollower::choose(const TimeSpans& times,
                                                    std::vector<store::BlockFolder>& listed) {
  const std::lock_guard lock(mutex_);
  if (const Status opened = open_blocks(); !opened) {
    return propagate(opened);
  }
  listed.clear();
  for (const auto& [number, reader] : blocks_) {
    listed.push_back(reader->folder());
  }
  Chosen chosen;
  std::shared_ptr<BlockReader> newest;
  for (const auto& [number, reader] : blocks_) {
    const auto state = reader->state();
    if (const auto damage = reader->damage()) {
      chosen.facts.damaged_blocks.push_back(*damage);
      continue;
    }
    if (!state) {
      return propagate(state);
    }
    newest = reader;
    chosen.facts.from_ns = std::min(chosen.facts.from_ns, state->from_ns);
    chosen.facts.to_ns = std::max(chosen.facts.to_ns, state->to_ns);
    reader->forget_old_entries();
    if (touches(times, state->from_ns, state->to_ns, distance_within_draw_ns(*state))) {
      chosen.blocks.push_back(reader);
      if (is_rolled_up(reader->folder())) {
        chosen.facts.rolled_up_from_ns = std::min(chosen.facts.rolled_up_from_ns, state->from_ns);
        chosen.facts.rolled_up_to_ns = std::max(chosen.facts.rolled_up_to_ns, state->to_ns);
      }
    }
  }
  if (newest == nullptr) {
    return with_hint(fail(ErrorCode::kCorrupt, "no block of {} can be read: {}", data_dir_,
                          chosen.facts.damaged_blocks.front().why),
                     "restore the directory from a backup");
  }
  if (chosen.blocks.empty()) {
    chosen.blocks.push_back(newest);
  }
  const auto registered = machines_registered();
  if (!registered) {
    return propagate(registered);
  }
  chosen.facts.machines_registered = *registered;
  chosen.facts.draws_path = directory_->draws_path();
  chosen.facts.drawn_weights = [this](std::string_view draw) { return drawn_weights(draw); };
  chosen.series = series_of(chosen.blocks);
  return chosen;
}

// A later generation that was damaged and rebuilt has full rows.
bool StoreFollower::is_rolled_up(const store::BlockFolder& block) {
  if (block.generation == 0) {
    return false;
  }
  const std::pair key(block.number, block.generation);
  if (const auto known = rolled_up_.find(key); known != rolled_up_.end()) {
    return known->second;
  }
  auto catalogue = store::Catalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  const auto is_rolled_up = catalogue ? store::is_rolled_up(catalogue->database()) : propagate(catalogue);
  return is_rolled_up ? rolled_up_.emplace(key, *is_rolled_up).first->second : true;
}

Status StoreFollower::open_blocks() {
  if (!directory_) {
    auto directory = store::DataDirectory::open_for_reading(data_dir_);
    if (!directory) {
      return propagate(directory);
    }
    directory_ = std::make_unique<const store::DataDirectory>(std::move(*directory));
  }
  const auto folders = store::list_blocks(directory_->blocks_path());
  if (!folders) {
    return propagate(folders);
  }
  // What was made of blocks that were dropped or replaced is of use to questions that have it already, and to no other.
  const auto is_gone = [&](const BlockReader& reader) {
    return std::ranges::find(*folders, reader.folder()) == folders->end();
  };
  std::erase_if(blocks_, [&](const auto& block) { return is_gone(*block.second); });
  std::erase_if(series_, [&](const auto& series) {
    return std::ranges::any_of(series->blocks, [&](const auto& block) { return is_gone(*block); });
  });
  for (const store::BlockFolder& folder : *folders) {
    if (blocks_.contains(folder.number)) {
      continue;
    }
    blocks_.emplace(folder.number, std::make_shared<BlockReader>(folder));
  }
  return {};
}

// That of these blocks, or else of most of the first of them, which goes on with all.
std::shared_ptr<StoreFollower::Series> StoreFollower::series_of(const SnapshotSeries::Readers& blocks) {
  auto best = series_.end();
  for (auto series = series_.begin(); series != series_.end(); ++series) {
    const auto& known = (*series)->blocks;
    const bool begins =
        known.size() <= blocks.size() && std::ranges::equal(known, std::span(blocks).first(known.size()));
    if (begins && (best == series_.end() || known.size() > (*best)->blocks.size())) {
      best = series;
    }
  }
  if (best != series_.end()) {
    series_.splice(series_.begin(), series_, best);
    series_.front()->blocks = blocks;
  } else {
    series_.push_front(std::make_shared<Series>(blocks));
    series_.resize(std::min(series_.size(), kMaxSeries));
  }
  return series_.front();
}

Result<int64_t> StoreFollower::machines_registered() {
  if (!machines_) {
    auto machines = store::LiveMachines::open_if_there(directory_->live_path());
    if (!machines) {
      return propagate(machines);
    }
    machines_ = std::move(*machines);
  }
  return machines_ ? machines_->count() : 0;
}

Result<std::vector<store::DrawnWeight>> StoreFollower::drawn_weights(std::string_view draw) {
  const std::lock_guard lock(draws_mutex_);
  if (!draws_) {
    // directory_ is set before the first question gets here, and stays.
    auto draws = store::DrawStore::open_if_there(directory_->draws_path());
    if (!draws) {
      return propagate(draws);
    }
    draws_ = std::move(*draws);
  }
  return draws_ ? draws_->drawn_weights(draw) : Result<std::vector<store::DrawnWeight>>();
}

}  // namespace plimsoll::query
