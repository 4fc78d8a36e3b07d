#include "cli/bursts_command_line.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/views/flags.h"
#include "query/registry/view.h"

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

// Of the view `bursts`, without the limit of a list.
std::vector<query::ParameterSpec> selecting_parameters() {
  std::vector<query::ParameterSpec> specs = query::find_view("bursts")->parameters;
  std::erase_if(specs, [](const query::ParameterSpec& spec) { return spec.name == "limit"; });
  return specs;
}

void add_recordings(CLI::App& command, BurstsInput& input) {
  command
      .add_option("files", input.files,
                  "Recordings of \"plimsolld bursts record\", one per machine; without them those that "
                  "--server or --data keeps")
      ->type_name("FILE");
  add_source(command, input.stored.source, [&input] { return input.files.empty(); });
  add_parameters(command, selecting_parameters(), input.stored.parameters);
}

void add_spans(CLI::App& command, std::vector<std::string>& spans, const char* what) {
  command.add_option("--traces", spans, what)->allow_extra_args(false)->type_name("PATH");
}

void add_binaries(CLI::App& command, BurstsInput& input) {
  command
      .add_option(
          "--binary", input.binaries,
          "Name functions of this binary by its symbols; --data and --server do by the tables kept there")
      ->allow_extra_args(false)
      ->type_name("FILE");
}

void add_list(CLI::App& bursts, TableOptions& options) {
  auto* command = bursts.add_subcommand("list", "List recordings of bursts that a server keeps");
  add_source(*command, options.source);
  add_parameters(*command, query::find_view("bursts")->parameters, options.parameters);
  add_forms(*command, options.form);
  command->footer(
      R"(A row per recording, which has one or several bursts of a machine; the newest first.

Examples:
  plimsoll bursts list --server ADDR --since 1h
  plimsoll bursts list --data DIR --machine web-17 --json
)");
}

void add_upload(CLI::App& bursts, BurstsUploadOptions& options) {
  auto* command = bursts.add_subcommand("upload", "Add recordings of bursts to a server's store");
  command->add_option("files", options.files, "Recordings of \"plimsolld bursts record\"")
      ->type_name("FILE")
      ->required();
  add_source(*command, options.target);
  command->footer(
      R"(A server with authentication requires a token of role upload. A recording that is there already changes nothing.

Examples:
  plimsoll bursts upload machine.bursts --server ADDR
  plimsoll bursts upload machine.bursts --data DIR
)");
}

void add_show(CLI::App& bursts, BurstsShowOptions& options) {
  auto* command = bursts.add_subcommand("show", "Summarize recordings of bursts");
  add_recordings(*command, options.input);
  command->add_flag("--json", options.is_json, "Print one JSON document");
  command->footer(
      R"(late      after the planned begin all CPUs recorded, by the machine's clock
lost      events that the kernel had no room for
marks     whole marks of applications; torn: one of their two calls is missing

Examples:
  plimsoll bursts show machine.bursts
  plimsoll bursts show machine.bursts --json
  plimsoll bursts show --server ADDR --since 1h --machine web-17
)");
}

void add_requests(CLI::App& bursts, BurstsRequestsOptions& options) {
  auto* command =
      bursts.add_subcommand("requests", "Show what the threads of each request did, by marks and wake-ups");
  add_recordings(*command, options.input);
  add_spans(*command, options.spans,
            "Request traces, of whose calls clocks of several machines are repaired");
  command->add_flag("--whole", options.whole_only, "Only requests that began and ended within a burst");
  command->add_option("--request", options.request, "Only this request, by its ID in hexadecimal")
      ->type_name("ID");
  auto* stacks = command->add_flag("--stacks", options.with_stacks,
                                   "Also the functions in which threads of the requests ran, by samples");
  auto* layers = command->add_flag(
      "--layers", options.with_layers,
      "Time, number and bytes by layer: RPCs, CPU, waits, system calls, disk, network; of all machines");
  stacks->excludes(layers);
  command
      ->add_flag("--summary", options.with_summary,
                 "Also mean, p50 and p95 of each layer over all whole requests")
      ->needs(layers);
  add_binaries(*command, options.input);
  command->add_option("--limit", options.limit, "Requests to show, the longest first (default 50)")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000'000));
  command->add_flag("--json", options.is_json, "Print one JSON document");
  command->footer(
      R"(running    ms on a CPU, summed over the threads that worked for the request
runnable   ms that they waited for a CPU
blocked    ms that threads with marks waited for anything else: a lock, the disk, a reply
cut        the burst began or ended within the request: its times are those within the burst
own, all   of the samples of requests: in the function; in it or in what it calls (--stacks)
--layers   a request has a part on each machine, and a sum; "not known": the machine recorded no such event. Layers
           overlap: running, runnable and the four blocked_ alone add up (docs/bursts.md)

Examples:
  plimsoll bursts requests machine.bursts --whole
  plimsoll bursts requests machine.bursts --limit 10 --json
  # in which functions, where the recording has samples
  plimsoll bursts requests machine.bursts --stacks
  # where the time of requests went, on all machines
  plimsoll bursts requests machine.bursts other.bursts --layers --summary
  # of several machines, on one clock
  plimsoll bursts requests machine.bursts other.bursts --traces traces.csv
  # of all machines that a server has recordings of
  plimsoll bursts requests --server ADDR --since 1h --whole
)");
}

