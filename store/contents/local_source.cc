#include "store/contents/local_source.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace plimsoll::store {
Result<Contents> LocalSource::newest(const TimeSpans& times) {
  while (true) {
    std::vector<BlockFolder> listed;
    auto contents = newest_of_blocks(times, listed);
    // One that was dropped or replaced since the blocks were listed is in the next list no more.
    if (contents || !is_any_gone(listed)) {
      return contents;
    }
  }
}

Result<Contents> LocalSource::newest_of_blocks(const TimeSpans& times, std::vector<BlockFolder>& listed) {
  while (true) {
    const auto chosen = choose(times, listed);
    if (!chosen) {
      return propagate(chosen);
    }
    auto contents = chosen->series->newest(chosen->parts, chosen->facts);
    // Where a block was found damaged, the others are chosen next.
    if (contents && (*contents || std::ranges::none_of(chosen->parts, [](const auto& part) {
          return part->damage().has_value();
        }))) {
      return std::move(*contents);
    }
  }
}

std::vector<uint64_t> LocalSource::lineages() const {
  const std::lock_guard lock(mutex_);
  return series_.lineages();
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
  std::vector<TimedPart> parts;
  for (const auto& [number, reader] : blocks_) {
    const auto state = reader->state();
    if (!state && !reader->damage()) {
      return propagate(state);
    }
    const PartTimes covered =
        state ? PartTimes{state->from_ns, state->to_ns, state->max_interval_ns} : PartTimes();
    parts.push_back(
        {reader, covered, [this, &block = *reader] { return known_.is_rolled_up(block.folder()); }});
    reader->forget_old_entries();
  }
  Chosen chosen{choose_parts(parts, times), nullptr};
  if (chosen.parts.empty()) {
    return with_hint(fail(ErrorCode::kCorrupt, "no block of {} can be read: {}", data_dir_,
                          chosen.facts.damaged_blocks.front().why),
                     "restore the directory from a backup");
  }
  chosen.series = series_.of(chosen.parts);
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
  if (std::erase_if(blocks_, [&](const auto& block) { return is_gone(*block.second); }) > 0) {
    forget_series_of_others();
  }
  for (const BlockFolder& folder : *folders) {
    if (blocks_.contains(folder.number)) {
      continue;
    }
    blocks_.emplace(folder.number, std::make_shared<BlockReader>(folder, before_opening_));
  }
  return {};
}

void LocalSource::forget_series_of_others() {
  std::unordered_set<const PartReader*> known;
  for (const auto& [number, reader] : blocks_) {
    known.insert(reader.get());
  }
  series_.forget_where([&](const PartReader& part) { return !known.contains(&part); });
}

}  // namespace plimsoll::store
