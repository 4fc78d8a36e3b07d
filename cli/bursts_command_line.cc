#include "cli/bursts_command_line.h"

#include <CLI/CLI.hpp>

#include "cli/views/flags.h"

namespace plimsoll::cli {
namespace {

void add_plan(CLI::App& bursts, BurstsPlanOptions& options) {
  auto* command = bursts.add_subcommand("plan", "Choose when bursts are, for requests of some duration");
  constexpr double kMaxMs = 1e9;
  command->add_option("--request-ms", options.request_ms, "Duration of a request in ms")
      ->type_name("MS")
      ->check(CLI::Range(1e-3, kMaxMs))
      ->required();
  add_share(*command, "--share", options.max_share, "Maximum share of the time in bursts (default 1%)",
            {1e-6, 0.5});
  command
      ->add_option("--clock-error-ms", options.clock_error_ms,
                   "Clocks of the machines are right within this many ms (default 0)")
      ->type_name("MS")
      ->check(CLI::Range(0.0, kMaxMs));
  command->add_flag("--json", options.is_json, "Print one JSON document");
  command->footer(
      R"(A burst-config M,N means: it is a burst for the last 2^N ms of every 2^(M+N) ms of wall-clock time. All machines and
programs that have the same config record at the same time, without exchanging a message.

The plan has the shortest bursts in which all machines record for ten times the duration of a request, and that last
twenty times the clock error; they come as often as --share permits. A request is whole if all machines recorded it from
begin to end: with bursts of B ms, requests of D ms and clock errors of E ms, these are (B-2E-D)/(B+2E+D) of the requests
that touch a burst on any machine.

Examples:
  # requests of 20 ms, at most 1 % of the time
  plimsoll bursts plan --request-ms 20 --share 1%
  # machines whose clocks may be off by 2 ms either way; for a script
  plimsoll bursts plan --request-ms 20 --share 1% --clock-error-ms 2 --json
)");
}

void add_show(CLI::App& bursts, BurstsShowOptions& options) {
  auto* command = bursts.add_subcommand("show", "Summarize a recording of bursts");
  command->add_option("file", options.file, "Recording of \"plimsolld bursts record\"")
      ->type_name("FILE")
      ->required();
  command->add_flag("--json", options.is_json, "Print one JSON document");
  command->footer(
      R"(late      after the planned begin all CPUs recorded, by the machine's clock
lost      events that the kernel had no room for
marks     whole marks of applications; torn: one of their two calls is missing

Examples:
  plimsoll bursts show machine.bursts
  plimsoll bursts show machine.bursts --json
)");
}

void add_requests(CLI::App& bursts, BurstsRequestsOptions& options) {
  auto* command =
      bursts.add_subcommand("requests", "Show what the threads of each request did, by marks and wake-ups");
  command->add_option("file", options.file, "Recording of \"plimsolld bursts record\"")
      ->type_name("FILE")
      ->required();
  command->add_flag("--whole", options.whole_only, "Only requests that began and ended within a burst");
  command->add_option("--limit", options.limit, "Requests to show, the longest first (default 50)")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000'000));
  command->add_flag("--json", options.is_json, "Print one JSON document");
  command->footer(
      R"(running    ms on a CPU, summed over the threads that worked for the request
runnable   ms that they waited for a CPU
blocked    ms that threads with marks waited for anything else: a lock, the disk, a reply
cut        the burst began or ended within the request: its times are those within the burst

Examples:
  plimsoll bursts requests machine.bursts --whole
  plimsoll bursts requests machine.bursts --limit 10 --json
)");
}

void add_export(CLI::App& bursts, BurstsExportOptions& options) {
  auto* command = bursts.add_subcommand("export", "Write a recording as Chrome JSON, for ui.perfetto.dev");
  command->add_option("file", options.file, "Recording of \"plimsolld bursts record\"")
      ->type_name("FILE")
      ->required();
  command->add_option("--chrome", options.output, "File to write, - for standard output")
      ->type_name("FILE")
      ->required();
  command->footer(
      R"(Firefox Profiler (profiler.firefox.com) and speedscope open the file, too.

Example:
  plimsoll bursts export machine.bursts --chrome burst.json
)");
}

}  // namespace

void add_bursts_commands(CLI::App& app, BurstsOptions& options) {
  auto* bursts = app.add_subcommand("bursts",
                                    "Windows of time in which every layer of every machine records "
                                    "everything: plan, show, requests, export");
  bursts->require_subcommand(1);
  add_plan(*bursts, options.plan);
  add_show(*bursts, options.show);
  add_requests(*bursts, options.requests);
  add_export(*bursts, options.exporting);
  bursts->footer(R"(Example:
  plimsoll bursts plan --request-ms 20 --share 1%
)");
}

Status run_bursts_command(const CLI::App& app, const BurstsOptions& options) {
  const CLI::App& bursts = *app.get_subcommand("bursts");
  if (bursts.got_subcommand("show")) {
    return run_bursts_show(options.show);
  }
  if (bursts.got_subcommand("requests")) {
    return run_bursts_requests(options.requests);
  }
  return bursts.got_subcommand("export") ? run_bursts_export(options.exporting)
                                         : run_bursts_plan(options.plan);
}

}  // namespace plimsoll::cli
