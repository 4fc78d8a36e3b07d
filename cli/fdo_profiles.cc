#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/fdo.h"
#include "cli/fdo_input.h"
#include "cli/fdo_older.h"
#include "cli/fdo_pull.h"
#include "query/fdo/layout/bolt_profile.h"
#include "query/fdo/making/profile_format.h"
#include "query/fdo/profile/profile_of.h"

namespace plimsoll::cli {
namespace {

fdo::QualityReport quality_of(const FdoInput& input, const FdoData& data, const fdo::ProfileReport* profile,
                              const std::vector<fdo::MergedBuild>& older = {}) {
  return fdo::measure_quality({.counts = data.counts,
                               .execution = data.program.execution,
                               .code = data.program.code,
                               .symbols = data.table(),
                               .profile = profile,
                               .older = older,
                               .binary = input.binary});
}

Status print_report(const fdo::QualityReport& report, const FdoQualityOptions& options,
                    bool has_standard_output) {
  const std::string text = options.is_json ? to_json(report) : to_text(report);
  if (!options.report.empty()) {
    return write_output(options.report, text);
  }
  if (has_standard_output) {
    return write_output("-", text);
  }
  std::fputs(text.c_str(), stderr);
  return {};
}

// A profile without functions is an error to some compilers, and to all of no use.
std::unexpected<Error> empty_profile(const FdoInput& input, const FdoData& data, bool needs_lines) {
  return with_hint(
      fail(ErrorCode::kInvalid, "no sample of {} (build ID {}) belongs to a function {}: nothing was written",
           input.binary, data.binary.build_id,
           needs_lines ? "whose start line is known" : "that symbols name"),
      needs_lines ? "compile with -gmlt -fdebug-info-for-profiling and run that build in the fleet"
                  : "give the file that is not stripped");
}

// Writes `bytes` after the report, where the quality is what is wanted. `profile`: of the formats with lines.
Status write_profile(const FdoProfileOptions& options, const FdoData& data, const std::string& bytes,
                     const fdo::ProfileReport* profile = nullptr,
                     const std::vector<fdo::MergedBuild>& older = {}) {
  const fdo::QualityReport report = quality_of(options.input, data, profile, older);
  const bool to_standard_output = options.output == "-";
  if (auto printed = print_report(report, options.quality, !to_standard_output); !printed) {
    return printed;
  }
  if (auto checked = check_quality(report, options.quality.min_quality); !checked) {
    return checked;
  }
  return bytes.empty() ? Status(empty_profile(options.input, data, profile != nullptr))
                       : write_output(options.output, bytes);
}

}  // namespace

Status run_fdo_autofdo(const FdoAutofdoOptions& options) {
  if (options.format != fdo::ProfileFormat::kText && options.profile.output == "-" &&
      ::isatty(STDOUT_FILENO) == 1) {
    return with_hint(fail(ErrorCode::kInvalid, "a binary profile cannot be printed on a terminal"),
                     "give --output FILE, or --format text");
  }
  if (options.profile.input.binary.empty()) {
    return pull_profile(options);
  }
  const auto data = read_fdo_data(options.profile.input, {});
  if (!data) {
    return propagate(data);
  }
  fdo::ProfileReport report;
  const auto merged =
      merge_older(options, *data, fdo::profile_of(data->program.execution.counts, *data->table(), report));
  if (!merged) {
    return propagate(merged);
  }
  return write_profile(options.profile, *data, fdo::bytes_of(merged->profile, options.format), &report,
                       merged->builds);
}

Status run_fdo_bolt(const FdoProfileOptions& options) {
  const auto data = read_fdo_data(options.input, {.lines = false, .calls = false});
  if (!data) {
    return propagate(data);
  }
  const fdo::BoltProfile profile = fdo::write_bolt(data->counts, data->program.extents);
  return write_profile(options, *data, profile.value > 0 ? profile.text : std::string());
}

Status run_fdo_order(const FdoOrderOptions& options) {
  const auto data = read_fdo_data(options.profile.input, {.lines = false});
  if (!data) {
    return propagate(data);
  }
  std::vector<fdo::CallCount> calls = fdo::calls_of_branches(data->counts, data->program.extents);
  if (calls.empty()) {
    for (const fdo::AddressPair& call : data->counts.calls) {
      calls.push_back({.caller = call.from, .callee = call.to, .count = call.value});
    }
  }
  return write_profile(options.profile, *data,
                       fdo::write_symbol_order(data->counts, data->program.extents, calls, options.linker));
}

Status run_fdo_report(const FdoReportOptions& options) {
  const auto data = read_fdo_data(options.input, {});
  if (!data) {
    return propagate(data);
  }
  fdo::ProfileReport profile;
  static_cast<void>(fdo::profile_of(data->program.execution.counts, *data->table(), profile));
  const fdo::QualityReport report = quality_of(options.input, *data, &profile);
  if (auto printed = print_report(report, {.report = {}, .is_json = options.is_json}, true); !printed) {
    return printed;
  }
  return check_quality(report, options.min_quality);
}

}  // namespace plimsoll::cli
