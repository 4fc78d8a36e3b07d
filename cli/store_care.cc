#include "cli/store_care.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include "base/printable.h"
#include "base/shell_argument.h"
#include "base/time.h"
#include "cli/views/terminal.h"
#include "objects/object_store.h"
#include "query/table/table.h"
#include "store/care/backup.h"
#include "store/care/block_repair.h"
#include "store/care/check.h"
#include "store/care/object_restore.h"
#include "store/directory/data_directory.h"

namespace plimsoll::cli {
namespace {

constexpr int64_t kNsBetweenLines = 100'000'000;

// A line on a terminal, which the destructor clears; nothing in a pipe.
class ProgressLine {
 public:
  ProgressLine() = default;
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    if (shown_ns_ != 0) {
      fmt::print(stderr, "\r\x1b[K");
    }
  }

  store::ShowProgress show() {
    if (!is_terminal_) {
      return {};
    }
    return [this](const store::CareProgress& progress) {
      const int64_t now_ns = monotonic_now_ns();
      if (now_ns - shown_ns_ < kNsBetweenLines) {
        return;
      }
      shown_ns_ = now_ns;
      const uint64_t all = std::max<uint64_t>(progress.bytes_of_all, 1);
      fmt::print(stderr, "\r\x1b[K{} {}: {} MiB, {} % ", progress.activity, printable(progress.file),
                 progress.bytes_done >> 20U, std::min<uint64_t>(progress.bytes_done * 100 / all, 99));
      std::fflush(stderr);
    };
  }

 private:
  const bool is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  int64_t shown_ns_ = 0;
};

std::string extent_text(const store::CheckReport& report) {
  const std::string spans = report.span_blocks == 0
                                ? std::string()
                                : fmt::format(", {} spans in {} files of {} blocks", report.spans,
                                              report.span_segments, report.span_blocks);
  const std::string bursts = report.burst_recordings == 0
                                 ? std::string()
                                 : fmt::format(", {} recordings of bursts", report.burst_recordings);
  return fmt::format(
      "{} databases, {} blocks, {} segments of {} rows, {} raw profiles{}{} and {} symbol tables, {}",
      report.databases, report.blocks, report.segments, report.rows, report.raw_profiles, spans, bursts,
      report.symbol_tables, query::readable(static_cast<double>(report.bytes), "bytes"));
}

query::Table table_of(const store::CheckReport& report) {
  query::Table table;
  table.columns = {{"severity", ""}, {"file", ""}, {"finding", ""}, {"remedy", ""}};
  for (const store::Finding& finding : report.findings) {
    table.rows.push_back({std::string(finding.is_damage ? "damage" : "note"), printable(finding.file),
                          printable(finding.what), printable(finding.remedy)});
  }
  table.notes.push_back("checked " + extent_text(report));
  if (report.more_findings != 0) {
    table.notes.push_back(fmt::format("{} more findings are not listed", report.more_findings));
  }
  if (report.databases_without_checksums != 0) {
    table.notes.push_back(fmt::format(
        "{} databases were made by an older version and have no page checksums: in those a flipped bit "
        "may go unnoticed",
        report.databases_without_checksums));
  }
  return table;
}

void print_text(const store::CheckReport& report) {
  for (const store::Finding& finding : report.findings) {
    fmt::print("{}: {}: {}\n  what to do: {}\n", finding.is_damage ? "damage" : "note",
               printable(finding.file), printable(finding.what), printable(finding.remedy));
  }
  const query::Table table = table_of(report);
  for (const std::string& note : table.notes) {
    fmt::print("{}\n", note);
  }
  if (!report.is_damaged) {
    fmt::print("no damage\n");
  }
}

// A copy has what was damaged in spans as it was.
void warn_of_damage(const store::CheckReport& report) {
  for (const store::Finding& finding : report.findings) {
    if (finding.is_damage) {
      fmt::print(stderr, "damage: {}: {}\n", printable(finding.file), printable(finding.what));
    }
  }
}

}  // namespace

Status run_store_check(const StoreCheckOptions& options) {
  const auto report = [&] {
    ProgressLine line;
    return store::check_store(options.data_dir, line.show());
  }();
  if (!report) {
    return propagate(report);
  }
  if (options.is_json) {
    fmt::print("{}", query::to_json(table_of(*report)));
  } else {
    print_text(*report);
  }
  const auto damages =
      static_cast<uint64_t>(std::ranges::count_if(report->findings, &store::Finding::is_damage));
  return report->is_damaged ? with_hint(fail(ErrorCode::kCorrupt, "{} is damaged: {} findings",
                                             options.data_dir, damages + report->more_findings),
                                        "see what to do about each above")
                            : Status();
}

