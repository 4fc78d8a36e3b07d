// A server that asks who is there, over TLS, and what it takes to be let in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/certificates.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing {

// The files of a server with a token of each role: "read", "admin", "upload", "enrol", "fdo", "binaries",
// "symbolizer", "relay", "replica".
class SecuredSettings {
 public:
  // `extensions` of its certificate say at which addresses it is: "extendedKeyUsage=...\nsubjectAltName=...".
  explicit SecuredSettings(const std::string& extensions = kForServers);

  // The text of its configuration file: TLS, tokens, machines' certificates by `machines`.
  const std::string& config() const { return config_; }
  // The file of the token of a role.
  std::string token_file(const std::string& role) const { return folder_ / role; }
  std::string token(const std::string& role) const { return tokens_.at(role); }
  std::string ca() const { return authority_.ca(); }
  // "--server-ca FILE --token-file FILE", for our command line.
  std::vector<std::string> flags(const std::string& role) const;

  TestAuthority& machines() { return machines_; }

 private:
  TemporaryFolder folder_;
  TestAuthority authority_;
  TestAuthority machines_;
  std::map<std::string, std::string> tokens_;
  std::string config_;
};

}  // namespace plimsoll::testing
