#include "query/views/top.h"

#include <fmt/core.h>

#include "base/time.h"
#include "cli/commands.h"

namespace plimsoll::cli {
namespace {

Result<query::Table> top_of_directory(const TopOptions& options) {
  const auto request = query::parse_top(options.parameters, wall_now_ns());
  if (!request) {
    return propagate(request);
  }
  const auto snapshot = query::Snapshot::load(options.source.data_dir);
  if (!snapshot) {
    return propagate(snapshot);
  }
  return query::top(*request, **snapshot);
}

Result<query::Table> top_of_server(const TopOptions& options) {
  const auto body = ask_server(options.source, "/api/v1/top", options.parameters);
  return body ? query::from_json(*body) : propagate(body);
}

}  // namespace

Status run_top(const TopOptions& options) {
  const auto table = options.source.server.empty() ? top_of_directory(options) : top_of_server(options);
  if (!table) {
    return propagate(table);
  }
  fmt::print("{}", query::to_form(*table, options.form));
  return {};
}

}  // namespace plimsoll::cli
