#include "http/token.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"

namespace plimsoll::cli {

Status print_token(const TokenOptions& options) {
  const std::string token = http::make_token();
  const std::string hash = http::token_hash(token);
  if (options.json) {
    const nlohmann::ordered_json document{
        {"token", token}, {"name", options.name}, {"sha256", hash}, {"role", options.role}};
    fmt::print("{}\n", document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return {};
  }
  fmt::print(
      "{}\n"
      "# The token, which is kept nowhere. For the server's configuration, read when it starts:\n"
      "[[access.tokens]]\nname = {}\nsha256 = \"{}\"\nrole = \"{}\"\n",
      token, nlohmann::json(options.name).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), hash,
      options.role);
  return {};
}

}  // namespace plimsoll::cli
