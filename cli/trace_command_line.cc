#include "cli/trace_command_line.h"

#include <CLI/CLI.hpp>
#include <map>

#include "cli/choice.h"
#include "cli/views/flags.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kTraceFormats =
    "File or folder of request traces: OTLP (Protobuf, JSON), Zipkin v2, Jaeger JSON or CSV, plain or "
    "compressed; may be repeated";

// One of them, which expect_traces_or_source() asks for.
void add_trace_source(CLI::App& command, std::vector<std::string>& paths, AnswerSource& source) {
  command.add_option("--traces", paths, kTraceFormats)->allow_extra_args(false)->type_name("PATH");
  add_source(command, source, [&paths] { return paths.empty(); });
}

void add_time(CLI::App& command, const std::string& flag, std::string& time, const std::string& help) {
  command.add_option(flag, time, help)->type_name("TIME");
}

void add_diagnose(CLI::App& app, DiagnoseOptions& options) {
  auto* command = app.add_subcommand(
      "diagnose", "Find the service, method and replica that makes requests slow, from their traces");
  add_trace_source(*command, options.traces, options.source);
  add_time(
      *command, "--since", options.since,
      "Start of the window to diagnose: RFC 3339, or 30m for half an hour ago (default: all; with --data "
      "and --server the last hour)");
  add_time(*command, "--until", options.until, "End of the window");
  add_time(
      *command, "--reference-since", options.reference_since,
      "Start of the requests to compare with (default: all outside of the window; with --data and --server "
      "the hour before it)");
  add_time(*command, "--reference-until", options.reference_until, "End of the requests to compare with");
  command->add_option("--service", options.service, "Only findings of this service")->type_name("NAME");
  using By = DiagnoseOptions::By;
  const std::map<std::string, By> methods{{"all", By::kAll},
                                          {"category", By::kCategory},
                                          {"clouddiag", By::kCloudDiag},
                                          {"clouddiag-paper", By::kPaper},
                                          {"pca", By::kPca},
                                          {"plimsoll", By::kPlimsoll},
                                          {"tree", By::kTree}};
  command
      ->add_option(
          "--by", options.by,
          "plimsoll (default): replicas and services, as below; clouddiag: robust PCA of self times; "
          "clouddiag-paper: as the paper prints it; pca: the paper's peer; all: one after the other; "
          "category, tree: kinds of request and their latencies instead of findings")
      ->type_name("METHOD")
      ->transform(choice(methods));
  command
      ->add_option("--every", options.every,
                   "With --by category and tree: a row for each such part of the window, as 10m")
      ->type_name("DURATION");
  add_forms(*command, options.form);
  command->footer(
      R"(Compares requests in two ways. Replicas: does one replica of a service run a method slower than its other replicas, or is
it reached slower? That needs no reference. Services: which service explains why calls in the window take longer than
in the reference, or make other calls? Parts of the reference are compared with each other, too: what they show is noise.

kind        slow itself, slow network to it (network, queue, CPU it does not get), slow caller, another path
score       how much of what changed the row explains
confidence  that it is no noise; rows below 50 % appear in --json and --csv only

Examples:
  # three minutes that users complained about, against all other requests in the files
  plimsoll diagnose --traces traces.csv --since 2026-11-21T07:10:00Z --until 2026-11-21T07:13:00Z
  # against the ten minutes before them
  plimsoll diagnose --traces traces.csv --since 2026-11-21T07:10:00Z --reference-since 2026-11-21T07:00:00Z --json
  # is one replica slower than the others? All requests of a folder
  plimsoll diagnose --traces traces
  # by CloudDiag's robust PCA; by every method, with its name in each row
  plimsoll diagnose --traces traces --by clouddiag
  plimsoll diagnose --traces traces --by all --json
  # kinds of request (services and operations that they call): latencies, and which are slower than in the reference
  plimsoll diagnose --traces traces.csv --since 2026-11-21T07:10:00Z --by category
  # by call tree, every five minutes
  plimsoll diagnose --traces traces.csv --by tree --every 5m --csv
  # what a server has received, against the hour before the window
  plimsoll diagnose --server ADDR --since 2026-11-21T07:10:00Z --until 2026-11-21T07:13:00Z
)");
}

