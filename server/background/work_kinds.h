// The kinds of work of the server. A new kind is a row here, and a BackgroundWork::start() with its pass in server/server.cc.
#pragma once

#include "server/background/background_task.h"

namespace plimsoll::server {

// Where a configuration says how often: `kind` with another pause after failures.
constexpr WorkKind with_retry(WorkKind kind, std::chrono::nanoseconds retry) {
  kind.retry = retry;
  return kind;
}

// Where a batch costs more than time: `kind` with a longer pause for what comes close together.
constexpr WorkKind with_gather(WorkKind kind, std::chrono::nanoseconds gather) {
  kind.gather = gather;
  return kind;
}

// Accepted profiles become rows, within seconds; profiles that come close together become one segment.
inline constexpr WorkKind kRows{.name = "rows",
                                .what = "building rows",
                                .retry = std::chrono::seconds(2),
                                .gather = std::chrono::seconds(1),
                                .finishes = true,
                                .tolerance = std::chrono::seconds(0),
                                .hint =
                                    "accepted profiles are kept, and missing in answers; free disk space, "
                                    "and check the files of the data directory"};

// New addresses get names. A pass reads all new binaries, of which a large one takes minutes. At the end new addresses get the names
// that are known.
inline constexpr WorkKind kSymbols{
    .name = "symbols",
    .what = "symbolizing addresses",
    .retry = std::chrono::seconds(2),
    .finishes = true,
    .tolerance = std::chrono::seconds(0),
    .max_pass = std::chrono::hours(6),
    .hint = "new addresses have no names; free disk space, and check the files of the data directory"};

// Small segments become large ones. A pass is one merge.
inline constexpr WorkKind kCompaction{.name = "compaction",
                                      .what = "merging segments",
                                      .retry = std::chrono::minutes(1),
                                      .tolerance = std::chrono::minutes(10),
                                      .hint =
                                          "small segments pile up, and answers take longer; free disk space, "
                                          "and check the files of the data directory"};

// What is over a limit of the table [retention] is dropped, within 2 % of a thread's time.
inline constexpr WorkKind kRetention{.name = "retention",
                                     .what = "dropping old data",
                                     .retry = std::chrono::seconds(10),
                                     .gather = std::chrono::seconds(1),
                                     .min_pause_factor = 50,
                                     .tolerance = std::chrono::minutes(10),
                                     .hint =
                                         "the data directory grows over its limits, and uploads wait once "
                                         "the disk is nearly full; check the files of the data directory"};

// Old rows are rolled up, and blocks of them merged, within a fifth of a thread's time. A pass is one block that is made.
inline constexpr WorkKind kRollUp{.name = "rollup",
                                  .what = "rolling up old rows",
                                  .retry = std::chrono::minutes(1),
                                  .min_pause_factor = 5,
                                  .tolerance = std::chrono::minutes(60),
                                  .hint =
                                      "old rows stay full and take more room; free disk space, and check the "
                                      "files of the data directory"};

// Rows that are not in the data directory: old epochs are dropped.
inline constexpr WorkKind kEpochs{
    .name = "epochs",
    .what = "dropping old epochs",
    .retry = std::chrono::minutes(1),
    .tolerance = std::chrono::minutes(60),
    .hint = "rows take more room in the database that store.address names; check that database"};

// What is new in the data directory is copied to the object store. A pass ends after some hundred MiB, and one block.
inline constexpr WorkKind kObjects{
    .name = "objects",
    .what = "copying to the object store",
    .retry = std::chrono::minutes(1),
    .tolerance = std::chrono::minutes(30),
    .hint =
        "what came since would be lost with the disk; check the server that objects.endpoint names, and the "
        "credentials in objects.credentials_file"};

// Spans that came one by one become segments, small segments larger ones, and old ones are dropped.
inline constexpr WorkKind kSpans{
    .name = "spans",
    .what = "storing request traces",
    .retry = std::chrono::seconds(10),
    .tolerance = std::chrono::minutes(10),
    .hint =
        "spans take more room, and old ones stay; free disk space, and check the "
        "files of the data directory"};

// Old recordings of bursts are dropped.
inline constexpr WorkKind kBursts{
    .name = "bursts",
    .what = "dropping old recordings of bursts",
    .retry = std::chrono::seconds(10),
    .tolerance = std::chrono::minutes(10),
    .hint = "recordings of bursts take more room; free disk space, and check bursts/ in the data directory"};

// Each hour of request traces is diagnosed, within a tenth of a thread's time.
inline constexpr WorkKind kTraceDiagnosis{
    .name = "diagnosis",
    .what = "diagnosing request traces",
    .retry = std::chrono::minutes(10),
    .min_pause_factor = 10,
    .tolerance = std::chrono::minutes(60),
    .hint =
        "plimsoll findings lacks the newest hours; free disk space, and check spans/ in the data directory"};

// Binaries that were added and that no recent row uses are dropped.
inline constexpr WorkKind kBinaries{
    .name = "binaries",
    .what = "dropping unused binaries",
    .retry = std::chrono::minutes(1),
    .min_pause_factor = 50,
    .tolerance = std::chrono::hours(3),
    .hint =
        "added binaries stay, and new ones are refused once they are over "
        "binaries.max_bytes; check the folder binaries of the data directory"};

// Builds that lack symbols are listed, for daemons to upload, and fetched. A pass is one build; what a debuginfod fails, or there is
// no room for, is no failure of the pass.
inline constexpr WorkKind kFetch{.name = "fetch",
                                 .what = "fetching debug files",
                                 .retry = std::chrono::minutes(1),
                                 .tolerance = std::chrono::hours(3),
                                 .hint =
                                     "no builds are listed for symbols.debuginfod and "
                                     "binaries.from_machines; check the files of the data directory"};

// Machines are drawn. The drawer itself waits for a heartbeat after a failure.
inline constexpr WorkKind kDraws{
    .name = "draws",
    .what = "drawing machines",
    .retry = std::chrono::seconds(1),
    .tolerance = std::chrono::minutes(10),
    .hint = "no machine is profiled; free disk space, and check draws.db and live.db in the data directory"};

// The operator's inventory is read, and machines that were offline for long are removed.
inline constexpr WorkKind kInventory{.name = "inventory",
                                     .what = "updating the inventory",
                                     .retry = std::chrono::minutes(1),
                                     .tolerance = std::chrono::minutes(30),
                                     .hint =
                                         "the previous inventory stays in force; check inventory.machines "
                                         "and inventory.jobs of the configuration"};

// The data directory is measured for /metrics and `plimsoll status`, within 2 % of a thread's time.
inline constexpr WorkKind kHealth{
    .name = "health",
    .what = "measuring the data directory",
    .retry = std::chrono::seconds(10),
    .min_pause_factor = 50,
    .tolerance = std::chrono::minutes(10),
    .hint = "metrics of the data directory are old or missing; check its files"};

// Whether another server has taken over the data directory: then this one ends.
inline constexpr WorkKind kWriter{.name = "writer",
                                  .what = "checking who writes the data directory",
                                  .retry = std::chrono::seconds(1),
                                  .tolerance = std::chrono::minutes(10),
                                  .hint =
                                      "if another server takes over the data directory, this one does not "
                                      "end; check draws.db in the data directory"};

// Of a query server: machines and draws are copied from the primary server, within a tenth of a thread's time. Without it answers go on, and
// say how old these are.
inline constexpr WorkKind kFollow{.name = "follow",
                                  .what = "copying the primary server's machines and draws",
                                  .retry = std::chrono::seconds(10),
                                  .min_pause_factor = 10,
                                  .tolerance = std::chrono::hours(24 * 365),
                                  .hint =
                                      "answers are about old machines and draws; check primary.server, "
                                      "primary.token_file and the network"};

// Of a query server: ClickHouse is asked whether it answers.
inline constexpr WorkKind kAskRows{.name = "rows",
                                   .what = "asking ClickHouse",
                                   .retry = std::chrono::seconds(2),
                                   .tolerance = std::chrono::seconds(0),
                                   .hint =
                                       "questions fail; check ClickHouse, store.address and "
                                       "store.password_file"};

// Noted requests are written to the audit log.
inline constexpr WorkKind kAudit{.name = "audit",
                                 .what = "writing the audit log",
                                 .retry = std::chrono::minutes(1),
                                 .tolerance = std::chrono::minutes(10),
                                 .hint =
                                     "requests are kept in memory until they can be written; free disk "
                                     "space, and check access.db in the data directory"};

}  // namespace plimsoll::server
