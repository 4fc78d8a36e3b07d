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

struct Goals {
  std::optional<double> percent_less = -kMaxSlowerPercent;
  std::optional<double> percent_of_gain = 80;
};

// Some 300 samples: a third are in the C library, or are of the time that the daemon takes to start.
constexpr double kFewSamplesS = 1;
constexpr double kGoalOfShifted = 80;

// "base", "ours" and "instrumented".
Status prepare(const FdoPipeline& pipeline) {
  Status done = pipeline.build_base();
  done = done ? pipeline.build_instrumented() : done;
  done = done ? pipeline.profile("ours", pipeline.program().profiled_s) : done;
  return done ? pipeline.build_with("ours") : done;
}

std::string note_on(const FdoPipeline& pipeline, const std::string& profile) {
  return fmt::format("{:.0f} samples, quality {}", pipeline.in_report(profile, "samples"),
                     pipeline.text_in_report(profile, "usefulness"));
}

// "a gain is likely", or more.
bool is_called_useful(const FdoPipeline& pipeline) {
  const std::string usefulness = pipeline.text_in_report("ours", "usefulness");
  return usefulness == "\"good\"" || usefulness == "\"fair\"";
}

// Beside -O2 and instrumented PGO; not to be slower is asked of what the report calls useful alone. Gives how many percent less CPU time ours takes than -O2.
Result<double> measure(const std::string& name, const FdoPipeline& pipeline, const Goals& goals,
                       const Flags& flags, Report& report) {
  const auto times = cpu_times({pipeline / "base", pipeline / "ours", pipeline / "instrumented"},
                               pipeline.program().work, flags.quick ? 3 : 15);
  if (!times) {
    return propagate(times);
  }
  const std::vector<double>& base = (*times)[0];
  const std::vector<double>& ours = (*times)[1];
  const std::vector<double>& instrumented = (*times)[2];
  const Interval less = percent_less(base, ours);
  const Interval peer_less = percent_less(base, instrumented);
  const bool has_goal = goals.percent_less > 0 || is_called_useful(pipeline);
  report.add({.name = name + "-cpu-time-less-percent",
              .value = less.center,
              .unit = "%",
              .better = Better::kHigher,
              .peer = "instrumented PGO",
              .peer_value = peer_less.center,
              .goal = has_goal ? goals.percent_less : std::nullopt,
              .note = fmt::format("{}; instrumented {}; {}", interval_text(less), interval_text(peer_less),
                                  note_on(pipeline, "ours"))});
  const Interval part = percent_of_gain(base, ours, instrumented);
  report.add({.name = name + "-part-of-instrumented-gain-percent",
              .value = part.center,
              .unit = "%",
              .better = Better::kHigher,
              .goal = goals.percent_of_gain,
              .note = fmt::format("{}; medians: -O2 {:.3f} s, ours {:.3f} s, instrumented {:.3f} s",
                                  interval_text(part), median(base), median(ours), median(instrumented))});
  return less.center;
}

// A profile of few samples, and the whole one for sources that have changed since.
Status measure_worse_profiles(const std::string& name, const FdoPipeline& pipeline, const Flags& flags,
                              Report& report) {
  Status done = pipeline.profile("few", kFewSamplesS);
  done = done ? pipeline.build_with("few") : done;
  done = done ? pipeline.build_changed_with("ours", "shifted", InsertedLines::kBetweenFunctions) : done;
  done = done ? pipeline.build_changed_with("ours", "edited", InsertedLines::kAnywhere) : done;
  const auto times = done ? cpu_times({pipeline / "base", pipeline / "ours", pipeline / "few",
                                       pipeline / "shifted", pipeline / "edited"},
                                      pipeline.program().work, flags.quick ? 3 : 15)
                          : propagate(done);
  if (!times) {
    return propagate(times);
  }
  const std::vector<double>& base = (*times)[0];
  const std::vector<double>& ours = (*times)[1];
  const Interval less = percent_less(base, (*times)[2]);
  report.add({.name = name + "-few-samples-cpu-time-less-percent",
              .value = less.center,
              .unit = "%",
              .better = Better::kHigher,
              .peer = "all samples",
              .peer_value = percent_less(base, ours).center,
              .note = fmt::format("{}; {}", interval_text(less), note_on(pipeline, "few"))});
  const auto add_changed = [&](std::string_view kind, const std::vector<double>& times_of,
                               std::optional<double> goal) {
    const Interval part = percent_of_gain(base, times_of, ours);
    report.add({.name = fmt::format("{}-{}-sources-part-of-gain-percent", name, kind),
                .value = part.center,
                .unit = "%",
                .better = Better::kHigher,
                .goal = goal,
                .note = fmt::format("{}; CPU time less by {}", interval_text(part),
                                    interval_text(percent_less(base, times_of)))});
  };
  add_changed("shifted", (*times)[3], kGoalOfShifted);
  add_changed("edited", (*times)[4], std::nullopt);
  return {};
}

