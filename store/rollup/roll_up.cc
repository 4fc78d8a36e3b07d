#include "store/rollup/roll_up.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/log.h"
#include "store/blocks/block_folder.h"
#include "store/catalogue/catalogue.h"
#include "store/catalogue/segment_table.h"
#include "store/model/dictionaries.h"
#include "store/rollup/hours.h"
#include "store/rollup/made_block.h"
#include "store/rollup/rolled_catalogue.h"
#include "store/rollup/rolled_rows.h"
#include "store/segments/segment.h"
#include "store/segments/segment_cursor.h"

namespace plimsoll::store {
namespace {

// As retention's: a clock that is set ahead costs no detail.
constexpr int64_t kMaxBeyondNewestNs = 24 * kNsPerHour;

// Segments are merged beside it.
constexpr int kMaxMisses = 3;

// Until a block that failed is tried again, the first time and at most.
constexpr RollUp::Clock::duration kFirstWait = std::chrono::minutes(1);
constexpr RollUp::Clock::duration kMaxWait = std::chrono::hours(1);

// Of a full block, what the other takes at most while it is being made: its rows twice, sorted in parts and merged.
constexpr int64_t kRoomNumerator = 3;
constexpr int64_t kRoomDenominator = 2;

RowOrder order_of(const RolledWorkloads& workloads) {
  RowOrder order;
  for (size_t id = 1; id < workloads.entries.size(); ++id) {
    order.add_workload(workloads.entries[id].job);
  }
  return order;
}

Result<AppendOnlyList<EventEntry>> read_events(sqlite::Database& catalogue) {
  AppendOnlyList<EventEntry> events{1};
  const Status read = sqlite::for_each_row(
      catalogue.query("SELECT name, unit, kind FROM event ORDER BY id"), [&](const sqlite::Statement& row) {
        events.push_back({std::string(row.text(0)), static_cast<wire::Unit>(row.integer(1)),
                          static_cast<wire::Kind>(row.integer(2))});
      });
  return read ? Result<AppendOnlyList<EventEntry>>(std::move(events)) : propagate(read);
}

// A block as it is read once; what its rows refer to never changes, since it is sealed.
struct FullBlock {
  std::vector<std::shared_ptr<const Segment>> segments;
  AppendOnlyList<EventEntry> events;
  std::vector<OriginRow> origins;
  RolledWorkloads workloads;
  uint64_t rows = 0;
};

Result<FullBlock> read_full(const BlockFolder& folder) {
  auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
  const auto transaction =
      catalogue ? sqlite::Transaction::begin_read(catalogue->database()) : propagate(catalogue);
  if (!transaction) {
    return propagate(transaction);
  }
  FullBlock block;
  // First the files: what is open stays readable whatever is merged meanwhile.
  const auto visible = visible_segments(catalogue->database());
  if (!visible) {
    return propagate(visible);
  }
  for (const SegmentEntry& entry : *visible) {
    auto segment = Segment::open(folder.segments_path() + "/" + entry.file);
    if (!segment) {
      return propagate(segment);
    }
    block.rows += segment->rows();
    block.segments.push_back(std::make_shared<const Segment>(std::move(*segment)));
  }
  auto events = read_events(catalogue->database());
  auto origins = events ? read_origins(catalogue->database()) : propagate(events);
  auto workloads = origins ? read_workloads(catalogue->database()) : propagate(origins);
  if (!workloads) {
    return propagate(workloads);
  }
  block.events = std::move(*events);
  block.origins = std::move(*origins);
  block.workloads = std::move(*workloads);
  return block;
}

Result<std::vector<SegmentEntry>> write_rows(const FullBlock& full, const Hours& hours,
                                             const BlockFolder& replacement, const std::stop_token& stop) {
  if (const Status begun = begin_block(replacement); !begun) {
    return propagate(begun);
  }
  RolledRows rows(hours, full.workloads.of, order_of(full.workloads), replacement.segments_path());
  SegmentCursor cursor(full.segments, {});
  while (true) {
    const auto batch = cursor.next();
    if (!batch || batch->empty()) {
      if (!batch) {
        return propagate(batch);
      }
      break;
    }
    const Status added = rows.add(*batch);
    if (!added || stop.stop_requested()) {
      return !added ? propagate(added) : fail(ErrorCode::kUnavailable, "stopped");
    }
  }
  return rows.finish(stop);
}

}  // namespace

RollUp::RollUp(Ingest& ingest, const RollUpLimits& limits, Environment environment)
    : ingest_(ingest),
      limits_(limits),
      environment_(std::move(environment)),
      replaced_(ingest.directory().blocks_path(), limits.keep_replaced) {}

Result<RollUpReport> RollUp::run_once(const std::stop_token& stop) {
  remove_due();
  if (limits_.full_max_age_ns == 0) {
    return RollUpReport();
  }
  const auto newest_ns = ingest_.archive().newest_received_ns();
  if (!newest_ns) {
    return propagate(newest_ns);
  }
  const int64_t clock_ns = environment_.now_ns();
  const int64_t now_ns = *newest_ns == 0 ? clock_ns : std::min(clock_ns, *newest_ns + kMaxBeyondNewestNs);
  return roll_up_first(
      [&](const BlockState& state, int64_t full_bytes) {
        return state.to_ns < now_ns - limits_.full_max_age_ns || full_bytes > limits_.full_max_bytes;
      },
      stop);
}

Result<RollUpReport> RollUp::run_once_before(int64_t before_ns, const std::stop_token& stop) {
  remove_due();
  return roll_up_first([&](const BlockState& state, int64_t) { return state.to_ns < before_ns; }, stop);
}

Result<RollUpReport> RollUp::roll_up_first(const IsDue& is_due, const std::stop_token& stop) {
  const auto folders = ingest_.blocks();
  if (!folders) {
    return propagate(folders);
  }
  known_.forget_before(folders->front().number);
  // One that is in another block by now, or rolled up, does not fail again.
  std::erase_if(failed_, [&](const auto& failed) {
    const auto folder = std::ranges::find(*folders, failed.first, &BlockFolder::number);
    return folder == folders->end() || known_.is_rolled_up(*folder);
  });
  int64_t full_bytes = 0;
  std::map<int64_t, int64_t> bytes_of;
  for (const BlockFolder& folder : *folders) {
    const auto bytes = !known_.is_rolled_up(folder) ? allocated_bytes(folder.path) : Result<int64_t>(0);
    // Of those that are looked at below, which then take it back.
    const bool may_be_due = folder.number != folders->back().number && !unfit_.contains(folder.number);
    if (!bytes && may_be_due && !ingest_.is_dropped(folder)) {
      note_failure(folder, bytes.error());
    }
    bytes_of[folder.number] = bytes.value_or(0);
    full_bytes += bytes.value_or(0);
  }
  for (const BlockFolder& folder : *folders) {
    const bool is_newest = folder.number == folders->back().number;
    if (is_newest || known_.is_rolled_up(folder) || unfit_.contains(folder.number) || is_waiting(folder)) {
      continue;
    }
    // What stands beside it is of this generation.
    if (has_replacement(folder).value_or(true)) {
      failed_.erase(folder.number);
      continue;
    }
    const auto state = known_.state_of(folder);
    const auto room = state && state->is_sealed && is_due(*state, full_bytes)
                          ? has_room(folder, bytes_of[folder.number])
                          : Result<bool>(false);
    auto report = room && *room ? roll_up(folder, stop) : Result<RollUpReport>();
    const Error* error = !state    ? &state.error()
                         : !room   ? &room.error()
                         : !report ? &report.error()
                                   : nullptr;
    if (error == nullptr) {
      failed_.erase(folder.number);
      if (report->block != 0) {
        return report;
      }
      continue;
    }
    if (ingest_.is_dropped(folder) || stop.stop_requested()) {
      return RollUpReport();
    }
    if (error->code == ErrorCode::kNotFound && ++misses_[folder.number] < kMaxMisses) {
      continue;
    }
    // Its full rows stay, so that a copy of what is damaged can take its place.
    if (!is_damage(*error) && error->code != ErrorCode::kNotFound) {
      note_failure(folder, *error);
      continue;
    }
    log_error("block {} is not rolled up: {}", folder.number, error->text());
    unfit_.insert(folder.number);
    failed_.erase(folder.number);
  }
  // Last, so that it holds up no other block; and each time, so that the caller hears of it until it is over.
  if (!failed_.empty()) {
    const auto& [number, failed] = *failed_.begin();
    return fail(failed.error.code, "rolling up block {}: {}", number, failed.error.text());
  }
  return RollUpReport();
}

void RollUp::note_failure(const BlockFolder& folder, const Error& error) {
  const auto known = failed_.find(folder.number);
  if (known != failed_.end() && is_waiting(folder)) {
    return;
  }
  const Clock::duration wait =
      known == failed_.end() ? kFirstWait : std::min<Clock::duration>(2 * known->second.wait, kMaxWait);
  failed_.insert_or_assign(folder.number, Failed{error, wait, environment_.steady_now() + wait});
}

bool RollUp::is_waiting(const BlockFolder& folder) const {
  const auto failed = failed_.find(folder.number);
  return failed != failed_.end() && environment_.steady_now() < failed->second.again;
}

Result<bool> RollUp::has_room(const BlockFolder& folder, int64_t bytes) {
  const auto free = environment_.free_bytes(ingest_.directory().path());
  if (!free) {
    return propagate(free);
  }
  const bool fits = *free - bytes / kRoomDenominator * kRoomNumerator >= limits_.min_free_bytes;
  if (!fits && without_room_.insert(folder.number).second) {
    log_warning("block {} of {} bytes is not rolled up for now: {} bytes are free on the disk", folder.number,
                bytes, *free);
  }
  return fits;
}

Result<RollUpReport> RollUp::roll_up(const BlockFolder& folder, const std::stop_token& stop) {
  const auto full = read_full(folder);
  if (!full) {
    return propagate(full);
  }
  const Hours hours(full->origins, full->events);
  const BlockFolder replacement = replacement_of(folder);
  const auto segments = write_rows(*full, hours, replacement, stop);
  const auto published =
      segments ? ingest_.replace_blocks(std::span(&folder, 1),
                                        [&](const BlockFolder& made) -> Status {
                                          const RolledContents contents{hours, full->workloads, *segments,
                                                                        environment_.now_ns()};
                                          const Status filled = make_rolled_catalogue(
                                              folder.catalogue_path(), made.catalogue_path(), contents);
                                          const Status synced = filled ? complete_block(made) : filled;
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
  replaced_.add(folder);
  RollUpReport report{.block = folder.number,
                      .profiles = static_cast<int64_t>(hours.profiles()),
                      .origins = static_cast<int64_t>(hours.origins().size()) - 1,
                      .rows_before = full->rows,
                      .bytes_before = allocated_bytes(folder.path).value_or(0),
                      .bytes = allocated_bytes(published->path).value_or(0)};
  for (const SegmentEntry& segment : *segments) {
    report.rows += segment.rows;
  }
  remove_due();
  return report;
}

}  // namespace plimsoll::store
