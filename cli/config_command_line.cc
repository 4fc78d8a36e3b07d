#include "cli/config_command_line.h"

#include <CLI/CLI.hpp>

#include "cli/views/flags.h"
#include "server/server_role.h"

namespace plimsoll::cli {
namespace {

void add_config_options(CLI::App& command, ConfigOptions& options) {
  command
      .add_option("--config", options.path,
                  "Configuration file; without it, the defaults and environment variables")
      ->type_name("FILE");
  command.add_flag("--daemon", options.is_daemon,
                   "It is the configuration of plimsolld (default: of the server)");
  add_forms(command, options.form);
}

}  // namespace

void add_config_commands(CLI::App& app, ConfigOptions& options) {
  auto* config = app.add_subcommand("config", "Show and check the configuration of a server or a daemon");
  config->require_subcommand(1);
  auto* show = config->add_subcommand("show", "Show every key, its value, and where the value came from");
  add_config_options(*show, options);
  show->footer(R"(Examples:
  # what a server would read
  plimsoll config show --config /etc/plimsoll/server.toml
  # the defaults of plimsolld, as CSV
  plimsoll config show --daemon --csv
)");
  auto* check = config->add_subcommand(
      "check", "Check a configuration, and the files and addresses it names, before a server starts with it");
  add_config_options(*check, options);
  check
      ->add_option(
          "--role", options.role,
          "Role of the server that is to use it, as of plimsoll server: server (default), symbolizer, "
          "ingest or query")
      ->type_name("ROLE")
      ->check(CLI::IsMember(server::server_role_names()));
  check->footer(
      R"(Errors keep the server from starting; warnings do not. Nothing is written, and a running server is not disturbed.
Exit status 1 where there is an error.

Examples:
  # before a restart or a reload
  plimsoll config check --config /etc/plimsoll/server.toml
  plimsoll config check --config /etc/plimsoll/daemon.toml --daemon
  # of an ingest server
  plimsoll config check --role ingest --config /etc/plimsoll/ingest.toml
)");
}

Status run_config_command(const CLI::App& app, const ConfigOptions& options) {
  return app.get_subcommand("config")->got_subcommand("show") ? show_config(options) : check_config(options);
}

}  // namespace plimsoll::cli
