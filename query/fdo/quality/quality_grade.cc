#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "query/fdo/profile/samples_behind.h"
#include "query/fdo/quality/quality.h"

namespace plimsoll::fdo {
namespace {

// Set by hand, after trials with clang 19 on a JSON parser: 300 samples gave some of what instrumentation gains, 1,400 most.
constexpr double kPoorSamples = 100;
constexpr double kFairSamples = 300;
constexpr double kGoodSamples = 2000;
constexpr double kPoorMatched = 0.2;
constexpr double kFairMatched = 0.5;
constexpr double kGoodMatched = 0.8;
constexpr double kThinShare = 0.5;
constexpr double kUnknownShare = 0.5;
constexpr double kBogusShare = 0.2;

class Grading {
 public:
  explicit Grading(QualityReport& report) : report_(report) {}

  void run() {
    report_.usefulness = Usefulness::kGood;
    report_.reasons.clear();
    by_samples();
    by_functions();
    by_lines();
    by_branches();
    by_unknown_jumps();
    by_hot_functions();
    by_halves();
  }

 private:
  void at_most(Usefulness limit, std::string reason) {
    report_.usefulness = std::min(report_.usefulness, limit);
    report_.reasons.push_back(std::move(reason));
  }

  void by_samples() {
    double samples = samples_behind(report_.is_of_branches, report_.samples, report_.branch_records);
    for (const MergedBuild& build : report_.older) {
      samples += build.weighted_samples();
    }
    const Usefulness limit = samples < kPoorSamples   ? Usefulness::kNone
                             : samples < kFairSamples ? Usefulness::kPoor
                             : samples < kGoodSamples ? Usefulness::kFair
                                                      : Usefulness::kGood;
    if (limit < Usefulness::kGood) {
      at_most(limit, fmt::format("{:.0f} {}: {:.0f} make a good profile; take a longer time (--since), or "
                                 "sample at a higher rate",
                                 samples, report_.is_of_branches ? "recordings of branches" : "samples",
                                 kGoodSamples));
    }
  }

  // The same shares as of lines: what is in no function is in no line.
  static Usefulness limit_of(double share) {
    return share < kPoorMatched   ? Usefulness::kNone
           : share < kFairMatched ? Usefulness::kPoor
           : share < kGoodMatched ? Usefulness::kFair
                                  : Usefulness::kGood;
  }

  void by_functions() {
    if (const Usefulness limit = limit_of(report_.in_functions); limit < Usefulness::kGood) {
      at_most(limit,
              fmt::format("{:.1f} % of the samples are in functions that symbols name and whose code was "
                          "read: give the file that is not stripped, or its debug file (--debug)",
                          100 * report_.in_functions));
    }
  }

  void by_unknown_jumps() {
    if (report_.in_unknown_jumps > kUnknownShare && !report_.is_of_branches) {
      at_most(Usefulness::kFair,
              fmt::format(
                  "{:.0f} % of the samples are in functions with indirect jumps whose targets are unknown: "
                  "counts of what they jump to are less sure",
                  100 * report_.in_unknown_jumps));
    }
  }

  void by_lines() {
    const MatchedShares lines = report_.lines.value_or(MatchedShares{.matched = 1});
    if (lines.matched >= kGoodMatched) {
      return;
    }
    const Usefulness limit = limit_of(lines.matched);
    const char* cause = "assembly and code of libraries without debug information stay as they are";
    if (lines.no_start_line >= std::max(lines.no_function, lines.no_line)) {
      cause = "compile all of the program with -gmlt -fdebug-info-for-profiling";
    } else if (lines.no_line >= lines.no_function) {
      cause = "compile with -gmlt -fdebug-info-for-profiling";
    }
    at_most(limit, fmt::format("{:.1f} % of the samples belong to lines: {}", 100 * lines.matched, cause));
  }

  void by_branches() {
    if (report_.switch_heavy && !report_.is_of_branches) {
      at_most(
          Usefulness::kNone,
          fmt::format(
              "{} has {:.0f} % of the samples and jumps to {} places by one jump (an interpreter): samples "
              "without branch records mislead compilers there; use instrumented profiles for it",
              report_.switch_heavy->function, 100 * report_.switch_heavy->share,
              report_.switch_heavy->targets));
    }
    if (report_.bogus_share > kBogusShare) {
      at_most(Usefulness::kFair, fmt::format("{:.0f} % of the branch records cannot be: the machines' branch "
                                             "recording is unreliable",
                                             100 * report_.bogus_share));
    }
  }

  void by_hot_functions() {
    double hot = 0;
    double thin = 0;
    for (const HotFunction& function : report_.hot) {
      hot += function.share;
    }
    for (const HotFunction& function : report_.thin) {
      thin += function.share;
    }
    if (hot > 0 && thin > kThinShare * hot) {
      at_most(Usefulness::kFair, fmt::format("{} of {} hot functions have fewer than {:.0f} samples: too few "
                                             "to see which of their blocks are hot",
                                             report_.thin.size(), report_.hot.size(), kMinSamples));
    }
  }

  void by_halves() {
    if (report_.halves && report_.halves->differ()) {
      at_most(Usefulness::kFair,
              fmt::format(
                  "two halves of the machines differ by {:.2f} (chance explains {:.2f}): they do different "
                  "work; make a profile for each job (--where)",
                  report_.halves->distance, report_.halves->distance_by_chance));
    }
  }

  QualityReport& report_;
};

}  // namespace

std::string_view name_of(Usefulness usefulness) {
  switch (usefulness) {
    case Usefulness::kNone:
      return "none";
    case Usefulness::kPoor:
      return "poor";
    case Usefulness::kFair:
      return "fair";
    case Usefulness::kGood:
      break;
  }
  return "good";
}

void grade(QualityReport& report) {
  Grading(report).run();
}

Status check_quality(const QualityReport& report, Usefulness wanted) {
  if (report.usefulness >= wanted) {
    return {};
  }
  const bool misleads = report.switch_heavy && !report.is_of_branches;
  return with_hint(fail(misleads ? ErrorCode::kUnsupported : ErrorCode::kNotFound,
                        "the profile of {} (build ID {}) has the quality \"{}\", and \"{}\" is wanted: {}",
                        report.binary, fmt::join(report.build_ids, ", "), name_of(report.usefulness),
                        name_of(wanted), fmt::join(report.reasons, "; ")),
                   fmt::format("--min-quality {} accepts it", name_of(report.usefulness)));
}

}  // namespace plimsoll::fdo
