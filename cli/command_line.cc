#include "cli/command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/store_command_line.h"
#include "cli/symbol_command_line.h"
#include "query/sql/sql.h"
#include "query/views/dimension.h"

namespace plimsoll::cli {
namespace {

int report(const Error& error) {
  std::cerr << "plimsoll: " << error.text() << "\n";
  return error.code == ErrorCode::kInvalid ? kExitUsage : kExitFailed;
}

// A flag whose value becomes a (name, text) pair, in the order of the command line.
CLI::Option* add_parameter(CLI::App& command, const std::string& flag, const std::string& name,
                           std::vector<std::pair<std::string, std::string>>& parameters,
                           const std::string& help) {
  return command
      .add_option_function<std::vector<std::string>>(
          flag,
          [&parameters, name](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) {
              parameters.emplace_back(name, text);
            }
          },
          help)
      ->allow_extra_args(false)
      ->take_all();
}

void add_source(CLI::App& command, AnswerSource& source) {
  auto* server = command.add_option("--server", source.server, "Ask this server")->type_name("ADDR");
  auto* data = command.add_option("--data", source.data_dir, "Read this data directory")->type_name("DIR");
  server->excludes(data);
}

void add_forms(CLI::App& command, query::TableForm& form) {
  auto* json =
      command.add_flag_callback("--json", [&form] { form = query::TableForm::kJson; }, "As a JSON document");
  auto* csv = command.add_flag_callback("--csv", [&form] { form = query::TableForm::kCsv; }, "As CSV");
  json->excludes(csv);
}

std::string dimension_help() {
  std::string help = "Dimensions (for --by and --where):\n";
  for (const query::Dimension& dimension : query::dimensions()) {
    help += fmt::format("  {:<14}{}\n", dimension.name, dimension.meaning);
  }
  return help +
         "Examples:\n"
         "  plimsoll top --data DIR                             the hot functions\n"
         "  plimsoll top --data DIR --by app                    by application\n"
         "  plimsoll top --data DIR --where app=gzip --by function,file\n"
         "  plimsoll top --data DIR --ratio ipc --by job        instructions per cycle, with its margin\n"
         "  plimsoll top --server 127.0.0.1:7070 --since 1h --where 'function=~^sqlite3' --by binary "
         "--json\n";
}

// The flags that say what a view is about.
void add_selection(CLI::App& command, std::vector<std::pair<std::string, std::string>>& parameters) {
  add_parameter(command, "--event", "event", parameters, "Event (default: cycles, or cpu-clock)")
      ->type_name("EVENT");
  add_parameter(
      command, "--where", "where", parameters,
      "Filter: dim=a, dim!=a, dim=~regex, dim!~regex, \"dim in a,b\"; may be repeated, all must hold")
      ->type_name("PREDICATE");
  add_parameter(command, "--since", "since", parameters, "Start: RFC 3339, or relative (1h, -2h)")
      ->type_name("TIME");
  add_parameter(command, "--until", "until", parameters, "End, likewise")->type_name("TIME");
}

void add_top(CLI::App& app, TopOptions& options) {
  auto* command = app.add_subcommand("top", "What is hot: self and total, by any dimensions");
  add_source(*command, options.source);
  add_forms(*command, options.form);
  add_selection(*command, options.parameters);
  add_parameter(
      *command, "--ratio", "ratio", options.parameters,
      "Instead of one event, the ratio of two (instructions/cycles), or ipc, cpi, exact-ipc, exact-cpi")
      ->type_name("NUM/DEN");
  add_parameter(*command, "--by", "by", options.parameters, "Dimensions to group by (default: function)")
      ->type_name("DIM,...");
  add_parameter(*command, "--limit", "limit", options.parameters, "Rows to show (default 20)")
      ->type_name("N");
  command->add_flag_callback(
      "--no-margins", [&options] { options.parameters.emplace_back("margins", "no"); },
      "Without the shares' margins of error, which take a second pass over the rows");
  command->footer(dimension_help());
}

void add_flame(CLI::App& app, FlameOptions& options) {
  auto* command = app.add_subcommand("flame", "The stacks merged into one tree, outermost function first");
  add_source(*command, options.source);
  auto* folded = command->add_flag_callback(
      "--folded", [&options] { options.form = FlameForm::kFolded; },
      "A line for each stack, \"main;parse;lex 12\", as flame graph tools read it");
  auto* json = command->add_flag_callback(
      "--json", [&options] { options.form = FlameForm::kJson; }, "As a JSON document");
  folded->excludes(json);
  add_selection(*command, options.parameters);
  add_parameter(*command, "--min-share", "min_share", options.parameters,
                "Cut what has a smaller share (default 0.5% for people, else none)")
      ->type_name("SHARE");
  add_parameter(*command, "--limit", "limit", options.parameters, "Nodes at most, the largest first")
      ->type_name("N");
  command->footer(
      "Examples:\n"
      "  plimsoll flame --data DIR --where app=gzip              a tree for people\n"
      "  plimsoll flame --data DIR --folded | flamegraph.pl      a picture\n");
}

void add_export(CLI::App& app, ExportOptions& options) {
  auto* command = app.add_subcommand("export", "Write samples for other people's tools");
  add_source(*command, options.source);
  const auto add_format = [&](const char* flag, ExportFormat format, const char* help) {
    return command
        ->add_option_function<std::string>(
            flag,
            [&options, format](const std::string& path) {
              options.format = format;
              options.output = path;
            },
            help)
        ->type_name("FILE");
  };
  auto* pprof =
      add_format("--pprof", ExportFormat::kPprof, "pprof's format, gzipped (\"-\": standard output)");
  auto* gperftools = add_format("--gperftools", ExportFormat::kGperftools,
                                "gperftools' symbolized CPU profile, for the pprof written in Perl");
  pprof->excludes(gperftools);
  add_selection(*command, options.parameters);
  command->footer(
      "--event may be repeated for --pprof: each is a sample type.\n"
      "Examples:\n"
      "  plimsoll export --data DIR --pprof out.pb.gz && go tool pprof -top out.pb.gz\n"
      "  plimsoll export --data DIR --gperftools out && google-pprof --text out\n");
}

void add_machines(CLI::App& app, MachinesOptions& options) {
  auto* command = app.add_subcommand("machines", "The machines, and what runs on them");
  add_source(*command, options.source);
  add_forms(*command, options.form);
  add_parameter(*command, "--by", "by", options.parameters,
                "machine (default), or instance: quotas and CPU time of each instance")
      ->type_name("WHAT");
}

void add_sql(CLI::App& app, SqlOptions& options) {
  auto* command =
      app.add_subcommand("sql", "Answer a SELECT over samples, totals, events and machines, in SQLite's SQL");
  add_source(*command, options.source);
  add_forms(*command, options.form);
  command
      ->add_option("statement", options.statement,
                   "The statement; read from standard input where it is not given")
      ->type_name("SELECT");
  std::string tables;
  for (const query::SqlTable& table : query::sql_tables()) {
    tables += fmt::format("  {}: {}\n    {}\n", table.name, table.row_is, fmt::join(table.columns, ", "));
  }
  command->footer(fmt::format(
      "Tables, what a row of each is, and its columns (SELECT * FROM columns says what they mean):\n"
      "{}"
      "function, linkage_name, file, line and binary are those of the leaf; value is in the event's unit, "
      "for the\n"
      "whole fleet. Comparisons of a column with constants (=, IN, <, >, LIKE, GLOB) make a statement fast.\n"
      "Examples:\n"
      "  plimsoll sql --data DIR \"SELECT job, sum(value) FROM samples WHERE event = 'cycles' GROUP BY "
      "job\"\n"
      "  plimsoll sql --server 127.0.0.1:7070 --csv \"SELECT function, sum(value) AS self FROM samples\n"
      "    WHERE event = 'cycles' AND app LIKE 'gz%' AND from_time >= '2026-11-21T06' GROUP BY function\n"
      "    ORDER BY self DESC LIMIT 10\"\n"
      "  plimsoll sql --data DIR \"SELECT machine, event, sum(value), sum(lost) FROM totals GROUP BY 1, "
      "2\"\n",
      tables));
}

void add_import(CLI::App& app, ImportOptions& options) {
  auto* command =
      app.add_subcommand("import", "Take profiles from files into a data directory, and look for names");
  command->add_option("--data", options.data_dir, "Data directory; made where it is missing")
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
  command
      ->add_option("--machine", options.machine,
                   "Machine that files are filed under which do not name one (default: import)")
      ->type_name("ID");
  command->add_option("--job", options.job, "Job of such files (default: the name of their main binary)")
      ->type_name("NAME");
  command->add_flag(
      "--json", options.reports_json,
      "Print a line of JSON for each event of each file: file, event, samples, lost, hits, value, unit");
  command
      ->add_option(
          "files", options.files,
          "Raw profiles (plimsolld --once, --scrape), recordings of perf (perf.data), pprof, or text of "
          "heap, growth and contention profiles; none: only look for better symbols")
      ->type_name("FILE");
}

void add_server(CLI::App& app, ServerOptions& options) {
  auto* command = app.add_subcommand("server", "Receive profiles of daemons and answer questions about them");
  add_parameter(*command, "--data", "server.data", options.flags, "Data directory; made where it is missing")
      ->type_name("DIR");
  add_parameter(*command, "--listen", "server.listen", options.flags,
                "Address for people and the API (default 127.0.0.1:7070)")
      ->type_name("ADDR");
  add_parameter(*command, "--fleet-listen", "server.fleet_listen", options.flags,
                "Address for daemons (default 127.0.0.1:7071)")
      ->type_name("ADDR");
  command->add_option("--config", options.config_path, "Configuration (see config/server.example.toml)")
      ->type_name("FILE");
}

void add_demo(CLI::App& app, DemoOptions& options) {
  auto* command =
      app.add_subcommand("demo", "Server, daemon and a small real workload on this machine, then the answer");
  command->add_option("--data", options.data_dir, "Data directory (default: a new one under /tmp)")
      ->type_name("DIR");
  command->add_option("--seconds", options.seconds, "How long to profile (default 20)")
      ->check(CLI::Range(2, 3600));
  command->add_option("--rate", options.rate_hz, "Samples a second on each CPU (default 199)")
      ->type_name("HZ")
      ->check(CLI::Range(1, 1000));
}

// What each subcommand was told.
struct Options {
  TopOptions top;
  FlameOptions flame;
  ExportOptions exporting;
  MachinesOptions machines;
  SqlOptions sql;
  ImportOptions import;
  ServerOptions server;
  DemoOptions demo;
  StoreCompactOptions store_compact;
  SymbolOptions symbols;
};

// Commands that ask need somebody to ask.
Status check_source(std::string_view command, const AnswerSource& source) {
  return source.server.empty() && source.data_dir.empty()
             ? fail(ErrorCode::kInvalid, "{}: say where to look: --server ADDR or --data DIR", command)
             : Status();
}

int run_parsed(const CLI::App& app, const Options& options) {
  const auto ask = [](std::string_view command, const auto& asking, auto run_command) {
    const Status checked = check_source(command, asking.source);
    return checked ? run_command(asking) : checked;
  };
  Status done;
  if (app.got_subcommand("top")) {
    done = ask("top", options.top, run_top);
  } else if (app.got_subcommand("flame")) {
    done = ask("flame", options.flame, run_flame);
  } else if (app.got_subcommand("export")) {
    done = options.exporting.output.empty()
               ? fail(ErrorCode::kInvalid, "export: say what to write: --pprof FILE or --gperftools FILE")
               : ask("export", options.exporting, run_export);
  } else if (app.got_subcommand("machines")) {
    done = ask("machines", options.machines, run_machines);
  } else if (app.got_subcommand("sql")) {
    done = ask("sql", options.sql, run_sql);
  } else if (app.got_subcommand("import")) {
    done = run_import(options.import);
  } else if (app.got_subcommand("server")) {
    done = run_server(options.server);
  } else if (app.got_subcommand("store")) {
    done = run_store_compact(options.store_compact);
  } else if (gives_symbol_command(app)) {
    done = run_symbol_command(app, options.symbols);
  } else {
    done = run_demo(options.demo);
  }
  return done ? 0 : report(done.error());
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) {
      names.push_back(command->get_name());
    }
  }
  return names;
}

