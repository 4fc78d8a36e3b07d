// What compiler profiles from samples are worth, against -O2 and against instrumented PGO with the same compiler.
#include <fmt/format.h>

#include "base/file.h"
#include "bench/fdo/comparison.h"
#include "bench/fdo/parts.h"
#include "bench/fdo/pipeline.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {
namespace {

std::string source_of(const std::string& name) {
  return std::string(PLIMSOLL_FDO_PROGRAMS) + "/" + name;
}

struct Goals {
  std::optional<double> percent_less = {};
  std::optional<double> percent_of_gain = 80;
};

Status prepare(const FdoPipeline& pipeline) {
  for (const auto& step : {&FdoPipeline::build_base, &FdoPipeline::build_instrumented, &FdoPipeline::profile,
                           &FdoPipeline::build_ours}) {
    if (auto done = (pipeline.*step)(); !done) {
      return done;
    }
  }
  return {};
}

std::string interval_text(const Interval& interval) {
  return fmt::format("95 %: {:.1f} to {:.1f}", interval.low, interval.high);
}

Status measure(const std::string& name, const FdoPipeline& pipeline, const Goals& goals, const Flags& flags,
               Report& report) {
  if (auto prepared = prepare(pipeline); !prepared) {
    return prepared;
  }
  const int rounds = flags.quick ? 3 : 15;
  const auto times = cpu_times({pipeline / "base", pipeline / "ours", pipeline / "instrumented"},
                               pipeline.program().work, rounds);
  if (!times) {
    return propagate(times);
  }
  const std::vector<double>& base = (*times)[0];
  const std::vector<double>& ours = (*times)[1];
  const std::vector<double>& instrumented = (*times)[2];
  const Interval less = percent_less(base, ours);
  const Interval peer_less = percent_less(base, instrumented);
  report.add({.name = name + "-samples",
              .value = pipeline.in_report("samples"),
              .unit = "count",
              .better = Better::kHigher,
              .note = "quality " + pipeline.text_in_report("usefulness")});
  report.add({.name = name + "-cpu-time-less-percent",
              .value = less.center,
              .unit = "%",
              .better = Better::kHigher,
              .peer = "instrumented PGO",
              .peer_value = peer_less.center,
              .goal = goals.percent_less,
              .note = interval_text(less) + "; instrumented " + interval_text(peer_less)});
  report.add({.name = name + "-part-of-instrumented-gain-percent",
              .value = percent_of_gain(base, ours, instrumented),
              .unit = "%",
              .better = Better::kHigher,
              .goal = goals.percent_of_gain,
              .note = fmt::format("medians: -O2 {:.3f} s, ours {:.3f} s, instrumented {:.3f} s", median(base),
                                  median(ours), median(instrumented))});
  return {};
}

Status measure_program(const std::string& name, FdoProgram program, const Goals& goals, const Flags& flags,
                       Report& report) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  program.profiled_s = flags.quick ? 5 : program.profiled_s;
  return measure(name, FdoPipeline(*folder / "", std::move(program)), goals, flags, report);
}

}  // namespace

Status measure_json(const Flags& flags, Report& report) {
  return measure_program(
      "json", {.source = source_of("json.cc"), .training = "60", .work = "700", .endless = "100000000"},
      {.percent_less = 20}, flags, report);
}

Status measure_compressor(const Flags& flags, Report& report) {
  return measure_program(
      "compressor",
      {.source = source_of("compressor.cc"), .training = "20", .work = "200", .endless = "100000000"}, {},
      flags, report);
}

// The report must warn, and plimsoll fdo verify must refuse what is not faster.
Status measure_interpreter(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  const FdoPipeline pipeline(*folder / "", {.source = source_of("interpreter.cc"),
                                            .training = "20",
                                            .work = "100",
                                            .endless = "1000000000",
                                            .profiled_s = flags.quick ? 5.0 : 30.0,
                                            .min_quality = "none"});
  if (auto measured = measure("interpreter", pipeline, {.percent_of_gain = {}}, flags, report); !measured) {
    return measured;
  }
  const bool warns = pipeline.text_in_report("usefulness") == "\"none\"";
  report.add({.name = "interpreter-report-warns",
              .value = warns ? 1.0 : 0.0,
              .unit = "yes",
              .better = Better::kHigher,
              .goal = 1});
  // A failed verification is no rejection: its status must be 1, and its words must say so.
  const std::string verdict = pipeline / "verdict";
  const auto verified =
      run_to_end({"/bin/sh", "-c", "\"$@\"; test $? -eq 1", "verify", sibling_program("plimsoll"), "fdo",
                  "verify", "--base", pipeline / "base", "--test", pipeline / "ours", "--runs",
                  flags.quick ? "3" : "10", "--", "{}", "100"},
                 verdict);
  const auto words = read_file(verdict, 1 << 20);
  const bool rejects = verified && words && words->find("rejected") != std::string::npos;
  report.add({.name = "interpreter-verify-rejects",
              .value = rejects ? 1.0 : 0.0,
              .unit = "yes",
              .better = Better::kHigher,
              .goal = 1});
  return {};
}

}  // namespace plimsoll::bench
