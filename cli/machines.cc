#include "query/views/machines.h"

#include <fmt/core.h>

#include "base/time.h"
#include "cli/commands.h"

namespace plimsoll::cli {
namespace {

Result<query::Table> machines_of_directory(const MachinesOptions& options) {
  const auto request = query::parse_machines(options.parameters, wall_now_ns());
  if (!request) {
    return propagate(request);
  }
  const auto snapshot = query::Snapshot::load(options.source.data_dir);
  if (!snapshot) {
    return propagate(snapshot);
  }
  const auto fleet = query::LiveFleet::load(options.source.data_dir);
  if (!fleet) {
    return propagate(fleet);
  }
  return query::machines(*request, **snapshot, *fleet);
}

Result<query::Table> machines_of_server(const MachinesOptions& options) {
  const auto body = ask_server(options.source, "/api/v1/machines", options.parameters);
  return body ? query::from_json(*body) : propagate(body);
}

}  // namespace

Status run_machines(const MachinesOptions& options) {
  const auto table =
      options.source.server.empty() ? machines_of_directory(options) : machines_of_server(options);
  if (!table) {
    return propagate(table);
  }
  fmt::print("{}", query::to_form(*table, options.form));
  return {};
}

}  // namespace plimsoll::cli
