#include "http/token.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "config/server_config.h"
#include "query/table/table.h"

namespace plimsoll::cli {

Status print_token(const TokenOptions& options) {
  const config::AccessToken entry{
      .name = options.name, .sha256 = {}, .role = options.role, .expires = options.expires};
  if (const auto expires_ns = entry.expires_ns(); !expires_ns) {
    return with_field(propagate(expires_ns), "--expires");
  }
  const std::string token = http::make_token();
  const std::string hash = http::token_hash(token);
  if (options.json) {
    query::Table table;
    table.columns = {{"token", ""}, {"name", ""}, {"sha256", ""}, {"role", ""}, {"expires", ""}};
    table.rows.push_back({token, options.name, hash, options.role,
                          options.expires.empty() ? query::Value() : query::Value(options.expires)});
    fmt::print("{}", query::to_json(table));
    return {};
  }
  fmt::print(
      "{}\n# Save the token above now: it cannot be shown again. Add this to the server's configuration, and "
      "restart the server or\n# send it SIGHUP:\n[[access.tokens]]\nname = {}\nsha256 = \"{}\"\nrole = "
      "\"{}\"\n{}",
      token, nlohmann::json(options.name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), hash,
      options.role, options.expires.empty() ? "" : fmt::format("expires = \"{}\"\n", options.expires));
  return {};
}

}  // namespace plimsoll::cli
