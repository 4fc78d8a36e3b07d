#include "cli/fdo_command_line.h"

#include <CLI/CLI.hpp>
#include <map>

#include "cli/choice.h"
#include "cli/command_line.h"
#include "cli/views/flags.h"
#include "query/fdo/process/profile_child.h"

namespace plimsoll::cli {
namespace {

using fdo::Usefulness;

// The binary's option.
CLI::Option* add_input(CLI::App& command, FdoInput& input) {
  add_source(command, input.source);
  CLI::Option* const binary =
      command
          .add_option("--binary", input.binary,
                      "Binary that ran in the fleet: the same build, not stripped if possible")
          ->type_name("FILE");
  command
      .add_option("--debug", input.debug,
                  "Separate debug file of the binary (default: looked for by build ID and .gnu_debuglink)")
      ->type_name("FILE");
  command
      .add_option("--build-id", input.build_id,
                  "Refuse a binary with another build ID; the first digits will do (default: any)")
      ->type_name("ID");
  add_parameter(command, "--event", "event", input.parameters,
                "Event whose samples count (default: cycles, else cpu-clock)")
      ->type_name("EVENT");
  add_parameter(command, "--where", "where", input.parameters,
                "Filter, such as job=search, as of `top`; may be repeated")
      ->type_name("PREDICATE");
  add_parameter(command, "--since", "since", input.parameters,
                "Start of the time range: RFC 3339, or 7d for a week ago")
      ->type_name("TIME");
  add_parameter(command, "--until", "until", input.parameters, "End of the time range")->type_name("TIME");
  return binary;
}

void add_min_quality(CLI::App& command, Usefulness& min_quality, const std::string& help) {
  const std::map<std::string, Usefulness> words{{"none", Usefulness::kNone},
                                                {"poor", Usefulness::kPoor},
                                                {"fair", Usefulness::kFair},
                                                {"good", Usefulness::kGood}};
  command.add_option("--min-quality", min_quality, help)->type_name("QUALITY")->transform(choice(words));
}

CLI::Option* add_profile(CLI::App& command, FdoProfileOptions& options) {
  CLI::Option* const binary = add_input(command, options.input);
  command.add_option("--output", options.output, "File for the profile (default \"-\": standard output)")
      ->type_name("FILE");
  command
      .add_option("--report", options.quality.report,
                  "File for the report on the profile's quality (default: printed)")
      ->type_name("FILE");
  command.add_flag("--json", options.quality.is_json, "Write the report as a JSON document");
  add_min_quality(
      command, options.quality.min_quality,
      "Write nothing and exit with status 1 below this quality: none, poor (default), fair, good");
  return binary;
}

void add_older(CLI::App& command, FdoAutofdoOptions& options) {
  command
      .add_option(
          "--older", options.older,
          "Binary of an older build of the program (without --binary: its build ID), whose samples are "
          "added: matched by function and line, weighted by age and similarity; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->take_all();
  command
      .add_option("--older-debug", options.older_debug,
                  "Separate debug file of a binary given with --older, matched by build ID; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->take_all();
  command
      .add_option("--older-profile", options.older_profiles,
                  "Profile of an older build, as LLVM's text, to be added; may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->take_all();
}

void add_autofdo(CLI::App& fdo, FdoAutofdoOptions& options) {
  auto* command = fdo.add_subcommand(
      "autofdo", "Write a profile for clang (-fprofile-sample-use) or gcc (-fauto-profile)");
  add_profile(*command, options.profile);
  const std::map<std::string, fdo::ProfileFormat> formats{{"text", fdo::ProfileFormat::kText},
                                                          {"binary", fdo::ProfileFormat::kBinary},
                                                          {"gcov", fdo::ProfileFormat::kGcov}};
  command
      ->add_option("--format", options.format,
                   "binary (default: LLVM's extensible binary form) or text for clang, gcov for gcc")
      ->type_name("FORMAT")
      ->transform(choice(formats));
  add_older(*command, options);
  command->footer(
      R"(Build the program with -O2 -gmlt -fdebug-info-for-profiling, run it in the fleet, then make its profile here and
build again with it. The binary must be the build that ran (the build ID says so), with its debug information in it or
in a separate file. Without --binary the server makes the profile of its own files, by --build-id. docs/fdo.md has the
whole way, from build flags to rolling back.

Examples:
  # the samples of a week, for clang's -fprofile-sample-use=search.prof
  plimsoll fdo autofdo --server ADDR --binary ./search --since 7d --output search.prof
  # of one job, from a data directory, as text
  plimsoll fdo autofdo --data DIR --binary ./search --where job=search --format text
  # a stripped binary with its debug file; only a good profile will do
  plimsoll fdo autofdo --data DIR --binary ./search --debug search.debug --min-quality good --output search.prof
  # with the samples of the release before, where lines and functions are the same
  plimsoll fdo autofdo --data DIR --binary ./search --older ./search.before --output search.prof
)");
}

void add_bolt(CLI::App& fdo, FdoProfileOptions& options) {
  auto* command = fdo.add_subcommand("bolt", "Write a profile (fdata) for llvm-bolt");
  add_profile(*command, options)->required();
  command->footer(
      R"(Link the program with -Wl,--emit-relocs. Then: llvm-bolt ./search -o search.bolt -data search.fdata
-reorder-blocks=ext-tsp -reorder-functions=hfsort -update-debug-sections
(with -nl where the report says that the profile is based on samples).

Example:
  plimsoll fdo bolt --data DIR --binary ./search --since 7d --output search.fdata
)");
}

void add_order(CLI::App& fdo, FdoOrderOptions& options) {
  auto* command =
      fdo.add_subcommand("order", "Write the order of functions for a linker (lld --symbol-ordering-file)");
  add_profile(*command, options.profile)->required();
  const std::map<std::string, fdo::Linker> linkers{{"lld", fdo::Linker::kLld}, {"gold", fdo::Linker::kGold}};
  command
      ->add_option("--linker", options.linker,
                   "lld (default), or gold: section names for --section-ordering-file")
      ->type_name("LINKER")
      ->transform(choice(linkers));
  command->footer(
      R"(Compile with -ffunction-sections. Functions that call each other stand side by side, hot ones first.

Examples:
  # for -fuse-ld=lld -Wl,--symbol-ordering-file=search.order
  plimsoll fdo order --data DIR --binary ./search --output search.order
)");
}

void add_report(CLI::App& fdo, FdoReportOptions& options) {
  auto* command = fdo.add_subcommand("report", "Report how good a compiler profile of a binary would be");
  add_input(*command, options.input)->required();
  command->add_flag("--json", options.is_json, "Print a JSON document");
  add_min_quality(*command, options.min_quality,
                  "Exit with status 1 below this quality: none (default), poor, fair, good");
  command->footer(
      R"(Examples:
  plimsoll fdo report --data DIR --binary ./search
  # for a pipeline
  plimsoll fdo report --server ADDR --binary ./search --since 7d --min-quality fair --json
)");
}

void add_verify(CLI::App& fdo, FdoVerifyOptions& options) {
  auto* command =
      fdo.add_subcommand("verify", "Compare the CPU time of two builds, and accept or reject the new one");
  command
      ->add_option("--base", options.base,
                   "Program before: replaces {} of the command, or is a shell command")
      ->type_name("PROGRAM")
      ->required();
  command->add_option("--test", options.test, "Program built with the profile")
      ->type_name("PROGRAM")
      ->required();
  command->add_option("--runs", options.runs, "Runs of each program at most (default 10)")
      ->type_name("N")
      ->check(CLI::Range(3, 100'000));
  command
      ->add_option("--max-seconds", options.max_seconds,
                   "Start no further run after so long, once there are three of each (default 600)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--limit", options.limit_s, "Timeout of one run (default 3600)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 80'000.0));
  command
      ->add_option("--min-speedup", options.min_speedup_percent,
                   "Reduction of CPU time in percent that the whole 95 % interval must exceed (default 0; -1 "
                   "accepts what "
                   "is at most 1 % slower)")
      ->type_name("PERCENT")
      ->check(CLI::Range(-100.0, 100.0));
  command->add_flag("--json", options.is_json, "Print one JSON document");
  command
      ->add_option("command", options.command,
                   "Command to run, after \"--\", with {} where the program belongs")
      ->type_name("COMMAND");
  command->footer(
      R"(Runs both programs in pairs, in random order, and compares their CPU time. Exit status 0: accepted, 1: rejected,
2: a wrong command line, 3: not measured (interrupted, or a program failed). The programs must do the same work each time; a second or more is best, and nothing else should run on the machine.

Examples:
  plimsoll fdo verify --base ./search.before --test ./search -- {} --queries queries.txt
  # a pipeline that wants 2 %, in at most ten minutes
  plimsoll fdo verify --base ./search.before --test ./search --min-speedup 2 --max-seconds 600 --json -- {} --queries queries.txt
)");
}

}  // namespace

void add_fdo_command(CLI::App& app, FdoCommands& options) {
  auto* fdo = app.add_subcommand("fdo",
                                 "Make profiles for compilers, linkers and BOLT from fleet samples: autofdo, "
                                 "bolt, order, report, verify");
  fdo->require_subcommand(1);
  add_autofdo(*fdo, options.autofdo);
  add_bolt(*fdo, options.bolt);
  add_order(*fdo, options.order);
  add_report(*fdo, options.report);
  add_verify(*fdo, options.verify);
  // Started by this program itself: what parses binaries for a server.
  fdo->add_subcommand("worker", "Make a compiler profile as standard input says")->group("");
  fdo->footer(
      R"(Examples:
  plimsoll fdo report --server ADDR --binary ./search --since 7d
  plimsoll fdo autofdo --server ADDR --binary ./search --since 7d --output search.prof
  plimsoll fdo verify --base ./search.before --test ./search -- {} --queries queries.txt
)");
}

std::optional<int> exit_status_of_verify(const CLI::App& app, const Error& error) {
  if (!app.got_subcommand("fdo") || !app.get_subcommand("fdo")->got_subcommand("verify")) {
    return std::nullopt;
  }
  switch (error.code) {
    case ErrorCode::kConflict:
      return kExitFailed;
    case ErrorCode::kInvalid:
      return kExitUsage;
    default:
      return kExitNotMeasured;
  }
}

Status run_fdo_command(const CLI::App& app, const FdoCommands& options) {
  const CLI::App* fdo = app.get_subcommand("fdo");
  if (fdo->got_subcommand("worker")) {
    return fdo::run_profile_child();
  }
  if (fdo->got_subcommand("autofdo")) {
    return run_fdo_autofdo(options.autofdo);
  }
  if (fdo->got_subcommand("bolt")) {
    return run_fdo_bolt(options.bolt);
  }
  if (fdo->got_subcommand("order")) {
    return run_fdo_order(options.order);
  }
  return fdo->got_subcommand("report") ? run_fdo_report(options.report) : run_fdo_verify(options.verify);
}

}  // namespace plimsoll::cli
