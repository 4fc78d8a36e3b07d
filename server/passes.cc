#include "server/passes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/hex.h"
#include "base/log.h"
#include "base/stop_check.h"
#include "base/stop_scope.h"
#include "base/time.h"
#include "query/operations/wanted_builds.h"
#include "server/background/work_kinds.h"
#include "server/symbol_passes.h"
#include "store/live/live_machines.h"
#include "store/merging/block_merger.h"
#include "store/packed/block_packs.h"
#include "store/retention/retention.h"
#include "store/rollup/roll_up.h"

namespace plimsoll::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr NextPass kAtOnce{.after = std::chrono::nanoseconds(0)};

// Of full batches, so that what a pass says of itself stays new.
constexpr std::chrono::minutes kLongestRowsPass{1};

// Other programs may fill the disk.
constexpr std::chrono::seconds kRetentionInterval{10};
constexpr std::chrono::nanoseconds kRollUpInterval = std::chrono::minutes(5);
constexpr std::chrono::nanoseconds kEpochsInterval = std::chrono::minutes(10);
constexpr std::chrono::nanoseconds kBinariesInterval = std::chrono::hours(1);
// A row of draws.db is read.
constexpr std::chrono::nanoseconds kWriterInterval = std::chrono::seconds(1);

// Binaries that rows of these days refer to are kept, whatever their age.
constexpr int64_t kRecentRowsNs = int64_t{7} * 24 * kNsPerHour;

constexpr size_t kMaxWantedBuilds = 10'000;
constexpr int kListPauseFactor = 50;

// For requests to servers that do not answer: the server is to stop within seconds. Borrows the token.
StopCheck end_with(const std::stop_token& stop) {
  return [&stop]() -> Status {
    return stop.stop_requested() ? fail(ErrorCode::kUnavailable, "the server stops") : Status();
  };
}

store::TimeSpans recent_rows() {
  const int64_t now_ns = wall_now_ns();
  return {store::TimeSpan{.from_ns = now_ns - kRecentRowsNs, .to_ns = now_ns}};
}

// The wall clock may be set while a time of it is waited for.
constexpr int64_t kLongestWaitNs = 5 * kNsPerSecond;

std::chrono::nanoseconds until_due(const scheduler::Drawer& drawer) {
  return std::chrono::nanoseconds(
      std::clamp<int64_t>(drawer.next_due_ns() - wall_now_ns(), 0, kLongestWaitNs));
}

struct Dropped {
  uint64_t count = 0;
  bool has_room = true;  // the disk has what is wanted free
};

// Drops what is over a limit of spans or of bursts and, where the disk is too full by `free_bytes`, the oldest beside.
template <typename DroppingSink>
Result<Dropped> drop_some(DroppingSink& sink, int64_t max_age_ns, int64_t max_bytes,
                          int64_t wanted_free_bytes, const std::function<Result<int64_t>()>& free_bytes) {
  const auto old = sink.drop_old(wall_now_ns() - max_age_ns, static_cast<uint64_t>(max_bytes));
  // The disk gets back later what has just been dropped. A failure is no reason to leave it full.
  if (old.value_or(0) != 0) {
    return Dropped{.count = *old, .has_room = false};
  }
  const auto free = free_bytes();
  if (!free) {
    return old ? propagate(free) : propagate(old);
  }
  const bool has_room = *free >= wanted_free_bytes;
  const auto oldest = has_room ? Result<bool>(false) : sink.drop_oldest();
  if (!old || !oldest) {
    return old ? propagate(oldest) : propagate(old);
  }
  return Dropped{.count = *oldest ? uint64_t{1} : 0, .has_room = has_room};
}

// Until files that were replaced are due, or something else may be.
std::chrono::nanoseconds until_removed(store::RollUp& roll_up, store::BlockMerger& merger) {
  std::chrono::nanoseconds until = kRollUpInterval;
  for (const std::optional<Clock::time_point>& due : {roll_up.remove_due(), merger.remove_due()}) {
    if (due.has_value()) {
      until = std::min<std::chrono::nanoseconds>(until, *due - Clock::now());
    }
  }
  return until;
}

}  // namespace

BackgroundTask::Pass rows_pass(store::Ingest& ingest, BackgroundWork& work) {
  return [&ingest, &work](const std::stop_token& stop) -> Result<NextPass> {
    const auto started = Clock::now();
    while (true) {
      const auto built = ingest.build_pending();
      if (!built) {
        return propagate(built, "building rows");
      }
      if (built->profiles + built->unbuildable == 0) {
        return NextPass();
      }
      log_info("stored {} profiles ({} rows)", built->profiles, built->rows);
      if (built->rows > 0) {
        work.wake(kSymbols);
        work.wake(kCompaction);
        work.wake(kRetention);
      }
      // Behind a full batch nothing need be gathered, for which the next pass waits while profiles come.
      if (!built->is_full || stop.stop_requested() || Clock::now() - started > kLongestRowsPass) {
        return kAtOnce;
      }
    }
  };
}

