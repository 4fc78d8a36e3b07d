#include "cli/views/view_command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/views/flags.h"
#include "cli/views/table_commands.h"
#include "query/sql/sql.h"

namespace plimsoll::cli {

void ViewCommands::add_to(CLI::App& app) {
  add_tables(app);
  add_flame(app);
  add_export(app);
  add_sql(app);
}

bool ViewCommands::is_given() const {
  return std::ranges::any_of(commands_, [](const Command& command) { return command.parsed->parsed(); });
}

Status ViewCommands::run() const {
  const auto given =
      std::ranges::find_if(commands_, [](const Command& command) { return command.parsed->parsed(); });
  if (!is_named(*given->source)) {
    return fail(ErrorCode::kInvalid, "{}: say where to look: --server ADDR or --data DIR",
                given->parsed->get_name());
  }
  return given->run();
}

void ViewCommands::add_tables(CLI::App& app) {
  for (const TableCommand& table : table_commands()) {
    TableOptions& options = tables_.emplace_back();
    auto* command = app.add_subcommand(table.name, table.description);
    add_source(*command, options.source);
    add_forms(*command, options.form);
    table.add_flags(*command, options.parameters);
    command->footer(table.footer());
    commands_.push_back({command, &options.source, [run = table.run, &options] { return run(options); }});
  }
}

void ViewCommands::add_flame(CLI::App& app) {
  FlameOptions& options = flame_;
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
  add_no_margins(*command, options.parameters);
  command->footer(
      "Examples:\n"
      "  plimsoll flame --data DIR --where app=gzip              a tree for people\n"
      "  plimsoll flame --data DIR --folded | flamegraph.pl      a picture\n");
  commands_.push_back({command, &options.source, [this] { return run_flame(flame_); }});
}

void ViewCommands::add_export(CLI::App& app) {
  ExportOptions& options = export_;
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
  commands_.push_back({command, &options.source, [this]() -> Status {
                         if (export_.output.empty()) {
                           return fail(ErrorCode::kInvalid,
                                       "export: say what to write: --pprof FILE or --gperftools FILE");
                         }
                         return run_export(export_);
                       }});
}

void ViewCommands::add_sql(CLI::App& app) {
  SqlOptions& options = sql_;
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
  commands_.push_back({command, &options.source, [this] { return run_sql(sql_); }});
}

}  // namespace plimsoll::cli
