// The passes of the server's background work (server/background/work_kinds.h).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>

#include "base/result.h"
#include "query/snapshot/snapshot.h"
#include "scheduler/assignments/drawer.h"
#include "server/background/background_work.h"
#include "server/doors/wanted_build_set.h"
#include "server/inventory_reader.h"
#include "store/compaction/compactor.h"
#include "store/door/bursts.h"
#include "store/door/row_store.h"
#include "store/door/spans.h"
#include "store/door/symbols.h"
#include "store/ingest.h"
#include "store/objects/write_behind.h"
#include "store/retention/retention_limits.h"
#include "symbolizer/debuginfod/debuginfod_fetcher.h"
#include "symbolizer/repository/repository.h"
#include "symbolizer/worker/worker.h"

namespace plimsoll::server {

// Each borrows what it takes by reference until its task has stopped, and owns all else.

// Builds batches as long as they are full, for a minute at most, and then what has been gathered, until nothing is pending. Wakes symbols,
// compaction and retention.
BackgroundTask::Pass rows_pass(store::Ingest& ingest, BackgroundWork& work);

// Symbolizes new addresses; and every `retry` old ones for which better symbols have appeared. A large binary takes minutes; its rows are
// visible meanwhile, without names. `searches` stops what the symbolizer searches: once the task is to stop, the running search and the
// process that reads symbols for it are ended, new addresses still get the names that are known, and the others are symbolized
// after the next start. Where `has_new_files` is set, binaries have arrived since: it is cleared, and all blocks are searched, a few with each
// pass, new addresses between them. Null: none arrive.
BackgroundTask::Pass symbols_pass(std::unique_ptr<store::Symbols> symbols, symbolizer::Symbolizer symbolizer,
                                  std::stop_source searches, std::chrono::nanoseconds retry,
                                  std::shared_ptr<std::atomic<bool>> has_new_files = nullptr);

// Removes binaries that are over a limit and that no row of the last days uses, every hour, and when woken.
BackgroundTask::Pass binaries_pass(symbolizer::BinaryRepository& repository, query::SnapshotCache& snapshots);

// Fetches for one build, until nothing is left to ask for. Lists the builds that lack symbols, in rows of the last days, every `interval`, within 2 %
// of a thread's time, and publishes them in `wanted`; with `lists_code` also those whose code would help. `added`: called once a file has come.
BackgroundTask::Pass fetch_pass(std::unique_ptr<symbolizer::DebuginfodFetcher> fetcher,
                                query::SnapshotCache& snapshots, WantedBuildSet& wanted,
                                std::chrono::nanoseconds interval, std::function<void()> added,
                                bool lists_code = false);

// One merge, until nothing is worth merging; removes replaced files when they are due. Rows are built, and questions answered, meanwhile.
// Gives up a merge when it is to stop, which takes as long as one segment needs to be encoded: seconds, where it is a full one.
Result<BackgroundTask::Pass> compaction_pass(store::Ingest& ingest, const store::CompactionLimits& limits);

// Drops what is over a limit, when rows have come and every few seconds. `dropped`: called once blocks have gone, whose files are to be closed.
BackgroundTask::Pass retention_pass(store::Ingest& ingest, const store::RetentionLimits& limits,
                                    std::function<void()> dropped);

// Of rows that are not in the data directory: drops epochs that are over a limit. `dropped` is called after some were. A request under way ends
// with the server: the next start drops the rest.
BackgroundTask::Pass epochs_pass(store::RowStore& rows, const store::RowStoreLimits& limits,
                                 std::function<void()> dropped);

// Makes segments of spans, drops those over a limit, and merges small ones, every few seconds. Of a disk that is too full by `free_bytes` a
// pass drops one block at most, as retention does of profiles, and merges none.
BackgroundTask::Pass spans_pass(store::SpanSink& spans, const store::RetentionLimits& limits,
                                std::function<Result<int64_t>()> free_bytes);

// Drops recordings of bursts over a limit, every few seconds; of a disk that is too full one at most.
BackgroundTask::Pass bursts_pass(store::BurstSink& bursts, const store::RetentionLimits& limits,
                                 std::function<Result<int64_t>()> free_bytes);

// Copies what is new to the object store, every `interval`.
BackgroundTask::Pass objects_pass(std::unique_ptr<store::WriteBehind> behind,
                                  std::chrono::nanoseconds interval);

// Rolls up one block, as often as there is one over a limit; then packs the entries of one, then merges some, as often as any are due. Removes
// replaced files when they are due. `replaced`: called once the files of blocks are to be closed.
BackgroundTask::Pass roll_up_pass(store::Ingest& ingest, const store::RetentionLimits& limits,
                                  std::function<void()> replaced);

// Draws when it is time; reads the machines while others write them.
Result<BackgroundTask::Pass> draws_pass(scheduler::Drawer& drawer, store::Ingest& ingest);

// Checks every second that no other server has taken over the directory; calls `taken_over` once where one has, with an error that names it,
// and checks no more.
Result<BackgroundTask::Pass> writer_pass(const store::Ingest& ingest,
                                         std::function<void(const Error&)> taken_over);

// Reads the inventory once before it returns (InventoryReader::open()).
Result<BackgroundTask::Pass> inventory_pass(const InventorySettings& settings, store::Ingest& ingest);

}  // namespace plimsoll::server