void add_regressions(CLI::App& app, RegressionsOptions& options) {
  auto* command = app.add_subcommand(
      "regressions", "Find the kinds of request in which a new version is slower, from their traces");
  command->add_option("files", options.traces, kTraceFormats)->type_name("FILE");
  add_source(*command, options.source, [&options] { return options.traces.empty(); });
  const auto add = [command](const char* flag, std::string& value, const char* type, const char* help) {
    command->add_option(flag, value, help)->type_name(type);
  };
  add("--by-hardware", options.hardware, "ATTR",
      "Attribute for generations of hardware (default: of host.type, host.cpu.model.name, host.arch and "
      "machine.platform the first that half of the requests have, else the most common)");
  add("--by-workload", options.workload, "ATTR",
      "Attribute for types of request (default: service and operation of the root)");
  add("--version", options.version, "ATTR",
      "Attribute that has the version (default: version of the services that ran several)");
  command
      ->add_option(
          "--attribute", options.attributes,
          "Attribute to search, may be repeated up to 12 times (default: the first 12, by name, with 2 to 32 "
          "values)")
      ->allow_extra_args(false)
      ->type_name("ATTR");
  add("--new", options.current, "VERSION",
      "Version to judge (default: the one that came last; of those that were there from the start, the "
      "highest)");
  add("--base", options.base, "VERSION", "Version to compare it with (default: all others)");
  add_time(*command, "--since", options.since,
           "Start of the requests: RFC 3339, or 30m for half an hour ago (default: all; with --data and "
           "--server 24 hours)");
  add_time(*command, "--until", options.until, "End of the requests");
  command->add_flag("--json", options.is_json, "Print one JSON document instead of Markdown");
  command->footer(
      R"(Compares requests that ran a new version with those that ran another one, in every bucket: all requests with up to three
values of attributes in common, such as host.type=c7 and disk.type=ssd. A request has the value of its first span that
has the attribute; SERVICE:ATTR is that of a service's spans; service, operation, replica, machine and version always
exist.

A bucket is reported where its requests are slower than the same kinds of request on hosts with the other version, by
more than any bucket would be by chance in 1 of 100 tries. For each: latencies with intervals, the method on the critical
path that grew most, and why (takes longer itself, waits longer, is called more often, runs one after another).

Examples:
  plimsoll regressions versions.csv
  # attributes that say what the hardware is, and what the request is
  plimsoll regressions versions.csv --by-hardware hw --by-workload size
  # a version in an attribute; two versions that are named
  plimsoll regressions versions.csv --version disk:version --base 2.0 --new 2.1 --json
  # what a server has received today
  plimsoll regressions --server ADDR --since 24h
)");
}

void add_trace(CLI::App& app, TraceShowOptions& options) {
  auto* trace = app.add_subcommand("trace", "Look at single request traces: show");
  trace->require_subcommand(1);
  auto* show = trace->add_subcommand("show", "Print a request as a tree of calls with their times");
  show->add_option("id", options.id,
                   "Trace ID in hexadecimal; with --traces the first or last digits are enough")
      ->type_name("ID")
      ->required();
  add_trace_source(*show, options.traces, options.source);
  auto* const json = show->add_flag("--json", options.is_json, "Print one JSON document");
  using formats::TraceExport;
  const std::map<std::string, TraceExport> exports{{"otlp", TraceExport::kOtlpJson},
                                                   {"jaeger", TraceExport::kJaegerJson},
                                                   {"chrome", TraceExport::kChromeJson}};
  show->add_option_function<TraceExport>(
          "--export", [&options](const TraceExport& format) { options.exported = format; },
          "Print JSON of another tool: otlp (OTLP over HTTP), jaeger (its page and API), chrome "
          "(ui.perfetto.dev, Firefox Profiler, speedscope)")
      ->type_name("FORMAT")
      ->transform(choice(exports))
      ->excludes(json);
  show->footer(
      R"(Children of another machine are shifted by the offset of its clock. The self time of a call to another service is what
is left without the callee: network and queues.

Examples:
  plimsoll trace show 4bf92f3577b34da6a3ce929d0e0e4736 --traces traces.csv
  # the first digits; a folder
  plimsoll trace show 4bf92f35 --traces traces --json
  # what a server has received
  plimsoll trace show 4bf92f3577b34da6a3ce929d0e0e4736 --server ADDR
  # for ui.perfetto.dev
  plimsoll trace show 4bf92f3577b34da6a3ce929d0e0e4736 --traces traces.csv --export chrome
)");
  trace->footer(R"(Example:
  plimsoll trace show 4bf92f3577b34da6a3ce929d0e0e4736 --traces traces.csv
)");
}

}  // namespace

void add_trace_commands(CLI::App& app, TraceOptions& options) {
  add_diagnose(app, options.diagnose);
  add_regressions(app, options.regressions);
  add_trace(app, options.show);
}

bool gives_trace_command(const CLI::App& app) {
  return app.got_subcommand("diagnose") || app.got_subcommand("regressions") || app.got_subcommand("trace");
}

Status run_trace_command(const CLI::App& app, const TraceOptions& options) {
  if (app.got_subcommand("regressions")) {
    return run_regressions(options.regressions);
  }
  return app.got_subcommand("diagnose") ? run_diagnose(options.diagnose) : run_trace_show(options.show);
}

}  // namespace plimsoll::cli