BackgroundTask::Pass symbols_pass(std::unique_ptr<store::Symbols> symbols, symbolizer::Symbolizer symbolizer,
                                  std::stop_source searches, std::chrono::nanoseconds retry,
                                  std::shared_ptr<std::atomic<bool>> has_new_files) {
  return [passes = SymbolPasses(std::move(symbols), std::move(symbolizer)), searches = std::move(searches),
          retry, has_new_files = std::move(has_new_files), next_retry = Clock::time_point(),
          searches_left = size_t{0}](const std::stop_token& stop) mutable -> Result<NextPass> {
    const std::stop_callback end_search(stop, [&searches] { searches.request_stop(); });
    const auto now = Clock::now();
    const bool has_new = has_new_files && has_new_files->exchange(false);
    const bool is_retry = now >= next_retry || has_new || searches_left > 0;
    const auto report = passes.run(is_retry);
    if (!report) {
      if (has_new) {
        has_new_files->store(true);
      }
      return propagate(report);
    }
    if (is_retry) {
      next_retry = now + retry;
      searches_left -= std::min<size_t>(searches_left, 1);
    }
    if (has_new) {
      searches_left = passes.searches_of_all() - 1;
    }
    if (report->locations + report->renamed != 0) {
      log_info("symbolized {} of {} new addresses", report->named, report->locations);
    }
    for (const std::string& improved : report->improved) {
      log_info("{}", improved);
    }
    return searches_left > 0 ? kAtOnce : NextPass{.after = retry};
  };
}

BackgroundTask::Pass binaries_pass(symbolizer::BinaryRepository& repository,
                                   query::SnapshotCache& snapshots) {
  return [&repository, &snapshots](const std::stop_token&) -> Result<NextPass> {
    const int64_t now_ns = wall_now_ns();
    if (!repository.has_surplus(now_ns)) {
      return NextPass{.after = kBinariesInterval};
    }
    const auto snapshot = snapshots.newest(recent_rows());
    if (!snapshot) {
      return propagate(snapshot);
    }
    std::set<std::string> used;
    const auto& binaries = (*snapshot)->dictionaries.binaries;
    for (uint32_t id = 1; id < binaries.size(); ++id) {
      if (binaries[id].identity_kind == wire::GNU_BUILD_ID) {
        used.insert(binaries[id].identity);
      }
    }
    const auto report = repository.trim(used, now_ns);
    if (!report) {
      return propagate(report);
    }
    if (report->builds > 0) {
      log_info("dropped the binaries of {} builds; {} bytes", report->builds, report->bytes);
    }
    return NextPass{.after = kBinariesInterval};
  };
}

BackgroundTask::Pass fetch_pass(std::unique_ptr<symbolizer::DebuginfodFetcher> fetcher,
                                query::SnapshotCache& snapshots, WantedBuildSet& wanted_set,
                                std::chrono::nanoseconds interval, std::function<void()> added,
                                bool lists_code) {
  return [fetcher = std::move(fetcher), &snapshots, &wanted_set, interval, added = std::move(added),
          lists_code, next_list = Clock::time_point(),
          is_failing = false](const std::stop_token& stop) mutable -> Result<NextPass> {
    if (const auto started = Clock::now(); started >= next_list) {
      const auto snapshot = snapshots.newest(recent_rows());
      auto wanted = snapshot ? query::wanted_builds(**snapshot, kMaxWantedBuilds) : propagate(snapshot);
      auto of_code = wanted && lists_code
                         ? query::wanted_builds(**snapshot, kMaxWantedBuilds, query::WantedContent::kCode)
                         : Result<std::vector<std::string>>();
      if (!wanted || !of_code) {
        return !wanted ? propagate(wanted) : propagate(of_code);
      }
      wanted_set.set(*wanted, *of_code);
      fetcher->want(*std::move(wanted));
      const auto now = Clock::now();
      next_list = now + std::max(interval, kListPauseFactor * (now - started));
    }
    const auto fetched = fetcher->fetch_next(stop);
    if (!fetched) {
      // No failure of the pass, which would make the server not ready: the symbols are optional, and a file without room is asked for again.
      if (!std::exchange(is_failing, true)) {
        log_warning("fetching debug files: {}; it is tried again every minute", fetched.error().text());
      }
      return NextPass{.after = kFetch.retry};
    }
    if (!*fetched) {
      return NextPass{.after = next_list - Clock::now()};
    }
    is_failing = false;
    const symbolizer::FetchReport& report = **fetched;
    for (const std::string& remark : report.remarks) {
      log_warning("fetching symbols of build ID {}: {}", to_hex(report.build_id), remark);
    }
    if (report.files > 0) {
      log_info("fetched {} files of build ID {} ({} bytes)", report.files, to_hex(report.build_id),
               report.bytes);
      added();
    }
    return kAtOnce;
  };
}

