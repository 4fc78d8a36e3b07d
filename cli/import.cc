#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "cli/commands.h"
#include "config/server_config.h"
#include "formats/import_profile.h"
#include "server/row_pipeline.h"

namespace plimsoll::cli {
namespace {

// When the file was last written, in wall-clock time; 0 where that cannot be told.
int64_t modified_ns(const std::string& path) {
  struct stat info{};
  int64_t modified_ns = 0;
  const bool is_told = ::stat(path.c_str(), &info) == 0 &&
                       !__builtin_mul_overflow(info.st_mtim.tv_sec, kNsPerSecond, &modified_ns);
  return is_told ? modified_ns : 0;
}

// The bytes of a raw profile: those of the file, or made from whatever else is in it.
Result<std::string> raw_profile_of(std::string content, const std::string& path,
                                   const ImportOptions& options) {
  if (wire::looks_like_profile(as_bytes(content))) {
    return content;
  }
  const auto raw = formats::import_profile(
      as_bytes(content),
      {.machine = options.machine, .job = options.job, .file_name = path, .modified_ns = modified_ns(path)});
  return raw ? Result<std::string>(wire::encode(*raw)) : propagate(raw);
}

Status import_file(store::Ingest& ingest, const std::string& path, const ImportOptions& options) {
  const wire::ProfileLimits limits;
  auto content = read_file(path, limits.max_encoded_bytes);
  if (!content) {
    return propagate(content, "importing");
  }
  const bool is_raw_profile = wire::looks_like_profile(as_bytes(*content));
  const auto raw = raw_profile_of(std::move(*content), path, options);
  if (!raw) {
    return propagate(raw, "importing {}", path);
  }
  const auto accepted = ingest.accept(as_bytes(*raw), limits);
  // The ID of a converted profile is its content's: what differs is the time of a file that was copied.
  const bool is_same_content = !accepted && !is_raw_profile && accepted.error().code == ErrorCode::kConflict;
  if (is_same_content) {
    fmt::print("{}: imported before\n", path);
    return {};
  }
  if (!accepted) {
    return propagate(accepted, "importing {}", path);
  }
  fmt::print("{}: profile {}, {} {}{}\n", path, to_hex(accepted->profile_id), accepted->hits,
             is_raw_profile ? "samples" : "in all values",
             accepted->acceptance == store::Acceptance::kKnown ? " (imported before)" : "");
  return {};
}

void print_report(const server::PipelineReport& report) {
  fmt::print("{} profiles became {} rows; {} of {} new locations have names\n", report.profiles, report.rows,
             report.names.named, report.names.locations);
  for (const std::string& improved : report.names.improved) {
    fmt::print("better symbols: {}\n", improved);
  }
  for (const std::string& missing : report.names.missing) {
    fmt::print("no symbols: {}\n", missing);
  }
}

}  // namespace

Status run_import(const ImportOptions& options) {
  auto ingest = store::Ingest::open(options.data_dir);
  if (!ingest) {
    return propagate(ingest, "opening the data directory {}", options.data_dir);
  }
  Status imported;
  for (const std::string& file : options.files) {
    imported = import_file(**ingest, file, options);
    if (!imported) {
      break;
    }
  }
  const config::ServerConfig defaults;
  const auto given_or = [](const auto& given, const auto& otherwise) {
    return given.empty() ? otherwise : given;
  };
  symbolizer::Symbolizer symbolizer({given_or(options.symbol_roots, defaults.symbol_roots),
                                     given_or(options.debug_roots, defaults.symbol_debug_roots)});
  // What was accepted before a failure is accepted: it becomes rows now rather than at some later start.
  const auto report = server::run_pipeline(**ingest, symbolizer, true);
  if (!report) {
    return propagate(report);
  }
  print_report(*report);
  return imported;
}

}  // namespace plimsoll::cli
