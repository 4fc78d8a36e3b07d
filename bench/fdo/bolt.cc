// What a profile for llvm-bolt is worth, against the program as it was linked and against llvm-bolt's own instrumentation.
#include <fmt/format.h>

#include <fstream>

#include "bench/fdo/comparison.h"
#include "bench/fdo/parts.h"
#include "bench/fdo/pipeline.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"

namespace plimsoll::bench {
namespace {

// It finds its runtime library beside the folder of the name that it is called by.
constexpr const char* kBolt = "/usr/lib/llvm-19/bin/llvm-bolt";
constexpr const char* kBoltRuntime = "/usr/lib/llvm-19/lib/libbolt_rt_instr.a";

struct Warnings {
  int lines = 0;
  std::string first;
};

Warnings warnings_in(const std::string& log) {
  Warnings warnings;
  std::ifstream in(log);
  for (std::string line; std::getline(in, line);) {
    if (line.find("WARNING") != std::string::npos && ++warnings.lines == 1) {
      warnings.first = line;
    }
  }
  return warnings;
}

// As docs/fdo.md says.
Status lay_out(const FdoPipeline& pipeline, const std::string& data, const std::string& name) {
  return pipeline.run({kBolt, pipeline / "base", "-o", pipeline / name, "-data", pipeline / data,
                       "-reorder-blocks=ext-tsp", "-reorder-functions=hfsort", "-update-debug-sections"});
}

// "instrumented", by counts of all branches.
Status lay_out_instrumented(const FdoPipeline& pipeline) {
  Status done = pipeline.run({kBolt, pipeline / "base", "-o", pipeline / "generate", "-instrument",
                              "-instrumentation-file=" + pipeline / "counted.fdata"});
  done = done ? pipeline.run({pipeline / "generate", pipeline.program().training}) : done;
  return done ? lay_out(pipeline, "counted.fdata", "instrumented") : done;
}

void add_times(const std::vector<std::vector<double>>& times, Report& report) {
  const Interval less = percent_less(times[0], times[1]);
  const Interval peer_less = percent_less(times[0], times[2]);
  report.add({.name = "json-bolt-cpu-time-less-percent",
              .value = less.center,
              .unit = "%",
              .better = Better::kHigher,
              .peer = "llvm-bolt -instrument",
              .peer_value = peer_less.center,
              .goal = -kMaxSlowerPercent,
              .note = fmt::format("{}; instrumented {}", interval_text(less), interval_text(peer_less))});
  const Interval part = percent_of_gain(times[0], times[1], times[2]);
  report.add(
      {.name = "json-bolt-part-of-instrumented-gain-percent",
       .value = part.center,
       .unit = "%",
       .better = Better::kHigher,
       .note = fmt::format("{}; medians: as linked {:.3f} s, ours {:.3f} s, instrumented {:.3f} s",
                           interval_text(part), median(times[0]), median(times[1]), median(times[2]))});
}

}  // namespace

Status measure_bolt(const Flags& flags, Report& report) {
  if (const std::string missing = missing_tool({kBolt, kBoltRuntime}); !missing.empty()) {
    report.skip("bolt", missing + " is missing (scripts/install.sh --tests)");
    return {};
  }
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  FdoProgram program = json_program();
  program.flags = {"-Wl,--emit-relocs"};
  program.profiled_s = flags.quick ? 5 : program.profiled_s;
  const FdoPipeline pipeline(*folder / "", std::move(program));
  Status done = pipeline.build_base();
  done = done ? pipeline.profile_for_bolt("ours", pipeline.program().profiled_s) : done;
  done = done ? lay_out(pipeline, "ours.fdata", "ours") : done;
  if (!done) {
    return done;
  }
  const Warnings warnings = warnings_in(pipeline / "log");
  report.add({.name = "json-bolt-warnings",
              .value = static_cast<double>(warnings.lines),
              .unit = "",
              .goal = 0,
              .note = warnings.first});
  done = lay_out_instrumented(pipeline);
  const auto times = done ? cpu_times({pipeline / "base", pipeline / "ours", pipeline / "instrumented"},
                                      pipeline.program().work, flags.quick ? 3 : 15)
                          : propagate(done);
  if (!times) {
    return propagate(times);
  }
  add_times(*times, report);
  return {};
}

}  // namespace plimsoll::bench
