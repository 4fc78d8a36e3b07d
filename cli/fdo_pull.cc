#include "cli/fdo_pull.h"

#include <string>

#include "query/selection/parameters.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kPath = "/api/v1/fdo/autofdo";

const char* word_of(fdo::ProfileFormat format) {
  switch (format) {
    case fdo::ProfileFormat::kText:
      return "text";
    case fdo::ProfileFormat::kGcov:
      return "gcov";
    case fdo::ProfileFormat::kBinary:
      break;
  }
  return "binary";
}

}  // namespace

Status pull_profile(const FdoAutofdoOptions& options) {
  const FdoInput& input = options.profile.input;
  const FdoQualityOptions& quality = options.profile.quality;
  if (input.source.server.empty() || input.build_id.empty()) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "no binary is given"), "--binary"),
        "give --binary FILE; or --server ADDR and --build-id ID of a binary that the server has");
  }
  if (!input.debug.empty() || !options.older_debug.empty() || !options.older_profiles.empty()) {
    return with_hint(fail(ErrorCode::kInvalid, "the server reads its own files, and none of this machine"),
                     "give --binary FILE, or leave out --debug, --older-debug and --older-profile");
  }
  query::Parameters parameters = input.parameters;
  parameters.emplace_back("build_id", input.build_id);
  parameters.emplace_back("min_quality", std::string(fdo::name_of(quality.min_quality)));
  for (const std::string& build_id : options.older) {
    parameters.emplace_back("older", build_id);
  }
  query::Parameters of_profile = parameters;
  of_profile.emplace_back("format", word_of(options.format));
  const auto profile = ask_server(input.source, kPath, of_profile);
  if (!profile) {
    return propagate(profile);
  }
  if (quality.is_json || !quality.report.empty()) {
    parameters.emplace_back("format", "report");
    const auto report = ask_server(input.source, kPath, parameters);
    if (!report) {
      return propagate(report);
    }
    const std::string file = quality.report.empty() ? "-" : quality.report;
    if (file == "-" && options.profile.output == "-") {
      return with_hint(fail(ErrorCode::kInvalid, "profile and report cannot both go to standard output"),
                       "give --output FILE or --report FILE");
    }
    if (auto written = write_output(file, *report); !written) {
      return written;
    }
  }
  return write_output(options.profile.output, *profile);
}

}  // namespace plimsoll::cli
