#include <fmt/core.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hex.h"
#include "cli/commands.h"
#include "config/server_config.h"
#include "server/row_pipeline.h"

namespace plimsoll::cli {
namespace {

Status import_file(store::Ingest& ingest, const std::string& path) {
  const wire::ProfileLimits limits;
  const auto content = read_file(path, limits.max_encoded_bytes);
  if (!content) {
    return propagate(content, "importing");
  }
  if (!wire::looks_like_profile(as_bytes(*content))) {
    return with_hint(fail(ErrorCode::kCorrupt, "importing {}: its format is not known", path),
                     "raw profiles, as \"plimsolld --once\" writes them, can be imported");
  }
  const auto accepted = ingest.accept(as_bytes(*content), limits);
  if (!accepted) {
    return propagate(accepted, "importing {}", path);
  }
  fmt::print("{}: profile {}, {} samples{}\n", path, to_hex(accepted->profile_id), accepted->hits,
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
    imported = import_file(**ingest, file);
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
  const auto report = server::run_pipeline(**ingest, symbolizer);
  if (!report) {
    return propagate(report);
  }
  print_report(*report);
  return imported;
}

}  // namespace plimsoll::cli
