#include "cli/views/view_command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "cli/views/parameter_flag.h"
#include "query/snapshot/dimension.h"
#include "query/sql/sql.h"

namespace plimsoll::cli {
namespace {

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

void add_by(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "--by", "by", parameters, "Dimensions to group by (default: function)")
      ->type_name("DIM,...");
}

void add_limit(CLI::App& command, query::Parameters& parameters) {
  add_parameter(command, "--limit", "limit", parameters, "Rows to show (default 20)")->type_name("N");
}

void add_no_margins(CLI::App& command, query::Parameters& parameters) {
  command.add_flag_callback(
      "--no-margins", [&parameters] { parameters.emplace_back("margins", "no"); },
      "Without margins of error, which take a second pass over the rows");
}

void add_top(CLI::App& app, TableOptions& options) {
  auto* command = app.add_subcommand("top", "What is hot: self and total, by any dimensions");
  add_source(*command, options.source);
  add_forms(*command, options.form);
  add_selection(*command, options.parameters);
  add_parameter(
      *command, "--ratio", "ratio", options.parameters,
      "Instead of one event, the ratio of two (instructions/cycles), or ipc, cpi, exact-ipc, exact-cpi")
      ->type_name("NUM/DEN");
  add_by(*command, options.parameters);
  add_limit(*command, options.parameters);
  add_no_margins(*command, options.parameters);
  command->footer(dimension_help());
}

// `callers` or `callees`.
void add_callers(CLI::App& app, const std::string& name, const std::string& description,
                 TableOptions& options) {
  auto* command = app.add_subcommand(name, description);
  add_source(*command, options.source);
  add_forms(*command, options.form);
  add_parameter(*command, "function", "function", options.parameters, "The function's name, as top shows it")
      ->type_name("FUNCTION");
  add_parameter(*command, "--of", "of", options.parameters,
                "In its place, a filter on frames, for all functions that it matches: binary=libz.so.1, "
                "function=~^sqlite3")
      ->type_name("PREDICATE");
  add_selection(*command, options.parameters);
  add_limit(*command, options.parameters);
  add_no_margins(*command, options.parameters);
  command->footer(
      "Shares are of all that the function and what it calls takes, and add up to it. Of a function that "
      "calls itself, callers are those of "
      "its\noutermost frame, callees those of its innermost.\n"
      "Examples:\n"
      "  plimsoll callers --data DIR memcpy                       who has memory copied\n"
      "  plimsoll callees --data DIR parse --where job=search     what parsing spends its time in\n"
      "  plimsoll callers --data DIR --of binary=libz.so.1        who compresses\n");
}

void add_diff(CLI::App& app, TableOptions& options) {
  auto* command =
      app.add_subcommand("diff", "What changed between two selections, and whether by more than chance");
  add_source(*command, options.source);
  add_forms(*command, options.form);
  query::Parameters& parameters = options.parameters;
  add_selection(*command, parameters);
  add_parameter(*command, "--base-where", "base_where", parameters,
                "Filter of the base side alone; may be repeated")
      ->type_name("PREDICATE");
  add_parameter(*command, "--new-where", "new_where", parameters,
                "Filter of the new side alone; may be repeated")
      ->type_name("PREDICATE");
  add_parameter(*command, "--base-since", "base_since", parameters, "Start of the base side")
      ->type_name("TIME");
  add_parameter(*command, "--base-until", "base_until", parameters, "End of the base side")
      ->type_name("TIME");
  add_parameter(*command, "--new-since", "new_since", parameters, "Start of the new side")->type_name("TIME");
  add_parameter(*command, "--new-until", "new_until", parameters, "End of the new side")->type_name("TIME");
  add_parameter(*command, "--earlier", "earlier", parameters,
                "The base is the same so much earlier (with --since)")
      ->type_name("DURATION");
  add_parameter(*command, "--measure", "measure", parameters,
                "What is compared: share (default), or rate: per machine and second")
      ->type_name("WHAT");
  add_by(*command, parameters);
  add_limit(*command, parameters);
  add_parameter(*command, "--among", "among", parameters,
                "Rows that are looked at, the largest of both sides together (default 100); of fewer, "
                "smaller changes are told "
                "from chance")
      ->type_name("N");
  add_no_margins(*command, parameters);
  command->footer(
      "Examples:\n"
      "  plimsoll diff --data DIR --since 1h --earlier 1d                        the last hour and the same "
      "a day before\n"
      "  plimsoll diff --data DIR --base-where revision=41 --new-where revision=42 --where job=search\n"
      "  plimsoll diff --data DIR --base-until 2026-11-21T12:00:00Z --new-since 2026-11-21T12:00:00Z "
      "--measure rate\n");
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

void add_machines(CLI::App& app, TableOptions& options) {
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

Status check_source(std::string_view command, const AnswerSource& source) {
  return source.server.empty() && source.data_dir.empty()
             ? fail(ErrorCode::kInvalid, "{}: say where to look: --server ADDR or --data DIR", command)
             : Status();
}

constexpr std::array<const char*, 8> kCommands{"top",   "callers", "callees",  "diff",
                                               "flame", "export",  "machines", "sql"};

}  // namespace

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

void add_view_commands(CLI::App& app, ViewOptions& options) {
  add_top(app, options.top);
  add_callers(app, "callers", "Who calls a function, and for how much of its time", options.callers);
  add_callers(app, "callees", "What a function calls, and how much of its time goes there", options.callees);
  add_diff(app, options.diff);
  add_flame(app, options.flame);
  add_export(app, options.exporting);
  add_machines(app, options.machines);
  add_sql(app, options.sql);
}

bool gives_view_command(const CLI::App& app) {
  return std::ranges::any_of(kCommands, [&](const char* name) { return app.got_subcommand(name); });
}

Status run_view_command(const CLI::App& app, const ViewOptions& options) {
  const auto ask = [](std::string_view command, const auto& asking, auto run_command) {
    const Status checked = check_source(command, asking.source);
    return checked ? run_command(asking) : checked;
  };
  if (app.got_subcommand("top")) {
    return ask("top", options.top, run_top);
  }
  if (app.got_subcommand("callers")) {
    return ask("callers", options.callers, run_callers);
  }
  if (app.got_subcommand("callees")) {
    return ask("callees", options.callees, run_callees);
  }
  if (app.got_subcommand("diff")) {
    return ask("diff", options.diff, run_diff);
  }
  if (app.got_subcommand("flame")) {
    return ask("flame", options.flame, run_flame);
  }
  if (app.got_subcommand("export")) {
    return options.exporting.output.empty()
               ? fail(ErrorCode::kInvalid, "export: say what to write: --pprof FILE or --gperftools FILE")
               : ask("export", options.exporting, run_export);
  }
  if (app.got_subcommand("machines")) {
    return ask("machines", options.machines, run_machines);
  }
  return ask("sql", options.sql, run_sql);
}

}  // namespace plimsoll::cli
