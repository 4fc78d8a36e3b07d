#include "cli/command_line.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "base/printable.h"
#include "base/suggest.h"
#include "base/version.h"
#include "cli/annotate_command_line.h"
#include "cli/assign_command_line.h"
#include "cli/binaries_command_line.h"
#include "cli/bursts_command_line.h"
#include "cli/calibrate.h"
#include "cli/commands.h"
#include "cli/config_command_line.h"
#include "cli/experiment_command_line.h"
#include "cli/fdo_command_line.h"
#include "cli/help/completion.h"
#include "cli/help/formatter.h"
#include "cli/help/man_page.h"
#include "cli/help/topics.h"
#include "cli/pooling_command_line.h"
#include "cli/store_command_line.h"
#include "cli/symbol_command_line.h"
#include "cli/trace_command_line.h"
#include "cli/usage/suggestions.h"
#include "cli/usage/usage_text.h"
#include "cli/views/flags.h"
#include "cli/views/view_command_line.h"
#include "cli/wsmeter_command_line.h"
#include "config/variables.h"
#include "proto/protobuf_log.h"
#include "server/server_role.h"

namespace plimsoll::cli {
namespace {

int report(const CLI::App& app, const Error& error) {
  // Names of files, and what a server says, may hold anything.
  std::cerr << "plimsoll: " << printable(error.text()) << "\n";
  return exit_status_of_verify(app, error)
      .value_or(error.code == ErrorCode::kInvalid ? kExitUsage : kExitFailed);
}

void add_import(CLI::App& app, ImportOptions& options) {
  auto* command =
      app.add_subcommand("import", "Import profiles from files into a data directory, and symbolize them");
  command->add_option("--data", options.data_dir, "Data directory; created if missing")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--symbol-root", options.symbol_roots,
                   "Folder whose binaries may be read for symbols; may be repeated (default: the usual ones)")
      ->allow_extra_args(false)
      ->type_name("DIR");
  command
      ->add_option("--debug-root", options.debug_roots,
                   "Folder of separate debug files; may be repeated (default: /usr/lib/debug)")
      ->allow_extra_args(false)
      ->type_name("DIR");
  command->add_option("--machine", options.machine, "Machine of files that do not name one (default: import)")
      ->type_name("ID");
  command
      ->add_option("--job", options.job,
                   "Job of files that do not name one (default: the name of their main binary)")
      ->type_name("NAME");
  command
      ->add_option(
          "--time", options.time,
          "When the profiles and recordings in the files ended: RFC 3339, or a duration before now (2h). "
          "Default: the time in the file, else its modification time")
      ->type_name("TIME");
  command
      ->add_option("--platform", options.platform,
                   "Hardware generation of files that do not name one, such as \"AMD Zen 4\"")
      ->type_name("NAME");
  command->add_flag("--json", options.reports_json,
                    "Print one JSON document: a row per file and event, and per file that failed");
  command
      ->add_option("files", options.files,
                   "Raw profiles (plimsolld --once, --scrape), perf.data, pprof, or heap, growth and "
                   "contention profiles as text (C++, Go, Java), and request traces (OTLP, Zipkin, Jaeger, "
                   "CSV); plain, "
                   "compressed (gzip, xz, zstd, bzip2) or in a tar "
                   "archive. None: only look for better symbols")
      ->type_name("FILE");
  command->footer(
      R"(Examples:
  # a recording of perf, and what is hot in it
  plimsoll import --data DIR perf.data
  plimsoll top --data DIR
  # heap profiles of one job, from an archive
  plimsoll import --data DIR --job search --machine m17 --platform "AMD Zen 4" heaps.tar.gz
  # look again for symbols, in debug files installed since
  plimsoll import --data DIR --debug-root /usr/lib/debug
  # for a script
  plimsoll import --data DIR --json heap.pb.gz
)");
}

void add_server(CLI::App& app, ServerOptions& options) {
  auto* command =
      app.add_subcommand("server", "Run the server: receive profiles from daemons and answer queries");
  add_parameter(*command, "--data", "server.data", options.flags, "Data directory; created if missing")
      ->type_name("DIR");
  add_parameter(*command, "--listen", "server.listen", options.flags,
                "Address of the API (default 127.0.0.1:7070)")
      ->type_name("ADDR");
  add_parameter(*command, "--fleet-listen", "server.fleet_listen", options.flags,
                "Address for daemons (default 127.0.0.1:7071)")
      ->type_name("ADDR");
  add_parameter(
      *command, "--store", "store.address", options.flags,
      "Where rows are: clickhouse://[USER@]HOST[:PORT][,HOST[:PORT]...]/DATABASE (default: in the data "
      "directory)")
      ->type_name("ADDR");
  command->add_option("--config", options.config_path, "Configuration file (see config/server.example.toml)")
      ->type_name("FILE");
  command
      ->add_option("--role", options.role,
                   "What to run: server (default); symbolizer, a worker that makes symbol tables for the "
                   "server in symbolizer.server; ingest, which takes what daemons send and forwards it in "
                   "batches to the server in ingest.server; or query, which answers questions beside the "
                   "server in primary.server")
      ->type_name("ROLE")
      ->check(CLI::IsMember(server::server_role_names()));
  command->add_flag("--standby", options.is_standby,
                    "Wait while another process writes the data directory; take over when that process ends");
  command->footer(
      R"(Examples:
  # on this machine only, without authentication
  plimsoll server --data ./profiles
  # as a service, with its configuration
  plimsoll server --config /etc/plimsoll/server.toml
  # with rows in ClickHouse
  plimsoll server --data ./profiles --store clickhouse://127.0.0.1:8123/plimsoll
  # a second server with the same directory and configuration, for when the first one fails
  plimsoll server --config /etc/plimsoll/server.toml --standby
  # on another machine, to make symbol tables for that server
  plimsoll server --role symbolizer --config /etc/plimsoll/symbolizer.toml
  # in front of that server, as one of several that daemons reach by a balancer
  plimsoll server --role ingest --config /etc/plimsoll/ingest.toml
  # on another machine, to answer questions about a server whose rows are in ClickHouse
  plimsoll server --role query --config /etc/plimsoll/query.toml
)");
}

void add_token(CLI::App& app, TokenOptions& options) {
  auto* command = app.add_subcommand("token", "Create a token that authenticates a user or a program");
  command->add_option("--name", options.name, "Name of the user or program")->type_name("NAME")->required();
  command
      ->add_option("--role", options.role,
                   "Role: read, admin, upload, enrol, fdo, binaries, symbolizer, relay or replica")
      ->type_name("ROLE")
      ->required()
      ->check(CLI::IsMember(
          {"read", "admin", "upload", "enrol", "fdo", "binaries", "symbolizer", "relay", "replica"}));
  command->add_option("--expires", options.expires, "Expiry, such as 2027-12-31 (default: never)")
      ->type_name("DAY");
  command->add_flag("--json", options.json, "Print one JSON document");
  command->footer(
      R"(The first line is the token. Users set PLIMSOLL_TOKEN or give --token-file; machines that enrol have it in
daemon.enrolment_file. Add the rest to the server's configuration (docs/security.md).

Examples:
  plimsoll token --name alice --role read --expires 2027-12-31
  plimsoll token --name rack-7 --role enrol --json
)");
}

void add_demo(CLI::App& app, DemoOptions& options) {
  auto* command = app.add_subcommand(
      "demo", "Try it: run server, daemon and a small real workload on this machine, then show the profile");
  command->add_option("--data", options.data_dir, "Data directory (default: a new one under /tmp)")
      ->type_name("DIR");
  command->add_option("--seconds", options.seconds, "Seconds to profile (default 20)")
      ->check(CLI::Range(2, 3600));
  command->add_option("--rate", options.rate_hz, "Samples per second and CPU (default 199)")
      ->type_name("HZ")
      ->check(CLI::Range(1, 1000));
  command->add_flag("--keep", options.keeps_running,
                    "Keep the server and the daemon running afterwards, with the web page, until Ctrl-C");
  command->footer(
      R"(Examples:
  # everything in a new folder under /tmp, for 20 seconds
  plimsoll demo
  # and then look at it in a browser
  plimsoll demo --keep
  # longer, and in a folder of yours
  plimsoll demo --seconds 60 --data ./demo
)");
}

void add_calibrate(CLI::App& app, CalibrateOptions& options) {
  auto* command = app.add_subcommand("calibrate", "Find the highest sampling rate within an overhead limit");
  command
      ->add_option("--rates", options.rates_hz,
                   "Rates to try, in samples per second and CPU (default 19,49,99,199,499,999)")
      ->delimiter(',')
      ->type_name("HZ,...")
      ->check(CLI::Range(1, 10'000));
  constexpr double kPercent = 100;
  // 0.5 may be meant for half a percent, and would be half as long again.
  add_share(*command, "--overhead", options.overhead_percent,
            "Maximum slowdown of the command, with a percent sign (default 1%)", {1e-5, 1}, kPercent)
      ->check([](const std::string& text) {
        return text.ends_with('%') ? std::string() : "write " + text + "% to confirm";
      });
  add_share(*command, "--confidence", options.confidence_percent,
            "Confidence that the rate stays within --overhead (default 95%)", {0.51, 0.9999}, kPercent);
  command
      ->add_option("--rounds", options.rounds,
                   "Runs of the command per rate, and twice as many without profiler (default 20)")
      ->type_name("N")
      ->check(CLI::Range(2, 100'000));
  command->add_flag("--cpu", options.measures_cpu_time, "Compare CPU time instead of elapsed time");
  command->add_option("--limit", options.limit_s, "Timeout of one run of the command (default 3600)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.001, 80'000.0));
  command
      ->add_option("--event-set", options.event_sets,
                   "Events to sample at once, as plimsolld takes them; may be repeated (default: its own)")
      ->allow_extra_args(false)
      ->type_name("EVENT,...");
  command
      ->add_option("--stack-bytes", options.stack_bytes,
                   "Bytes of the user stack captured with a sample (default 16384)")
      ->type_name("BYTES")
      ->check(CLI::Range(8, 65'536));
  command->add_flag("--json", options.is_json, "Print one JSON document");
  command
      ->add_option("command", options.command,
                   "Command to run, after \"--\"; it must do the same work each time")
      ->type_name("COMMAND");
  command->footer(
      R"(Runs the command repeatedly in random order: without a profiler, and at each rate while plimsolld samples the whole
machine. Prints the slowdown per rate, and the highest rate whose upper confidence limit is below --overhead. Run
nothing else on the machine, and choose a command that takes a second or more.

Example:
  plimsoll calibrate --overhead 0.5% --rounds 50 -- gzip -9 -c /usr/bin/gdb
)");
}

std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name()
                                         : full_name(*command.get_parent()) + " " + command.get_name();
}

struct HelpOptions {
  std::vector<std::string> words;  // a command, or a topic
  bool is_man_page = false;
  std::string shell;
};

void add_help(CLI::App& app, HelpOptions& options) {
  auto* help = app.add_subcommand("help", "Explain a command or a topic");
  help->add_option("topic", options.words, "A command (top, wsmeter plan), or a topic below")
      ->type_name("TOPIC");
  help->add_flag("--man", options.is_man_page, "Print a command's man page, for man -l");
  std::string topics_text = "Topics:\n";
  for (const Topic& topic : topics()) {
    topics_text += fmt::format("  {:<9}{}\n", topic.name, topic.summary);
  }
  help->footer(topics_text);
  auto* completion = app.add_subcommand("completion", "Print the script that completes commands in a shell");
  completion->add_option("shell", options.shell, "bash, zsh or fish")->type_name("SHELL")->required();
  completion->footer(R"help(Examples:
  # bash, for all sessions to come
  plimsoll completion bash > ~/.local/share/bash-completion/completions/plimsoll
  # zsh, in ~/.zshrc behind compinit
  eval "$(plimsoll completion zsh)"
  # fish
  plimsoll completion fish > ~/.config/fish/completions/plimsoll.fish
)help");
}

// Of a command, or of one below it: "wsmeter plan".
const CLI::App* find_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    command = command == nullptr ? nullptr : find_subcommand(*command, word);
  }
  return command;
}

Status run_help(const CLI::App& app, const HelpOptions& options) {
  if (const CLI::App* const command = find_command(app, options.words)) {
    const std::string name =
        fmt::format("plimsoll{}{}", options.words.empty() ? "" : "-", fmt::join(options.words, "-"));
    return write_output("-", options.is_man_page
                                 ? man_page(*command, name)
                                 // App::help() would explain "help", which was parsed.
                                 : command->get_formatter()->make_help(command, full_name(*command),
                                                                       CLI::AppFormatMode::Normal));
  }
  const auto text = options.words.size() == 1 ? topic_text(options.words.front()) : std::nullopt;
  if (text) {
    return write_output("-", *text);
  }
  std::vector<std::string> known = command_names(app);
  for (const Topic& topic : topics()) {
    known.emplace_back(topic.name);
  }
  const std::string wanted = fmt::format("{}", fmt::join(options.words, " "));
  const std::vector<std::string_view> views(known.begin(), known.end());
  const auto nearest = nearest_word(wanted, views);
  return with_hint(fail(ErrorCode::kInvalid, "no command or topic is called {}", wanted),
                   nearest ? fmt::format("did you mean {}?", *nearest)
                           : "\"plimsoll help\" lists commands, \"plimsoll help --help\" topics");
}

Status print_completion(const std::string& shell) {
  const auto script = completion_script(shell);
  return script ? write_output("-", *script) : propagate(script);
}

// `plimsoll complete WORD...`, which shells call: words may look like flags, so that they are not parsed.
int complete(const CLI::App& app, const std::vector<std::string>& words) {
  for (const std::string& candidate : completions(app, words)) {
    std::cout << candidate << "\n";
  }
  return 0;
}

// What each subcommand was told.
struct Options {
  ViewCommands views;
  ImportOptions import;
  ServerOptions server;
  TokenOptions token;
  DemoOptions demo;
  CalibrateOptions calibrate;
  ConfigOptions config;
  StoreOptions store;
  WsmeterOptions wsmeter;
  ExperimentCommands experiment;
  FdoCommands fdo;
  AnnotateOptions annotate;
  AssignOptions assign;
  SymbolOptions symbols;
  TraceOptions traces;
  BurstsOptions bursts;
  PoolingOptions pooling;
  BinariesOptions binaries;
  HelpOptions help;
};

int run_parsed(const CLI::App& app, const Options& options) {
  if (const Status known = config::check_variables(environ); !known) {
    return report(app, known.error());
  }
  Status done;
  if (options.views.is_given()) {
    done = options.views.run();
  } else if (app.got_subcommand("import")) {
    done = run_import(options.import);
  } else if (app.got_subcommand("server")) {
    done = run_server(options.server);
  } else if (app.got_subcommand("token")) {
    done = print_token(options.token);
  } else if (app.got_subcommand("config")) {
    done = run_config_command(app, options.config);
  } else if (app.got_subcommand("calibrate")) {
    done = run_calibrate(options.calibrate);
  } else if (app.got_subcommand("store")) {
    done = run_store_command(app, options.store);
  } else if (app.got_subcommand("wsmeter")) {
    done = run_wsmeter_command(app, options.wsmeter);
  } else if (app.got_subcommand("experiment")) {
    done = run_experiment_command(app, options.experiment);
  } else if (app.got_subcommand("fdo")) {
    done = run_fdo_command(app, options.fdo);
  } else if (app.got_subcommand("annotate")) {
    done = run_annotate(options.annotate);
  } else if (app.got_subcommand("assign")) {
    done = run_assign(options.assign);
  } else if (app.got_subcommand("help")) {
    done = run_help(app, options.help);
  } else if (app.got_subcommand("completion")) {
    done = print_completion(options.help.shell);
  } else if (gives_trace_command(app)) {
    done = run_trace_command(app, options.traces);
  } else if (app.got_subcommand("binaries")) {
    done = run_binaries_command(app, options.binaries);
  } else if (app.got_subcommand("bursts")) {
    done = run_bursts_command(app, options.bursts);
  } else if (app.got_subcommand("pooling")) {
    done = run_pooling(options.pooling);
  } else if (gives_symbol_command(app)) {
    done = run_symbol_command(app, options.symbols);
  } else {
    done = run_demo(options.demo);
  }
  return done ? 0 : report(app, done.error());
}

int report_usage(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& words) {
  if (error.get_exit_code() == 0) {
    return app.exit(error);
  }
  const std::string name = full_name(innermost(app));
  std::cerr << printable(fmt::format("{}: {}", name, usage_text(app, error, words))) << "\n"
            << "See " << name << " --help.\n";
  return kExitUsage;
}

}  // namespace

int run(int argc, char** argv) {
  wire::use_own_log();
  CLI::App app("Plimsoll: a continuous profiler for whole fleets.");
  app.require_subcommand(0, 1);  // where there is none, we say more than CLI11 does
  app.footer(
      "Run \"plimsoll demo\" to try it on this machine, \"plimsoll help COMMAND\" for a command, and "
      "\"plimsoll help TOPIC\" for a "
      "topic.");
  app.name("plimsoll");  // however it was called
  app.formatter(plain_formatter());
  app.set_version_flag("--version", fmt::format("plimsoll {}", version()));
  Options options;
  add_demo(app, options.demo);
  options.views.add_to(app);
  add_import(app, options.import);
  add_server(app, options.server);
  add_config_commands(app, options.config);
  add_token(app, options.token);
  add_calibrate(app, options.calibrate);
  add_store_command(app, options.store);
  add_wsmeter_command(app, options.wsmeter);
  add_experiment_command(app, options.experiment);
  add_fdo_command(app, options.fdo);
  add_annotate_command(app, options.annotate);
  add_assign_command(app, options.assign);
  add_symbol_commands(app, options.symbols);
  add_binaries_command(app, options.binaries);
  add_trace_commands(app, options.traces);
  add_bursts_commands(app, options.bursts);
  add_pooling_command(app, options.pooling);
  add_help(app, options.help);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "complete") {
    return complete(app, {words.begin() + 1, words.end()});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error, words);
  }
  if (app.get_subcommands().empty()) {
    std::cerr << "plimsoll: missing command, such as demo, server, import, top or diff\n"
                 "\"plimsoll help\" lists all commands.\n";
    return kExitUsage;
  }
  return run_parsed(app, options);
}

}  // namespace plimsoll::cli
