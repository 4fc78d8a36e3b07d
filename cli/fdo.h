// `plimsoll fdo`: profiles for compilers, linkers and BOLT from what the fleet sampled, and whether they help.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/views/answer_source.h"
#include "query/fdo/layout/symbol_order.h"
#include "query/fdo/making/profile_format.h"
#include "query/fdo/quality/quality.h"
#include "query/selection/parameters.h"

namespace plimsoll::cli {

// Which binary, and which samples of it.
struct FdoInput {
  AnswerSource source;
  query::Parameters parameters;  // event, where, since, until
  std::string binary;            // file
  std::string debug;             // separate debug file; empty: looked for
  std::string build_id;          // that the binary must have; empty: whichever it has
};

struct FdoQualityOptions {
  fdo::Usefulness min_quality = fdo::Usefulness::kPoor;
  std::string
      report;  // file for the report; empty: standard output, or standard error where the profile goes there
  bool is_json = false;
};

struct FdoProfileOptions {
  FdoInput input;
  FdoQualityOptions quality;
  std::string output = "-";
};

struct FdoAutofdoOptions {
  FdoProfileOptions profile;
  fdo::ProfileFormat format = fdo::ProfileFormat::kBinary;
  std::vector<std::string> older;           // binaries of older builds, whose samples are added
  std::vector<std::string> older_debug;     // their separate debug files, in any order
  std::vector<std::string> older_profiles;  // LLVM's text
};

struct FdoOrderOptions {
  FdoProfileOptions profile;
  fdo::Linker linker = fdo::Linker::kLld;
};

struct FdoReportOptions {
  FdoInput input;
  fdo::Usefulness min_quality = fdo::Usefulness::kNone;
  bool is_json = false;
};

struct FdoVerifyOptions {
  std::string base;
  std::string test;
  std::vector<std::string> command;  // {} stands for `base` or `test`; empty: these are commands themselves
  uint32_t runs = 10;                // of each, at most
  double max_seconds = 600;          // no further pair of runs begins after so long
  double limit_s = 3600;             // of one run
  double min_speedup_percent = 0;
  bool is_json = false;
};

// Each writes its whole profile or, on any failure, nothing: no samples, a binary of another build, no lines, a quality below what is
// wanted. The report is printed in either case once there are samples.
Status run_fdo_autofdo(const FdoAutofdoOptions& options);
Status run_fdo_bolt(const FdoProfileOptions& options);
Status run_fdo_order(const FdoOrderOptions& options);
// The report alone, of a profile for a compiler.
Status run_fdo_report(const FdoReportOptions& options);

// Runs both programs alternately, in random order, and compares their CPU time. Fails with kConflict where the test program is not
// faster by more than chance.
Status run_fdo_verify(const FdoVerifyOptions& options);

}  // namespace plimsoll::cli