Result<BackgroundTask::Pass> compaction_pass(store::Ingest& ingest, const store::CompactionLimits& limits) {
  auto opened = store::Compactor::open(ingest, limits);
  if (!opened) {
    return propagate(opened);
  }
  return [compactor = std::move(*opened)](const std::stop_token& stop) -> Result<NextPass> {
    const auto report = compactor->merge_once(stop);
    if (!report) {
      return propagate(report);
    }
    if (report->merged > 0) {
      log_info("merged {} segments of {} bytes into {} of {}", report->merged, report->bytes_before,
               report->made, report->bytes);
    }
    if (report->merged > 0 || !report->damaged.empty()) {
      return kAtOnce;
    }
    const auto due = compactor->remove_due();
    return due ? NextPass{.after = *due - Clock::now()} : NextPass();
  };
}

BackgroundTask::Pass retention_pass(store::Ingest& ingest, const store::RetentionLimits& limits,
                                    std::function<void()> dropped) {
  return [retention = store::Retention(ingest, limits),
          dropped = std::move(dropped)](const std::stop_token& stop) mutable -> Result<NextPass> {
    const auto report = retention.enforce(stop);
    if (!report) {
      return propagate(report);
    }
    if (report->blocks > 0) {
      dropped();
    }
    if (!report->empty()) {
      log_info(
          "retention: dropped {} blocks, {} raw profiles, {} IDs of profiles and {} symbol tables; {} bytes",
          report->blocks, report->profiles, report->ids, report->symbol_tables, report->bytes);
    }
    return NextPass{.after = kRetentionInterval};
  };
}

BackgroundTask::Pass epochs_pass(store::RowStore& rows, const store::RowStoreLimits& limits,
                                 std::function<void()> dropped) {
  return [&rows, limits, dropped = std::move(dropped)](const std::stop_token& stop) -> Result<NextPass> {
    const StopCheck check = end_with(stop);
    const StopScope scope(check);
    const auto report = rows.drop_old(limits);
    if (!report) {
      return stop.stop_requested() ? Result<NextPass>(NextPass()) : propagate(report);
    }
    if (report->epochs > 0) {
      dropped();
      log_info("retention: dropped {} epochs of {}; {} bytes", report->epochs, rows.address(), report->bytes);
    }
    return NextPass{.after = kEpochsInterval};
  };
}

BackgroundTask::Pass spans_pass(store::SpanSink& spans, const store::RetentionLimits& limits,
                                std::function<Result<int64_t>()> free_bytes) {
  return
      [&spans, limits, free_bytes = std::move(free_bytes)](const std::stop_token& stop) -> Result<NextPass> {
        const auto dropped = drop_some(spans, limits.traces_max_age_ns, limits.traces_max_bytes,
                                       limits.wanted_free_bytes(), free_bytes);
        if (!dropped) {
          return propagate(dropped);
        }
        if (dropped->count > 0) {
          log_info("retention: dropped {} blocks of request traces", dropped->count);
        }
        // A merge takes room before it gives some back.
        if (!dropped->has_room) {
          return NextPass{.after = kRetentionInterval};
        }
        const auto merged = spans.merge_once(stop);
        if (!merged) {
          return propagate(merged);
        }
        return merged->merged > 0 ? kAtOnce : NextPass{.after = kRetentionInterval};
      };
}

BackgroundTask::Pass bursts_pass(store::BurstSink& bursts, const store::RetentionLimits& limits,
                                 std::function<Result<int64_t>()> free_bytes) {
  return [&bursts, limits, free_bytes = std::move(free_bytes)](const std::stop_token&) -> Result<NextPass> {
    const auto dropped = drop_some(bursts, limits.bursts_max_age_ns, limits.bursts_max_bytes,
                                   limits.wanted_free_bytes(), free_bytes);
    if (!dropped) {
      return propagate(dropped);
    }
    if (dropped->count > 0) {
      log_info("retention: dropped {} recordings of bursts", dropped->count);
    }
    return NextPass{.after = kRetentionInterval};
  };
}

