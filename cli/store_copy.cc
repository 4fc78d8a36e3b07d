#include "cli/store_copy.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "base/shell_argument.h"
#include "base/time.h"
#include "store/copy/directory_copy.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kIntoDirectory = "directory";
constexpr int64_t kNsBetweenCopyLines = 100'000'000;

// A line on a terminal, which the destructor clears; nothing in a pipe.
class CopyProgressLine {
 public:
  CopyProgressLine() = default;
  CopyProgressLine(const CopyProgressLine&) = delete;
  CopyProgressLine& operator=(const CopyProgressLine&) = delete;
  ~CopyProgressLine() {
    if (shown_ns_ != 0) {
      fmt::print(stderr, "\r\x1b[K");
    }
  }

  store::ShowCopyProgress show() {
    if (::isatty(STDERR_FILENO) != 1) {
      return {};
    }
    return [this](const store::CopyProgress& progress) {
      const int64_t now_ns = monotonic_now_ns();
      if (now_ns - shown_ns_ < kNsBetweenCopyLines) {
        return;
      }
      shown_ns_ = now_ns;
      fmt::print(stderr, "\r\x1b[K{} part {}: {} of {} parts done", progress.activity, progress.part,
                 progress.parts_done, progress.parts);
      if (progress.rows > 0) {
        fmt::print(stderr, ", {} rows of this one", progress.rows);
      }
      fmt::print(stderr, " ");
      std::fflush(stderr);
    };
  }

 private:
  int64_t shown_ns_ = 0;
};

// The directory keeps it, and a server may be started anywhere.
std::string absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = path.empty() ? "" : std::filesystem::absolute(path, error);
  return error ? path : absolute.string();
}

// The server's configuration may raise it afterwards (store.insert_quorum).
constexpr int64_t kInsertQuorum = 2;

Result<store::RowsAddress> parse_place(const StoreCopyOptions& options) {
  if (options.to != kIntoDirectory) {
    return store::RowsAddress{.address = options.to,
                              .password_file = absolute_path(options.password_file),
                              .ca = absolute_path(options.ca),
                              .insert_quorum = options.is_replicated ? kInsertQuorum : 0,
                              .shards = options.shards};
  }
  if (!options.shards.empty()) {
    return with_field(fail(ErrorCode::kInvalid, "rows in the directory have no shards"), "--shard");
  }
  if (options.is_replicated) {
    return with_field(fail(ErrorCode::kInvalid, "rows in the directory are not replicated"), "--replicated");
  }
  if (!options.password_file.empty() || !options.ca.empty()) {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "rows in the directory need no password and no CA"),
                                options.ca.empty() ? "--password-file" : "--ca"),
                     "give those of ClickHouse alone: the directory knows them where its rows are there");
  }
  return store::RowsAddress();
}

void print_report(const StoreCopyOptions& options, const store::RowsCopyReport& report) {
  const bool is_into_directory = options.to == kIntoDirectory;
  const std::string place = is_into_directory ? "the directory" : options.to;
  if (report.was_there) {
    fmt::print("the rows of {} are in {} already\n", options.data_dir, place);
  } else {
    fmt::print("copied {} of {} parts; both sides have {} profiles and {:.0f} hits\n", report.copied,
               report.parts, report.profiles, report.hits);
    fmt::print("the rows of {} are in {} now\n", options.data_dir, place);
  }
  const std::string old =
      report.old.is_elsewhere() ? report.old.address : fmt::format("{}/blocks", options.data_dir);
  if (report.removed) {
    fmt::print("removed the old rows in {}\n", old);
  } else if (!options.removes && (report.old.is_elsewhere() || !is_into_directory)) {
    fmt::print(
        "the old rows stay in {}; remove them with:\n  plimsoll store copy --data {} --to {}{} --remove\n",
        old, shell_argument(options.data_dir), shell_argument(options.to),
        options.is_replicated ? " --replicated" : "");
  }
}

}  // namespace

Status run_store_copy(const StoreCopyOptions& options) {
  auto place = parse_place(options);
  if (!place) {
    return propagate(place);
  }
  if (!std::filesystem::exists(options.data_dir + "/FORMAT")) {
    return with_field(fail(ErrorCode::kNotFound, "{} is not a Plimsoll data directory", options.data_dir),
                      "--data");
  }
  Result<store::RowsCopyReport> report;
  {
    CopyProgressLine progress;
    report = store::copy_rows(options.data_dir,
                              {.to = std::move(*place), .removes = options.removes, .show = progress.show()});
  }
  if (!report) {
    return propagate(report);
  }
  print_report(options, *report);
  return {};
}

}  // namespace plimsoll::cli
