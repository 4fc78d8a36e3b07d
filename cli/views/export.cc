#include "query/export/export.h"

#include "base/time.h"
#include "cli/views/commands.h"

namespace plimsoll::cli {
namespace {

Result<std::string> export_of_directory(const ExportOptions& options) {
  const auto request = query::parse_export(options.parameters, wall_now_ns());
  if (!request) {
    return propagate(request);
  }
  const auto snapshot = query::Snapshot::load(options.source.data_dir);
  if (!snapshot) {
    return propagate(snapshot);
  }
  return options.format == ExportFormat::kPprof ? query::export_pprof(*request, **snapshot)
                                                : query::export_gperftools(*request, **snapshot);
}

}  // namespace

Status run_export(const ExportOptions& options) {
  const std::string_view path =
      options.format == ExportFormat::kPprof ? "/api/v1/export/pprof" : "/api/v1/export/gperftools";
  const auto content = options.source.server.empty() ? export_of_directory(options)
                                                     : ask_server(options.source, path, options.parameters);
  if (!content) {
    return propagate(content);
  }
  return write_output(options.output, *content);
}

}  // namespace plimsoll::cli
