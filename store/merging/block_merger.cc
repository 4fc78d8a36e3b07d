#include "store/merging/block_merger.h"

#include <algorithm>

#include "base/log.h"
#include "store/catalogue/block_table.h"
#include "store/rollup/made_block.h"
#include "store/segments/segment_file.h"

namespace plimsoll::store {
namespace {

// Segments are merged beside it.
constexpr int kMaxMissesOfGroup = 3;

// Until blocks that failed are tried again, the first time and at most.
constexpr BlockMerger::Clock::duration kFirstWaitOfGroup = std::chrono::minutes(1);
constexpr BlockMerger::Clock::duration kMaxWaitOfGroup = std::chrono::hours(1);

// Of the members, what the new block takes at most while it is being made: its rows twice, sorted in parts and merged.
constexpr int64_t kRoomNumeratorOfGroup = 3;
constexpr int64_t kRoomDenominatorOfGroup = 2;

std::pair<int64_t, int64_t> key_of_block(const BlockFolder& folder) {
  return {folder.number, folder.generation};
}

std::string numbers_of(std::span<const BlockFolder> group) {
  return group.size() == 1 ? fmt::format("block {}", group.front().number)
                           : fmt::format("blocks {} to {}", group.front().first, group.back().number);
}

}  // namespace

BlockMerger::BlockMerger(Ingest& ingest, const MergeLimits& limits, Environment environment)
    : ingest_(ingest),
      limits_(limits),
      environment_(std::move(environment)),
      replaced_(ingest.directory().blocks_path(), limits.keep_replaced) {}

Result<MergeReport> BlockMerger::run_once(const std::stop_token& stop) {
  remove_due();
  const auto folders = ingest_.blocks();
  if (!folders) {
    return propagate(folders);
  }
  now_ = environment_.steady_now();
  std::vector<MergeCandidate> candidates = look_at(*folders);
  while (true) {
    const std::optional<size_t> found = next_merge(candidates, limits_);
    if (!found.has_value()) {
      break;
    }
    const Group group = std::span(*folders).subspan(*found, kMergedBlocks);
    const std::span<MergeCandidate> chosen = std::span(candidates).subspan(*found, kMergedBlocks);
    int64_t bytes = 0;
    for (const MergeCandidate& member : chosen) {
      bytes += member.bytes;
    }
    MergedBlock merged(group, limits_.max_entries);
    const auto room = has_room(group, bytes);
    auto report = room && *room ? merge(group, merged, stop) : Result<MergeReport>();
    if (room && report && report->blocks != 0) {
      failed_.erase(group.front().number);
      report->bytes_before = bytes;
      return report;
    }
    if (!room || !report) {
      const Error& error = !room ? room.error() : report.error();
      const auto is_gone = [&](const BlockFolder& folder) { return ingest_.is_dropped(folder); };
      if (stop.stop_requested() || std::ranges::any_of(group, is_gone)) {
        return MergeReport();
      }
      give_up(group, merged.failed_member(), error);
    }
    // Where one of them alone is damaged, the others may have other neighbours that they can become one with.
    const auto is_unfit = [&](const BlockFolder& folder) { return unfit_.contains(key_of_block(folder)); };
    const bool is_damaged = std::ranges::any_of(group, is_unfit);
    for (size_t place = 0; place < group.size(); ++place) {
      chosen[place].is_fit = is_damaged && !is_unfit(group[place]);
    }
  }
  // Those whose time had come and that were not tried again are not due any more.
  std::erase_if(failed_, [&](const auto& failed) { return failed.second.again <= now_; });
  // Last, so that it holds up no others; and each time, so that the caller hears of it until it is over.
  if (!failed_.empty()) {
    const auto& [first, failed] = *failed_.begin();
    return fail(failed.error.code, "merging blocks {} to {}: {}", first, failed.last, failed.error.text());
  }
  return MergeReport();
}

std::vector<MergeCandidate> BlockMerger::look_at(const std::vector<BlockFolder>& folders) {
  const int64_t oldest = folders.front().number;
  known_.forget_before(oldest);
  failed_.erase(failed_.begin(), failed_.lower_bound(oldest));
  unfit_.erase(unfit_.begin(), unfit_.lower_bound({oldest, 0}));
  without_room_.erase(without_room_.begin(), without_room_.lower_bound({oldest, 0}));
  misses_.erase(misses_.begin(), misses_.lower_bound({oldest, 0}));
  std::vector<MergeCandidate> candidates;
  for (const BlockFolder& folder : folders) {
    // The newest takes rows.
    candidates.push_back(folder.number == folders.back().number
                             ? MergeCandidate{.first = folder.first, .last = folder.number}
                             : candidate_of(folder));
  }
  return candidates;
}

MergeCandidate BlockMerger::candidate_of(const BlockFolder& folder) {
  MergeCandidate candidate{.first = folder.first, .last = folder.number};
  if (!known_.is_rolled_up(folder) || unfit_.contains(key_of_block(folder)) || is_waiting(folder)) {
    return candidate;
  }
  // What stands beside it is of this one alone.
  if (has_replacement(folder).value_or(true)) {
    return candidate;
  }
  const auto state = known_.state_of(folder);
  const auto bytes = state ? allocated_bytes(folder.path) : propagate(state);
  if (!bytes) {
    if (!ingest_.is_dropped(folder)) {
      give_up(Group(&folder, 1), size_t{0}, bytes.error());
    }
    return candidate;
  }
  candidate.is_fit = state->is_sealed;
  candidate.from_ns = state->from_ns;
  candidate.to_ns = state->to_ns;
  candidate.bytes = *bytes;
  return candidate;
}

bool BlockMerger::is_waiting(const BlockFolder& folder) const {
  return std::ranges::any_of(failed_, [&](const auto& failed) {
    return failed.first <= folder.number && folder.number <= failed.second.last && now_ < failed.second.again;
  });
}

Result<bool> BlockMerger::has_room(Group group, int64_t bytes) {
  const auto free = environment_.free_bytes(ingest_.directory().path());
  if (!free) {
    return propagate(free);
  }
  const bool fits = *free - bytes / kRoomDenominatorOfGroup * kRoomNumeratorOfGroup >= limits_.min_free_bytes;
  if (!fits && without_room_.insert(key_of_block(group.front())).second) {
    log_warning("{} of {} bytes are not merged for now: {} bytes are free on the disk", numbers_of(group),
                bytes, *free);
  }
  return fits;
}

Result<MergeReport> BlockMerger::merge(Group group, MergedBlock& merged, const std::stop_token& stop) {
  const BlockFolder replacement = replacement_of(group);
  const Status read = merged.read(stop);
  const auto segments = read ? merged.write_rows(replacement, stop) : propagate(read);
  if (segments && environment_.rows_written) {
    environment_.rows_written();
  }
  const auto published =
      segments ? ingest_.replace_blocks(group,
                                        [&](const BlockFolder& made) -> Status {
                                          const Status written =
                                              merged.write_catalogue(made, *segments, environment_.now_ns());
                                          const Status synced = written ? complete_block(made) : written;
                                          if (synced && environment_.before_publishing) {
                                            environment_.before_publishing();
                                          }
                                          return synced;
                                        })
               : propagate(segments);
  if (!published) {
    discard_block(replacement);
    return propagate(published);
  }
  for (const BlockFolder& folder : group) {
    replaced_.add(folder);
  }
  MergeReport report{.blocks = static_cast<int64_t>(group.size()),
                     .first = group.front().first,
                     .last = group.back().number,
                     .stacks_before = merged.stacks_before(),
                     .stacks = merged.stacks(),
                     .rows_before = merged.rows_before(),
                     .bytes = allocated_bytes(published->path).value_or(0)};
  for (const SegmentEntry& segment : *segments) {
    report.rows += segment.rows;
  }
  remove_due();
  return report;
}

void BlockMerger::give_up(Group group, std::optional<size_t> failed_member, const Error& error) {
  const bool is_missing = error.code == ErrorCode::kNotFound;
  if (is_missing && ++misses_[key_of_block(group.front())] < kMaxMissesOfGroup) {
    return;
  }
  if (is_damage(error) && failed_member.has_value()) {
    set_unfit(group.subspan(*failed_member, 1), error);
  } else if (is_damage(error) || error.code == ErrorCode::kConflict || error.code == ErrorCode::kTooLarge) {
    set_unfit(group, error);
  } else {
    note_failure(group, error);
  }
}

void BlockMerger::set_unfit(Group group, const Error& error) {
  log_warning("{} cannot be merged: {}", numbers_of(group), error.text());
  for (const BlockFolder& folder : group) {
    unfit_.insert(key_of_block(folder));
  }
  failed_.erase(group.front().number);
}

void BlockMerger::note_failure(Group group, const Error& error) {
  const auto known = failed_.find(group.front().number);
  const Clock::duration wait = known == failed_.end()
                                   ? kFirstWaitOfGroup
                                   : std::min<Clock::duration>(2 * known->second.wait, kMaxWaitOfGroup);
  failed_.insert_or_assign(group.front().number,
                           Failed{error, group.back().number, wait, environment_.steady_now() + wait});
}

}  // namespace plimsoll::store
