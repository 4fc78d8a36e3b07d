#include "cli/regressions.h"

#include "cli/regressions_report.h"
#include "cli/trace_files.h"
#include "cli/views/answer_source.h"

namespace plimsoll::cli {

Status run_regressions(const RegressionsOptions& options) {
  const auto range = parse_time_range(options.since, options.until, "");
  if (!range) {
    return propagate(range);
  }
  const auto files = read_trace_files(options.traces, {.keeps_attributes = true});
  if (!files) {
    return propagate(files);
  }
  const auto report = diagnosis::find_regressions(*files->spans, files->assembly,
                                                  {.hardware = options.hardware,
                                                   .workload = options.workload,
                                                   .version = options.version,
                                                   .attributes = options.attributes,
                                                   .base = options.base,
                                                   .current = options.current,
                                                   .since_ns = range->from_ns,
                                                   .until_ns = range->to_ns});
  if (!report) {
    return propagate(report);
  }
  const traces::Names& names = files->spans->names();
  return write_output("-", options.is_json ? regressions_json(*report, names, files->notes)
                                           : regressions_markdown(*report, names, files->notes));
}

}  // namespace plimsoll::cli
