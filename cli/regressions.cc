#include "cli/regressions.h"

#include <utility>
#include <variant>

#include "base/time.h"
#include "cli/trace_files.h"
#include "cli/views/commands.h"
#include "query/registry/view.h"
#include "query/traces/regressions_answer.h"

namespace plimsoll::cli {
namespace {

query::Parameters regression_parameters(const RegressionsOptions& options) {
  query::Parameters parameters;
  for (const auto& [name, text] : {std::pair("since", &options.since),
                                   {"until", &options.until},
                                   {"by_hardware", &options.hardware},
                                   {"by_workload", &options.workload},
                                   {"version", &options.version},
                                   {"new", &options.current},
                                   {"base", &options.base}}) {
    if (!text->empty()) {
      parameters.emplace_back(name, *text);
    }
  }
  for (const std::string& attribute : options.attributes) {
    parameters.emplace_back("attribute", attribute);
  }
  parameters.emplace_back("json", options.is_json ? "yes" : "no");
  return parameters;
}

Result<std::string> regressions_in_files(const RegressionsOptions& options) {
  // First what costs nothing: files may take minutes.
  const auto request = query::parse_regressions(regression_parameters(options), wall_now_ns());
  const auto files =
      request ? read_trace_files(options.traces, {.keeps_attributes = true}) : propagate(request);
  return files ? query::regressions_document(*request, *files) : propagate(files);
}

Result<std::string> stored_regressions(const RegressionsOptions& options) {
  const query::View* const view = query::find_view("regressions");
  auto answer = ask_view(*view, options.source, regression_parameters(options));
  return answer ? Result<std::string>(std::get<query::FileAnswer>(*std::move(answer)).bytes)
                : propagate(answer);
}

}  // namespace

Status run_regressions(const RegressionsOptions& options) {
  const Status given = expect_traces_or_source(options.traces, options.source, "FILE");
  if (!given) {
    return given;
  }
  if (const auto range = parse_time_range(options.since, options.until, ""); !range) {
    return propagate(range);
  }
  const auto document = options.traces.empty() ? stored_regressions(options) : regressions_in_files(options);
  return document ? write_output("-", *document) : propagate(document);
}

}  // namespace plimsoll::cli
