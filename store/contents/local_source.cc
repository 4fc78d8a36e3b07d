#include "store/contents/local_source.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/process_memory.h"

namespace plimsoll::store {
namespace {

// The newest block, the last day, the last month, and another: each has entries of its own in memory.
constexpr size_t kMaxSeries = 4;

// How far from a profile others of its draw may be.
int64_t distance_within_draw_ns(const BlockState& state) {
  const int64_t interval_ns = std::min(state.max_interval_ns, INT64_MAX - 2 * kWindowToleranceNs);
  return interval_ns <= 0 ? 0 : interval_ns + 2 * kWindowToleranceNs;
}

}  // namespace

uint64_t LocalSource::default_max_bytes() {
  static const uint64_t bytes = memory_share(uint64_t{64} << 30, 5);
  return bytes;
}

Result<Contents> LocalSource::newest(const TimeSpans& times, const BeforeOpening& before_opening) {
  while (true) {
    std::vector<BlockFolder> listed;
    auto contents = newest_of_blocks(times, before_opening, listed);
    // One that was dropped or replaced since the blocks were listed is in the next list no more.
    if (contents || !is_any_gone(listed)) {
      return contents;
    }
  }
}

Result<Contents> LocalSource::newest_of_blocks(const TimeSpans& times, const BeforeOpening& before_opening,
                                               std::vector<BlockFolder>& listed) {
  while (true) {
    const auto chosen = choose(times, listed);
    if (!chosen) {
      return propagate(chosen);
    }
    Series& series = *chosen->series;
    const std::lock_guard lock(series.mutex);
    const SeriesUpdate update(series);
    // Unless another question has extended it to more blocks meanwhile.
    if (series.contents.begins(chosen->blocks)) {
      series.contents.extend_to(chosen->blocks);
      auto contents = series.contents.newest(chosen->facts, before_opening);
      // Where a block was found damaged, the others are chosen next.
      if (contents || std::ranges::none_of(chosen->blocks,
                                           [](const auto& block) { return block->damage().has_value(); })) {
        return contents;
      }
    }
  }
}

std::vector<uint64_t> LocalSource::lineages() const {
  const std::lock_guard lock(mutex_);
  std::vector<uint64_t> lineages;
  for (const auto& series : series_) {
    lineages.push_back(series->lineage);
  }
  return lineages;
}

void LocalSource::forget_dropped() {
  const std::lock_guard lock(mutex_);
  // What fails now fails again with the next question, which says so.
  static_cast<void>(open_blocks().has_value());
}

bool LocalSource::is_any_gone(const std::vector<BlockFolder>& listed) const {
  const auto folders = list_blocks(data_dir_ + "/blocks");
  return folders && std::ranges::any_of(listed, [&](const BlockFolder& block) {
           return std::ranges::find(*folders, block) == folders->end();
         });
}

Result<LocalSource::Chosen> LocalSource::choose(const TimeSpans& times, std::vector<BlockFolder>& listed) {
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
    chosen.facts.history_from_ns = std::min(chosen.facts.history_from_ns, state->from_ns);
    chosen.facts.history_to_ns = std::max(chosen.facts.history_to_ns, state->to_ns);
    reader->forget_old_entries();
    if (touches(times, state->from_ns, state->to_ns, distance_within_draw_ns(*state))) {
      chosen.blocks.push_back(reader);
      if (known_.is_rolled_up(reader->folder())) {
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
  chosen.series = series_of(chosen.blocks);
  return chosen;
}

Status LocalSource::open_blocks() {
  if (!directory_) {
    auto directory = DataDirectory::open_for_reading(data_dir_);
    if (!directory) {
      return propagate(directory);
    }
    directory_ = std::make_unique<const DataDirectory>(std::move(*directory));
  }
  const auto folders = list_blocks(directory_->blocks_path());
  if (!folders) {
    return propagate(folders);
  }
  // What was made of blocks that were dropped or replaced is of use to questions that have it already, and to no other.
  const auto is_gone = [&](const BlockReader& reader) {
    return std::ranges::find(*folders, reader.folder()) == folders->end();
  };
  if (!folders->empty()) {
    known_.forget_before(folders->front().number);
  }
  std::erase_if(blocks_, [&](const auto& block) { return is_gone(*block.second); });
  std::erase_if(series_, [&](const auto& series) {
    return std::ranges::any_of(series->blocks, [&](const auto& block) { return is_gone(*block); });
  });
  for (const BlockFolder& folder : *folders) {
    if (blocks_.contains(folder.number)) {
      continue;
    }
    blocks_.emplace(folder.number, std::make_shared<BlockReader>(folder));
  }
  return {};
}

// That of these blocks, or else of most of the first of them, which goes on with all.
std::shared_ptr<LocalSource::Series> LocalSource::series_of(const BlockSeries::Readers& blocks) {
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
    series_.push_front(std::make_shared<Series>(blocks, max_bytes_));
  }
  forget_old_series();
  return series_.front();
}

// The one in front, which a question waits for, stays.
void LocalSource::forget_old_series() {
  series_.resize(std::min(series_.size(), kMaxSeries));
  uint64_t bytes = 0;
  for (auto series = series_.begin(); series != series_.end();) {
    bytes += (*series)->memory_bytes;
    series = series != series_.begin() && bytes > max_bytes_ ? series_.erase(series) : std::next(series);
  }
}

}  // namespace plimsoll::store
