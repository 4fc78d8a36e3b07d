#include <chrono>

#include "bench/harness/child.h"
#include "bench/harness/program.h"
#include "bench/harness/statistics.h"
#include "bench/symbolizer/parts.h"
#include "symbolizer/process/table_process.h"

namespace plimsoll::bench {
namespace {

using symbolizer::TableProcess;

// How long each of so many searches takes that find nothing: all of it is the process and what it gives up.
Result<std::vector<double>> search_for_nothing(const TableProcess& process, int searches) {
  const symbolizer::TableQuery query{.identity_kind = wire::GNU_BUILD_ID,
                                     .identity = "of no binary",
                                     .paths = {"/nowhere/app"},
                                     .roots = {{"/nowhere"}}};
  std::vector<double> took_ms;
  for (int i = 0; i < searches; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto made = process.make(query, {});
    if (!made) {
      return propagate(made);
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    took_ms.push_back(took.count());
  }
  return took_ms;
}

}  // namespace

Status measure_processes(const Flags& flags, Report& report) {
  const std::vector<std::string> program = {sibling_program("plimsoll"), "symtab", "worker"};
  std::vector<std::string> zygote = program;
  zygote.emplace_back("--zygote");
  const int searches = flags.quick ? 50 : 500;
  const auto ours = search_for_nothing(TableProcess({.argv = zygote, .is_zygote = true}), searches);
  const auto started = ours ? search_for_nothing(TableProcess({.argv = program}), searches) : propagate(ours);
  if (!started) {
    return propagate(started);
  }
  report.add({.name = "table-process-ms",
              .value = median(*ours),
              .unit = "ms",
              .peer = "the program started for each binary",
              .peer_value = median(*started),
              .goal_ratio = 3,
              .note = fmt::format("{} binaries without a file, one after another", searches)});
  return {};
}

}  // namespace plimsoll::bench