Status run_store_backup(const StoreBackupOptions& options) {
  const auto report = [&] {
    ProgressLine line;
    return store::back_up(options.data_dir, options.output, line.show());
  }();
  if (!report) {
    return propagate(report);
  }
  warn_of_damage(*report);
  fmt::print("backed up to {}, and checked: {}\n", options.output, extent_text(*report));
  return {};
}

namespace {

bool is_object_store(std::string_view from) {
  return from.starts_with("s3://") || from.starts_with("file://");
}

Status restore_from_objects(const StoreRestoreOptions& options) {
  auto store = objects::open_object_store({.address = options.backup,
                                           .endpoint = options.endpoint,
                                           .region = options.region,
                                           .credentials_file = options.credentials_file,
                                           .ca = options.ca});
  if (!store) {
    return propagate(store);
  }
  const auto report = [&] {
    ProgressLine line;
    return store::restore_from_objects(**store, options.backup, options.data_dir, line.show());
  }();
  if (!report) {
    return propagate(report);
  }
  warn_of_damage(report->check);
  fmt::print("restored to {}, and checked: {}\n", options.data_dir, extent_text(report->check));
  if (report->profiles_to_rebuild > 0) {
    fmt::print("{} raw profiles have no rows yet: the server builds them\n", report->profiles_to_rebuild);
  }
  fmt::print("copied there at {}", format_time(report->written_ns));
  if (report->newest_received_ns > 0) {
    fmt::print("; the newest profile was received at {}", format_time(report->newest_received_ns));
  }
  fmt::print(
      ". What came later is lost, unless daemons still have it; request traces, recordings of bursts and "
      "binaries are never copied\n");
  if (!report->rows.empty()) {
    fmt::print(
        "its rows are in {}, also those of lost raw profiles: the server takes the IDs of these profiles "
        "from "
        "there when it starts, so that none counts twice where daemons send it again\n",
        report->rows);
  }
  fmt::print("start its server: plimsoll server --data {}\n", shell_argument(options.data_dir));
  return {};
}

}  // namespace

Status run_store_restore(const StoreRestoreOptions& options) {
  if (is_object_store(options.backup)) {
    return restore_from_objects(options);
  }
  const auto report = [&] {
    ProgressLine line;
    return store::restore(options.backup, options.data_dir, line.show());
  }();
  if (!report) {
    return propagate(report);
  }
  warn_of_damage(*report);
  fmt::print("restored to {}, and checked: {}\nstart its server: plimsoll server --data {}\n",
             options.data_dir, extent_text(*report), shell_argument(options.data_dir));
  return {};
}

namespace {

// Of "blocks/7", "blocks/000007", "blocks/000007.1", "/var/lib/plimsoll/blocks/000007/segments/000000000012.rows", and of a merged one as
// "blocks/000001-000007.2" the last number; nothing: it is in no block.
std::optional<int64_t> block_of(std::string_view path) {
  constexpr std::string_view kBlocks = "blocks/";
  const size_t at = path.rfind(kBlocks);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view digits = path.substr(at + kBlocks.size());
  digits = digits.substr(0, digits.find_first_of("/."));
  if (const size_t dash = digits.find('-'); dash != std::string_view::npos) {
    digits.remove_prefix(dash + 1);
  }
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && number > 0 ? std::optional(number) : std::nullopt;
}

Status rebuild(const StoreRepairOptions& options) {
  const auto block = block_of(options.rebuilt);
  if (!block) {
    return with_field(fail(ErrorCode::kInvalid, "{} is no block, nor a file of one", options.rebuilt),
                      "--rebuild");
  }
  const auto report = store::rebuild_block(options.data_dir, *block);
  if (!report) {
    return propagate(report);
  }
  fmt::print("rebuilt block {:06}: {} profiles, {} rows\n", *block, report->profiles, report->rows);
  if (report->set_aside > 0) {
    fmt::print("no rows can be built from {} profiles: see plimsoll status\n", report->set_aside);
  }
  if (report->lost > 0) {
    fmt::print("{} profiles are lost: their raw profiles are gone; the damaged block is kept in {}\n",
               report->lost, report->kept_at);
  }
  return {};
}

Status forget_block(const StoreRepairOptions& options, int64_t block) {
  const auto profiles = store::forget_block(options.data_dir, block);
  if (!profiles) {
    return propagate(profiles);
  }
  fmt::print("gave up block {:06}: {} profiles have no rows any more\n", block, *profiles);
  return {};
}

}  // namespace

Status run_store_repair(const StoreRepairOptions& options) {
  if (!options.rebuilt.empty()) {
    return rebuild(options);
  }
  if (const auto block = block_of(options.forgotten)) {
    return forget_block(options, *block);
  }
  const Status done = store::DataDirectory::forget(options.data_dir, options.forgotten);
  if (done) {
    fmt::print("made {}/{} again, with nothing in it\n", options.data_dir, options.forgotten);
  }
  return done;
}

}  // namespace plimsoll::cli