BackgroundTask::Pass objects_pass(std::unique_ptr<store::WriteBehind> behind,
                                  std::chrono::nanoseconds interval) {
  return [behind = std::move(behind), interval](const std::stop_token& stop) -> Result<NextPass> {
    const StopCheck check = end_with(stop);
    const StopScope scope(check);
    const auto report = behind->run();
    if (!report) {
      return stop.stop_requested() ? Result<NextPass>(NextPass()) : propagate(report);
    }
    return report->is_complete ? NextPass{.after = interval} : kAtOnce;
  };
}

BackgroundTask::Pass roll_up_pass(store::Ingest& ingest, const store::RetentionLimits& limits,
                                  std::function<void()> replaced) {
  const store::RollUpLimits of_rows{.full_max_age_ns = limits.full_max_age_ns,
                                    .full_max_bytes = limits.full_max_bytes,
                                    .min_free_bytes = limits.min_free_bytes};
  return [roll_up = std::make_unique<store::RollUp>(ingest, of_rows),
          merger = std::make_unique<store::BlockMerger>(ingest, store::merge_limits(limits)),
          packer = std::make_unique<store::BlockPacker>(), &ingest,
          replaced = std::move(replaced)](const std::stop_token& stop) -> Result<NextPass> {
    const auto report = roll_up->run_once(stop);
    if (report && report->block != 0) {
      replaced();
      log_info("block {} is rolled up: {} profiles became {} of an hour, {} rows became {}, {} bytes {}",
               report->block, report->profiles, report->origins, report->rows_before, report->rows,
               report->bytes_before, report->bytes);
      return kAtOnce;
    }
    // Those of blocks that stay full for now, and of those that are not as they should be.
    const auto blocks = ingest.blocks();
    const auto packed = blocks ? packer->run_once(*blocks) : propagate(blocks);
    if (!packed) {
      // Answers come from the catalogues as well, later.
      log_warning("{}", packed.error().text());
    } else if (*packed != 0) {
      log_info("the entries of block {} are packed", *packed);
    }
    if (report && packed && *packed != 0) {
      return kAtOnce;
    }
    // Also where a block cannot be rolled up: that may last.
    const auto merged = merger->run_once(stop);
    if (merged && merged->blocks != 0) {
      replaced();
      log_info("blocks {} to {} are merged: {} stacks became {}, {} rows {}, {} bytes {}", merged->first,
               merged->last, merged->stacks_before, merged->stacks, merged->rows_before, merged->rows,
               merged->bytes_before, merged->bytes);
    }
    if (!report || !merged) {
      return !report ? propagate(report) : propagate(merged);
    }
    return merged->blocks != 0 ? kAtOnce : NextPass{.after = until_removed(*roll_up, *merger)};
  };
}

Result<BackgroundTask::Pass> draws_pass(scheduler::Drawer& drawer, store::Ingest& ingest) {
  auto opened = ingest.directory().read_machines();
  if (!opened) {
    return propagate(opened);
  }
  return
      [&drawer, &ingest, machines = std::move(*opened)](const std::stop_token&) mutable -> Result<NextPass> {
        if (const auto left = until_due(drawer); left.count() > 0) {
          return NextPass{.after = left, .was_due = false};
        }
        const Status drawn = drawer.draw_if_due(ingest.settled_now_ns(), machines);
        return drawn ? Result<NextPass>(NextPass{.after = until_due(drawer)}) : propagate(drawn);
      };
}

Result<BackgroundTask::Pass> writer_pass(const store::Ingest& ingest,
                                         std::function<void(const Error&)> taken_over) {
  auto opened = ingest.directory().open_draws();
  if (!opened) {
    return propagate(opened);
  }
  return [draws = std::move(*opened),
          taken_over = std::move(taken_over)](const std::stop_token&) mutable -> Result<NextPass> {
    const Status is_newest = draws.expect_newest_writer();
    if (is_newest) {
      return NextPass{.after = kWriterInterval};
    }
    if (is_newest.error().code != ErrorCode::kConflict) {
      return propagate(is_newest);
    }
    taken_over(is_newest.error());
    return NextPass{};
  };
}

Result<BackgroundTask::Pass> inventory_pass(const InventorySettings& settings, store::Ingest& ingest) {
  auto machines = ingest.directory().open_machines();
  auto opened = machines ? InventoryReader::open(settings, std::move(*machines)) : propagate(machines);
  if (!opened) {
    return propagate(opened);
  }
  const std::chrono::nanoseconds interval(settings.interval_ns);
  return [reader = std::move(*opened), interval](const std::stop_token&) -> Result<NextPass> {
    const Status done = reader->update();
    return done ? Result<NextPass>(NextPass{.after = interval}) : propagate(done);
  };
}

}  // namespace plimsoll::server