void suggest_command(const CLI::App& app, std::string_view typed) {
  const auto names = command_names(app);
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (const auto nearest = nearest_word(typed, known)) {
    std::cerr << "Did you mean " << *nearest << "?\n";
  }
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("Plimsoll: a continuous profiler for whole fleets.");
  app.require_subcommand(0, 1);  // where there is none, we say more than CLI11 does
  app.footer(
      "\"plimsoll demo\" shows it at work on this machine; \"plimsoll COMMAND --help\" explains each "
      "command.");
  Options options;
  add_demo(app, options.demo);
  add_top(app, options.top);
  add_flame(app, options.flame);
  add_export(app, options.exporting);
  add_machines(app, options.machines);
  add_sql(app, options.sql);
  add_import(app, options.import);
  add_server(app, options.server);
  add_store_command(app, options.store_compact);
  add_symbol_commands(app, options.symbols);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error);
    if (status != 0 && app.get_subcommands().empty()) {
      suggest_command(app, argc > 1 ? argv[1] : "");
    }
    return status == 0 ? 0 : kExitUsage;
  }
  if (app.get_subcommands().empty()) {
    std::cerr << "plimsoll: say what to do: " << fmt::format("{}", fmt::join(command_names(app), ", "))
              << " (see --help)\n";
    return kExitUsage;
  }
  return run_parsed(app, options);
}

}  // namespace plimsoll::cli
