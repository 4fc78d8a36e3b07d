// The subcommands that ask views: one for each view of the registry that has a command, and export.
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

  void add_view(CLI::App& app, const query::View& view);
  void add_export(CLI::App& app);

  std::deque<ViewOptions> views_;
  ExportOptions export_;
  std::vector<Command> commands_;
};

}  // namespace plimsoll::cli
