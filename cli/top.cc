#include "query/views/top.h"

#include <fmt/core.h>

#include "base/time.h"
#include "cli/commands.h"
#include "http/client.h"

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
  std::string path = "/api/v1/top";
  char separator = '?';
  for (const auto& [name, text] : options.parameters) {
    path += separator + http::url_encode(name) + "=" + http::url_encode(text);
    separator = '&';
  }
  http::Client client({.base_url = options.source.server});
  const auto response = client.send("GET", path);
  if (!response) {
    return propagate(response, "asking {}", options.source.server);
  }
  if (!response->ok()) {
    return std::unexpected(http::error_of(*response, "asking " + options.source.server));
  }
  return query::from_json(response->body);
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
