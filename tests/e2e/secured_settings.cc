#include "tests/e2e/secured_settings.h"

#include <fmt/core.h>

#include <fstream>

namespace plimsoll::testing {

SecuredSettings::SecuredSettings(const std::string& extensions) {
  const IssuedCertificate server = authority_.issue("server", extensions);
  config_ = fmt::format(
      "[server]\ncertificate = \"{}\"\nkey = \"{}\"\n[access]\nmachine_ca = \"{}\"\nmax_requests_per_minute "
      "= 0\n",
      server.certificate, server.key, machines_.ca());
  for (const std::string role :
       {"read", "admin", "upload", "enrol", "fdo", "binaries", "symbolizer", "relay", "replica"}) {
    const Finished made = run({"plimsoll", "token", "--name", "test-" + role, "--role", role});
    EXPECT_EQ(made.status, 0) << made.err;
    const size_t end_of_token = made.out.find('\n');
    tokens_[role] = made.out.substr(0, end_of_token);
    std::ofstream(token_file(role)) << tokens_[role] << "\n";
    config_ += made.out.substr(end_of_token);
  }
}

std::vector<std::string> SecuredSettings::flags(const std::string& role) const {
  return {"--server-ca", ca(), "--token-file", token_file(role)};
}

}  // namespace plimsoll::testing
