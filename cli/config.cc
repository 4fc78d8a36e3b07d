#include "cli/config.h"

#include <algorithm>
#include <vector>

#include "base/file.h"
#include "base/file_modes.h"
#include "base/time.h"
#include "cli/views/terminal.h"
#include "config/daemon_config.h"
#include "config/server_config.h"
#include "server/config_check.h"
#include "server/server_role.h"

namespace plimsoll::cli {
namespace {

using server::ConfigFinding;

config::LoadInputs inputs_of(const ConfigOptions& options) {
  config::LoadInputs inputs;
  if (!options.path.empty()) {
    inputs.path = options.path;
  }
  return inputs;
}

template <typename Config>
Result<config::Sources> sources_of(const ConfigOptions& options) {
  Config config;
  return config::load(config.keys(), inputs_of(options));
}

Result<config::Sources> sources(const ConfigOptions& options) {
  return options.is_daemon ? sources_of<config::DaemonConfig>(options)
                           : sources_of<config::ServerConfig>(options);
}

ConfigFinding error_of(const Error& error) {
  return {error.field, true, error.text()};
}

// What would make a daemon fail, or tell others its secrets.
std::vector<ConfigFinding> check_daemon(const config::DaemonConfig& config) {
  constexpr uint64_t kMaxPemBytes = 1 << 20;
  std::vector<ConfigFinding> findings;
  for (const auto& [key, path] :
       {std::pair("daemon.server_ca", config.server_ca), std::pair("daemon.certificate", config.certificate),
        std::pair("daemon.key", config.key), std::pair("daemon.enrolment_file", config.enrolment_file)}) {
    const auto content = path.empty() ? Result<std::string>() : read_file(path, kMaxPemBytes);
    if (!content) {
      findings.push_back({key, true, content.error().text()});
    }
  }
  for (const auto& [key, path] :
       {std::pair("daemon.key", config.key), std::pair("daemon.enrolment_file", config.enrolment_file)}) {
    if (!path.empty() && others_may_read(path)) {
      findings.push_back({key, false, fmt::format("{0} is readable by other users: chmod 600 {0}", path)});
    }
  }
  return findings;
}

std::vector<ConfigFinding> findings(const ConfigOptions& options) {
  if (options.is_daemon) {
    const auto config = config::load_daemon_config(inputs_of(options));
    return config ? check_daemon(*config) : std::vector{error_of(config.error())};
  }
  const auto role = server::parse_server_role(options.role);
  const auto config = role ? config::load_server_config(inputs_of(options)) : propagate(role);
  return config ? server::check_config(*config, *role, wall_now_ns()) : std::vector{error_of(config.error())};
}

}  // namespace

Status show_config(const ConfigOptions& options) {
  const auto read = sources(options);
  if (!read) {
    return propagate(read, "reading the configuration");
  }
  query::Table table;
  table.columns = {{"key", ""}, {"value", ""}, {"source", ""}};
  for (const config::Source& source : *read) {
    table.rows.push_back({source.key, source.value, source.where});
  }
  return print(std::move(table), options.form);
}

Status check_config(const ConfigOptions& options) {
  if (options.is_daemon && options.role != "server") {
    return with_hint(with_field(fail(ErrorCode::kInvalid, "plimsolld has no roles"), "--role"),
                     "leave out --role or --daemon");
  }
  const std::vector<ConfigFinding> found = findings(options);
  const auto errors = std::ranges::count_if(found, &ConfigFinding::is_error);
  query::Table table;
  table.columns = {{"state", ""}, {"key", ""}, {"finding", ""}};
  for (const ConfigFinding& finding : found) {
    table.rows.push_back({finding.is_error ? "error" : "warning", finding.key, finding.what});
  }
  table.notes.push_back(fmt::format("{}: errors: {}, warnings: {}",
                                    options.path.empty() ? "the configuration without a file" : options.path,
                                    errors, static_cast<ptrdiff_t>(found.size()) - errors));
  const Status printed = print(std::move(table), options.form);
  const std::string command = options.is_daemon          ? "plimsolld"
                              : options.role == "server" ? "plimsoll server"
                                                         : "plimsoll server --role " + options.role;
  return printed && errors > 0
             ? Status(fail(ErrorCode::kCorrupt, "{} would not start with this configuration", command))
             : printed;
}

}  // namespace plimsoll::cli