// The next release, of which there are few samples: with a profile of these alone, and with those of the release before it.
Status measure_merged_builds(const std::string& name, const FdoPipeline& pipeline, const Flags& flags,
                             Report& report) {
  Status done = pipeline.build_next("next", {});
  done = done ? pipeline.profile("newer", kFewSamplesS, "next") : done;
  done = done ? pipeline.profile_merged("merged", {.build = "next", .profile = "newer"},
                                        {.build = "base", .profile = "ours"})
              : done;
  done = done ? pipeline.build_next("next-newer", "newer") : done;
  done = done ? pipeline.build_next("next-merged", "merged") : done;
  const auto times = done ? cpu_times({pipeline / "next", pipeline / "next-newer", pipeline / "next-merged"},
                                      pipeline.program().work, flags.quick ? 3 : 15)
                          : propagate(done);
  if (!times) {
    return propagate(times);
  }
  const std::vector<double>& base = (*times)[0];
  const std::vector<double>& newer = (*times)[1];
  const std::vector<double>& merged = (*times)[2];
  const Interval less = percent_less(base, merged);
  const Interval newer_less = percent_less(base, newer);
  report.add({.name = name + "-two-builds-cpu-time-less-percent",
              .value = less.center,
              .unit = "%",
              .better = Better::kHigher,
              .peer = "newer build alone",
              .peer_value = newer_less.center,
              .note = fmt::format("{}; newer alone {}; {} of the newer, {:.0f} of the older",
                                  interval_text(less), interval_text(newer_less), note_on(pipeline, "newer"),
                                  pipeline.in_report("ours", "samples"))});
  const Interval against_newer = percent_less(newer, merged);
  report.add({.name = name + "-two-builds-against-newer-alone-percent",
              .value = against_newer.center,
              .unit = "%",
              .better = Better::kHigher,
              .goal = 0,
              .note = fmt::format("{}; medians: newer alone {:.3f} s, both {:.3f} s",
                                  interval_text(against_newer), median(newer), median(merged))});
  return {};
}

Status measure_program(const std::string& name, FdoProgram program, const Goals& goals, const Flags& flags,
                       Report& report, bool with_worse_profiles = false) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  program.profiled_s = flags.quick ? 5 : program.profiled_s;
  const FdoPipeline pipeline(*folder / "", std::move(program));
  Status done = prepare(pipeline);
  const auto measured = done ? measure(name, pipeline, goals, flags, report) : propagate(done);
  done = measured ? Status() : propagate(measured);
  done = done && with_worse_profiles ? measure_worse_profiles(name, pipeline, flags, report) : done;
  return done && with_worse_profiles ? measure_merged_builds(name, pipeline, flags, report) : done;
}

}  // namespace

Status measure_json(const Flags& flags, Report& report) {
  return measure_program("json", json_program(), {.percent_less = 20}, flags, report, true);
}

Status measure_gcc(const Flags& flags, Report& report) {
  if (const std::string missing = missing_tool({gcc_path()}); !missing.empty()) {
    report.skip("gcc", missing + " is missing (scripts/install.sh --tests)");
    return {};
  }
  FdoProgram program = json_program();
  program.compiler = FdoCompiler::kGcc;
  return measure_program("json-gcc", std::move(program), {}, flags, report);
}

Status measure_compressor(const Flags& flags, Report& report) {
  return measure_program(
      "compressor",
      {.source = program_source("compressor.cc"), .training = "32", .work = "128", .endless = "100000000"},
      {}, flags, report);
}

Status measure_router(const Flags& flags, Report& report) {
  return measure_program(
      "router",
      {.source = program_source("router.cc"), .training = "40", .work = "300", .endless = "100000000"}, {},
      flags, report);
}

Status measure_coder(const Flags& flags, Report& report) {
  return measure_program("coder",
                         {.source = program_source("coder.cc"),
                          .training = "40",
                          .work = "100",
                          .endless = "100000000",
                          .min_quality = "none"},
                         {.percent_of_gain = {}}, flags, report);
}

// The report must warn, and plimsoll fdo verify must reject what is slower.
Status measure_interpreter(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  const FdoPipeline pipeline(*folder / "", {.source = program_source("interpreter.cc"),
                                            .training = "20",
                                            .work = "100",
                                            .endless = "1000000000",
                                            .profiled_s = flags.quick ? 5.0 : 30.0,
                                            .min_quality = "none"});
  const Status prepared = prepare(pipeline);
  const auto less =
      prepared ? measure("interpreter", pipeline, {.percent_less = {}, .percent_of_gain = {}}, flags, report)
               : propagate(prepared);
  if (!less) {
    return propagate(less);
  }
  const bool warns = pipeline.text_in_report("ours", "usefulness") == "\"none\"";
  report.add({.name = "interpreter-report-warns",
              .value = warns ? 1.0 : 0.0,
              .unit = "yes",
              .better = Better::kHigher,
              .goal = 1});
  // The slower of both, whichever that is. A failed verification is no rejection: its status must be 1, and its words must say so.
  const bool ours_is_slower = *less < 0;
  const std::string verdict = pipeline / "verdict";
  const auto verified = run_to_end(
      {"/bin/sh", "-c", "\"$@\"; test $? -eq 1", "verify", sibling_program("plimsoll"), "fdo", "verify",
       "--base", pipeline / (ours_is_slower ? "base" : "ours"), "--test",
       pipeline / (ours_is_slower ? "ours" : "base"), "--runs", flags.quick ? "3" : "10", "--", "{}", "100"},
      verdict);
  const auto words = read_file(verdict, 1 << 20);
  const bool rejects = verified && words && words->find("rejected") != std::string::npos;
  report.add({.name = "interpreter-verify-rejects-the-slower",
              .value = rejects ? 1.0 : 0.0,
              .unit = "yes",
              .better = Better::kHigher,
              .goal = 1,
              .note = ours_is_slower ? "ours" : "that of -O2"});
  return {};
}

}  // namespace plimsoll::bench