void add_export(CLI::App& bursts, BurstsExportOptions& options) {
  auto* command =
      bursts.add_subcommand("export", "Write recordings for trace viewers: Perfetto, Chrome JSON");
  add_recordings(*command, options.input);
  add_spans(*command, options.spans,
            "Request traces, of whose calls clocks of several machines are repaired");
  options.input.names_functions = true;
  add_binaries(*command, options.input);
  command->add_option("--chrome", options.chrome, "Chrome JSON file to write, - for standard output")
      ->type_name("FILE");
  command->add_option("--perfetto", options.perfetto, "Perfetto trace to write, - for standard output")
      ->type_name("FILE");
  command->footer(
      R"(Give one of --chrome and --perfetto. ui.perfetto.dev opens both; Firefox Profiler (profiler.firefox.com) and speedscope
open Chrome JSON. A Perfetto trace is smaller, has CPU tracks, and takes several machines. Both
have samples with stacks, of one machine.

Examples:
  plimsoll bursts export machine.bursts --chrome burst.json
  plimsoll bursts export machine.bursts --perfetto burst.pftrace
)");
}

void add_search(CLI::App& bursts, BurstsSearchOptions& options) {
  auto* command = bursts.add_subcommand("search", "Find intervals that fit a pattern in time");
  command->add_option("query", options.query, "What to find (docs/burst-search.md)")
      ->type_name("QUERY")
      ->required();
  add_recordings(*command, options.input);
  add_spans(*command, options.spans,
            "Request traces with the spans of rpc and span, and for clocks of several machines");
  add_binaries(*command, options.input);
  command->add_option("--limit", options.limit, "Answers to show, the earliest first (default 50)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--json", options.is_json, "Print one JSON document");
  command->footer(
      R"(A query is a kind of item, tests in {}, and clauses about other items:
  kinds        request running runnable blocked lock_wait lock_hold phase syscall fault wake
               disk packet_sent packet_received sample rpc span
  tests        {duration > 50ms, service = store | cache, thread != outer.thread}
  with         items within it: with >= 3 own rpc{bytes > 1MB} same operation each within 5ms
  during       it lies within an item; overlapping: it shares time with one
  then, after  an item follows or went before: then within 5ms fault
  not          before a clause: there is none
own means of the same request; outer is the item before the clause.

Examples:
  # slow requests with RPCs one after the other
  plimsoll bursts search 'request{duration > 50ms} with >= 3 own rpc each within 5ms' machine.bursts --traces traces.csv
  # locks that a request held while it waited itself
  plimsoll bursts search 'lock_hold overlapping own blocked{thread = outer.thread}' machine.bursts
  # over all bursts of a day
  plimsoll bursts search 'request{duration > 50ms}' --server ADDR --since 24h
)");
}

void add_clocks(CLI::App& bursts, BurstsClocksOptions& options) {
  auto* command =
      bursts.add_subcommand("clocks", "Show how far clocks of several machines agree, by calls between them");
  add_recordings(*command, options.input);
  add_spans(*command, options.spans,
            "Request traces with client and server spans of calls between the machines");
  command->add_flag("--json", options.is_json, "Print one JSON document");
  command->footer(
      R"(A call is sent before it is received, and its reply before it has returned: that bounds the difference of two clocks.
Each machine is shifted by the amount nearest to 0 that all calls permit. Where none does, it says so and shifts nothing.
Without spans, the machine on which a request takes longest is taken for the caller ("by marks").

Examples:
  plimsoll bursts clocks machine.bursts other.bursts --traces traces.csv
  plimsoll bursts clocks machine.bursts other.bursts --json
)");
}

}  // namespace

void add_bursts_commands(CLI::App& app, BurstsOptions& options) {
  auto* bursts = app.add_subcommand("bursts",
                                    "Windows of time in which every layer of every machine records "
                                    "everything: plan, list, upload, show, requests, export, search, clocks");
  bursts->require_subcommand(1);
  add_plan(*bursts, options.plan);
  add_list(*bursts, options.list);
  add_upload(*bursts, options.upload);
  add_show(*bursts, options.show);
  add_requests(*bursts, options.requests);
  add_export(*bursts, options.exporting);
  add_search(*bursts, options.search);
  add_clocks(*bursts, options.clocks);
  bursts->footer(R"(Example:
  plimsoll bursts plan --request-ms 20 --share 1%
)");
}

Status run_bursts_command(const CLI::App& app, const BurstsOptions& options) {
  const CLI::App& bursts = *app.get_subcommand("bursts");
  if (bursts.got_subcommand("list")) {
    return run_bursts_list(options.list);
  }
  if (bursts.got_subcommand("upload")) {
    return run_bursts_upload(options.upload);
  }
  if (bursts.got_subcommand("show")) {
    return run_bursts_show(options.show);
  }
  if (bursts.got_subcommand("requests")) {
    return run_bursts_requests(options.requests);
  }
  if (bursts.got_subcommand("search")) {
    return run_bursts_search(options.search);
  }
  if (bursts.got_subcommand("clocks")) {
    return run_bursts_clocks(options.clocks);
  }
  return bursts.got_subcommand("export") ? run_bursts_export(options.exporting)
                                         : run_bursts_plan(options.plan);
}

}  // namespace plimsoll::cli
