// The subcommands that ask: tables (table_commands.h), flame, export, sql.
#pragma once

#include <deque>
#include <functional>
#include <vector>

#include "cli/views/commands.h"

namespace CLI {
class App;
}

namespace plimsoll::cli {

// What they were told. Not to be moved while the app is there: it holds references.
class ViewCommands {
 public:
  void add_to(CLI::App& app);

  // Whether one of them was given; then it can be run.
  bool is_given() const;
  Status run() const;

 private:
  struct Command {
    const CLI::App* parsed;
    const AnswerSource* source;
    std::function<Status()> run;
  };

  void add_tables(CLI::App& app);
  void add_flame(CLI::App& app);
  void add_export(CLI::App& app);
  void add_sql(CLI::App& app);

  std::deque<TableOptions> tables_;
  FlameOptions flame_;
  ExportOptions export_;
  SqlOptions sql_;
  std::vector<Command> commands_;
};

}  // namespace plimsoll::cli
