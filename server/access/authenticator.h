// Authentication and authorization: tokens of the configuration, tokens of enrolled machines, machines' certificates.
// docs/security.md has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "http/access_control.h"
#include "server/access/audit_log.h"
#include "server/access/machine_accounts.h"
#include "server/access/request_rates.h"
#include "store/access/access_store.h"

namespace plimsoll::server {

struct KnownToken {
  std::string name;
  std::string hash;  // http::token_hash(), in lower case
  http::Role role = http::Role::kStranger;
  int64_t expires_ns = std::numeric_limits<int64_t>::max();  // wall clock; its expiry
};

struct AccessSettings {
  std::vector<KnownToken> tokens;
  bool trusts_certificates = false;              // daemons' listener asks for them
  double max_requests_per_minute = 0;            // per authenticated machine; 0: no limit
  double max_requests_per_minute_per_token = 0;  // per token of the configuration; 0: no limit
  std::function<int64_t()> wall_now_ns = plimsoll::wall_now_ns;
  std::function<int64_t()> monotonic_now_ns = plimsoll::monotonic_now_ns;

  // Whether authentication is required.
  bool asks() const { return !tokens.empty() || trusts_certificates; }
};

// Any thread may call.
class Authenticator {
 public:
  // Which requests are written down: all that ask for a right, or those that were refused.
  enum class Notes : uint8_t { kAll, kRefusals };

  // `accounts` and `log` are connections to the same database.
  static Result<std::unique_ptr<Authenticator>> open(AccessSettings settings, store::AccessStore accounts,
                                                     store::AccessStore log);

  // Replaces the known tokens. kUnsupported where that would turn authentication on or off.
  Status reload(std::vector<KnownToken> tokens);

  // For a listener; borrows the authenticator.
  std::unique_ptr<http::AccessControl> access_control(Notes notes);

  // Enrols a machine that has a token of role enrol, or a certificate; without authentication, every machine.
  Status enrol(const http::Caller& caller, const std::string& machine_id);

  // Whether authentication is required.
  bool asks() const { return settings_.asks(); }
  MachineAccounts& accounts() { return *accounts_; }
  AuditLog& log() { return log_; }

 private:
  class ListenerAccess;

  Authenticator(AccessSettings settings, std::unique_ptr<MachineAccounts> accounts, store::AccessStore log);
  std::optional<http::Response> admit(http::Request& request, const http::Route& route);
  http::Caller caller_of(const http::Request& request, http::Right right) const;
  // Of those that count now.
  std::optional<KnownToken> token_of(std::string_view hash) const;
  bool has_expired(std::string_view token) const;
  std::optional<http::Response> refusal_of_machine(const http::Caller& caller);
  std::optional<http::Response> refusal_of_token(const http::Caller& caller);
  void note(const http::Request& request, const http::Route* route, unsigned status, Notes notes);

  const AccessSettings settings_;
  mutable std::shared_mutex tokens_mutex_;
  std::map<std::string, KnownToken, std::less<>> tokens_;  // by hash; guarded by tokens_mutex_
  const std::unique_ptr<MachineAccounts> accounts_;
  AuditLog log_;
  RequestRates rates_;
  RequestRates token_rates_;
};

}  // namespace plimsoll::server
