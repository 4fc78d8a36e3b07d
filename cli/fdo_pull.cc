#include "cli/fdo_pull.h"

#include <chrono>
#include <string>
#include <thread>

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

std::string report_file(const FdoQualityOptions& quality) {
  return quality.report.empty() ? "-" : quality.report;
}

// Before anything is asked for.
Status check_report(const FdoQualityOptions& quality, const std::string& output) {
  if (!quality.report.empty() && !quality.is_json) {
    return with_hint(
        with_field(fail(ErrorCode::kInvalid, "a server gives its report as JSON alone"), "--report"),
        "give --json, too");
  }
  if (quality.is_json && report_file(quality) == "-" && output == "-") {
    return with_hint(fail(ErrorCode::kInvalid, "profile and report cannot both go to standard output"),
                     "give --output FILE or --report FILE");
  }
  return {};
}

// One is made at a time, and another pipeline may have come between.
Result<std::string> ask_report(const AnswerSource& source, const query::Parameters& parameters,
                               std::chrono::milliseconds pause) {
  for (int tries = 1;; ++tries) {
    auto report = ask_server(source, kPath, parameters);
    if (report || report.error().code != ErrorCode::kUnavailable || tries == kReportTries) {
      return report;
    }
    std::this_thread::sleep_for(tries * pause);
  }
}

}  // namespace

Status pull_profile(const FdoAutofdoOptions& options, std::chrono::milliseconds report_pause) {
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
  if (auto checked = check_report(quality, options.profile.output); !checked) {
    return checked;
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
  // No server of ours sends that, but what stands before it may: compilers take it for a broken file.
  if (profile->empty()) {
    return with_hint(fail(ErrorCode::kCorrupt, "asking {}: the profile is empty", input.source.server),
                     "check that the address is that of a Plimsoll server, and no proxy's");
  }
  if (auto written = write_output(options.profile.output, *profile); !written || !quality.is_json) {
    return written;
  }
  parameters.emplace_back("format", "report");
  const auto report = ask_report(input.source, parameters, report_pause);
  return report ? write_output(report_file(quality), *report)
                : propagate(report, "the profile is written; asking for the report on it");
}

}  // namespace plimsoll::cli
