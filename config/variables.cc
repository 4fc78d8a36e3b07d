#include "config/variables.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/suggest.h"
#include "config/daemon_config.h"
#include "config/server_config.h"

namespace plimsoll::config {
namespace {

constexpr std::string_view kPrefix = "PLIMSOLL_";
constexpr std::string_view kOfTests = "PLIMSOLL_TEST_";

// Of both programs: one starts the other, and a machine may run both.
std::vector<std::string> known_variables() {
  std::vector<std::string> known{"PLIMSOLL_CORPUS", "PLIMSOLL_SERVER", "PLIMSOLL_SERVER_CA",
                                 "PLIMSOLL_TOKEN"};
  DaemonConfig daemon;
  ServerConfig server;
  for (const std::vector<Key>& keys : {daemon.keys(), server.keys()}) {
    for (const Key& key : keys) {
      known.push_back(variable_of(key.name));
    }
  }
  return known;
}

// Kubernetes, and Docker before it, tell each container of services by variables with a service's name in front, which may be ours:
// PLIMSOLL_SERVICE_HOST, PLIMSOLL_PORT_7070_TCP_ADDR.
bool is_of_a_service(std::string_view name) {
  const size_t port = name.rfind("_PORT");
  const std::string_view behind =
      port == std::string_view::npos ? "x" : name.substr(port + std::string_view("_PORT").size());
  const bool is_port =
      behind.empty() || (behind.size() > 1 && behind[0] == '_' && behind[1] >= '0' && behind[1] <= '9');
  return is_port || name.contains("_SERVICE_HOST") || name.contains("_SERVICE_PORT");
}

}  // namespace

Status check_variables(const char* const* environment) {
  std::vector<std::string> known;
  for (; *environment != nullptr; ++environment) {
    const std::string_view variable = *environment;
    const std::string_view name = variable.substr(0, variable.find('='));
    if (!name.starts_with(kPrefix) || name.starts_with(kOfTests)) {
      continue;
    }
    if (known.empty()) {
      known = known_variables();
    }
    if (std::ranges::find(known, name) != known.end() || is_of_a_service(name)) {
      continue;
    }
    const std::vector<std::string_view> words(known.begin(), known.end());
    const auto nearest = nearest_word(name, words);
    return with_hint(fail(ErrorCode::kInvalid, "unknown environment variable {}", name),
                     nearest ? fmt::format("did you mean {}?", *nearest)
                             : std::string("unset it; config/server.example.toml and daemon.example.toml "
                                           "list the keys, whose variables are PLIMSOLL_TABLE_KEY"));
  }
  return {};
}

}  // namespace plimsoll::config
