#include "server/access/authenticator.h"

#include <algorithm>

#include "base/log.h"
#include "base/printable.h"
#include "http/client.h"
#include "http/token.h"

namespace plimsoll::server {
namespace {

using http::Caller;
using http::Request;
using http::Response;
using http::Right;
using http::Role;

constexpr size_t kMaxNotedBytes = 500;

bool is_refusal(unsigned status) {
  return status >= 400 && status < 500;
}

std::string_view host_of(std::string_view peer) {
  return peer.substr(0, peer.rfind(':'));
}

Asker asker_of(const Request& request, const http::Route* route, unsigned status) {
  if (route == nullptr || request.caller.role == Role::kStranger) {
    return Asker::kStranger;
  }
  return route->right == Right::kOrder && !is_refusal(status) ? Asker::kOrderer : Asker::kKnown;
}

// Not more than there are routes where whoever asks could make up as many as he likes; what profiles are called is random, too.
std::string noted_request(const Request& request, const http::Route* route) {
  if (route == nullptr) {
    return "(no such route)";
  }
  std::string text = route->method + " " + route->path;
  if (request.caller.role == Role::kStranger || request.caller.role == Role::kMachine ||
      request.caller.role == Role::kSymbolizer || request.caller.role == Role::kRelay) {
    return text;
  }
  // The path says what the order is about.
  if (route->is_prefix && route->right == Right::kOrder && request.path.starts_with(route->path)) {
    text += http::url_encode(request.path.substr(route->path.size(), kMaxNotedBytes));
  }
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    if (text.size() > kMaxNotedBytes) {
      break;
    }
    text += separator + http::url_encode(name) + "=" + http::url_encode(value);
    separator = '&';
  }
  text.resize(std::min(text.size(), kMaxNotedBytes));
  return printable(text);
}

Response unauthenticated(const Request& request, bool has_expired) {
  const bool showed_token = http::bearer_token(request).has_value();
  const Error error = has_expired    ? Error{ErrorCode::kDenied,
                                          "the token has expired",
                                             {},
                                          "ask the server's administrator for a new one"}
                      : showed_token ? Error{ErrorCode::kDenied,
                                             "unknown token",
                                             {},
                                             "daemons of new machines need a token with the role enrol "
                                             "(daemon.enrolment_file); users: ask the server's administrator"}
                                     : Error{ErrorCode::kDenied,
                                             "authentication is required",
                                             {},
                                             "users: give --token-file or set PLIMSOLL_TOKEN; daemons: set "
                                             "daemon.enrolment_file or daemon.certificate"};
  Response response = http::error_response(error);
  response.status = 401;
  response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

Response forbidden(const Caller& caller, const Request& request) {
  return http::error_response(
      with_hint(fail(ErrorCode::kDenied, "{} (role {}) may not {} {}", text_of(caller), name_of(caller.role),
                     request.method, printable(request.path)),
                "ask the server's administrator for a token with another role")
          .error());
}

Response too_often(const Caller& caller, int64_t wait_ns) {
  Response response = http::error_response(
      Error{ErrorCode::kUnavailable, printable(text_of(caller)) + " is over its request limit", {}, "wait"});
  response.status = 429;
  response.headers.emplace_back("Retry-After", std::to_string((wait_ns + kNsPerSecond - 1) / kNsPerSecond));
  return response;
}

}  // namespace

class Authenticator::ListenerAccess : public http::AccessControl {
 public:
  ListenerAccess(Authenticator& authenticator, Notes notes) : authenticator_(authenticator), notes_(notes) {}

  std::optional<Response> admit(Request& request, const http::Route& route) override {
    return authenticator_.admit(request, route);
  }
  void answered(const Request& request, const http::Route* route, unsigned status) override {
    authenticator_.note(request, route, status, notes_);
  }

 private:
  Authenticator& authenticator_;
  const Notes notes_;
};

Result<std::unique_ptr<Authenticator>> Authenticator::open(AccessSettings settings,
                                                           store::AccessStore accounts,
                                                           store::AccessStore log) {
  auto opened = MachineAccounts::open(std::move(accounts));
  return opened ? std::unique_ptr<Authenticator>(
                      new Authenticator(std::move(settings), std::move(*opened), std::move(log)))
                : Result<std::unique_ptr<Authenticator>>(propagate(opened));
}

Authenticator::Authenticator(AccessSettings settings, std::unique_ptr<MachineAccounts> accounts,
                             store::AccessStore log)
    : settings_(std::move(settings)),
      accounts_(std::move(accounts)),
      log_(std::move(log)),
      rates_(settings_.max_requests_per_minute),
      token_rates_(settings_.max_requests_per_minute_per_token) {
  for (const KnownToken& token : settings_.tokens) {
    tokens_.emplace(token.hash, token);
  }
}

Status Authenticator::reload(std::vector<KnownToken> tokens) {
  if ((!tokens.empty() || settings_.trusts_certificates) != settings_.asks()) {
    return with_hint(
        fail(ErrorCode::kUnsupported, "authentication cannot be turned on or off while the server runs"),
        "restart the server");
  }
  std::map<std::string, KnownToken, std::less<>> by_hash;
  for (KnownToken& token : tokens) {
    std::string hash = token.hash;
    by_hash.emplace(std::move(hash), std::move(token));
  }
  const std::lock_guard lock(tokens_mutex_);
  tokens_.swap(by_hash);
  return {};
}

std::unique_ptr<http::AccessControl> Authenticator::access_control(Notes notes) {
  return std::make_unique<ListenerAccess>(*this, notes);
}

std::optional<Response> Authenticator::admit(Request& request, const http::Route& route) {
  if (!settings_.asks()) {
    return std::nullopt;
  }
  request.caller = caller_of(request, route.right);
  const Caller& caller = request.caller;
  if (!permits(caller.role, route.right)) {
    const auto token = http::bearer_token(request);
    return caller.role == Role::kStranger ? unauthenticated(request, token && has_expired(*token))
                                          : forbidden(caller, request);
  }
  return caller.role == Role::kMachine ? refusal_of_machine(caller) : refusal_of_token(caller);
}

std::optional<KnownToken> Authenticator::token_of(std::string_view hash) const {
  const std::shared_lock lock(tokens_mutex_);
  const auto found = tokens_.find(hash);
  return found == tokens_.end() || settings_.wall_now_ns() >= found->second.expires_ns
             ? std::nullopt
             : std::optional(found->second);
}

bool Authenticator::has_expired(std::string_view token) const {
  const std::shared_lock lock(tokens_mutex_);
  const auto found = tokens_.find(http::token_hash(token));
  return found != tokens_.end() && settings_.wall_now_ns() >= found->second.expires_ns;
}

// Orders are never kept waiting: the kill switch is among them. Nor are relays: each request that they forward counts for its machine.
std::optional<Response> Authenticator::refusal_of_token(const Caller& caller) {
  if (caller.role != Role::kRead && caller.role != Role::kUpload && caller.role != Role::kFdo &&
      caller.role != Role::kBinaries && caller.role != Role::kSymbolizer && caller.role != Role::kReplica) {
    return std::nullopt;
  }
  const int64_t wait_ns = token_rates_.wait_ns(caller.name, settings_.monotonic_now_ns());
  return wait_ns == 0 ? std::nullopt : std::optional(too_often(caller, wait_ns));
}

Caller Authenticator::caller_of(const Request& request, Right right) const {
  if (!request.certified_name.empty()) {
    return {.role = Role::kMachine, .name = request.certified_name, .by_certificate = true};
  }
  const auto token = http::bearer_token(request);
  if (!token) {
    return {Role::kStranger};
  }
  const std::string hash = http::token_hash(*token);
  if (const auto known = token_of(hash)) {
    return {known->role, known->name};
  }
  if (auto machine = accounts_->machine_of(hash)) {
    return {Role::kMachine, *std::move(machine)};
  }
  const std::string_view enrolment = request.header(http::kEnrolmentHeader);
  const auto permit =
      right == Right::kEnrol && !enrolment.empty() ? token_of(http::token_hash(enrolment)) : std::nullopt;
  const bool may_enrol = permit && permit->role == Role::kEnrol;
  return may_enrol ? Caller{Role::kEnrol, permit->name, http::is_token(*token) ? hash : ""}
                   : Caller{Role::kStranger};
}

std::optional<Response> Authenticator::refusal_of_machine(const Caller& caller) {
  if (accounts_->is_revoked(caller.name)) {
    return http::error_response(
        with_hint(fail(ErrorCode::kDenied, "machine {} is revoked", printable(caller.name)),
                  "an administrator can readmit it: plimsoll machines --readmit ID")
            .error());
  }
  const int64_t wait_ns = rates_.wait_ns(caller.name, settings_.monotonic_now_ns());
  return wait_ns == 0 ? std::nullopt : std::optional(too_often(caller, wait_ns));
}

Status Authenticator::enrol(const Caller& caller, const std::string& machine_id) {
  const int64_t now_ns = settings_.wall_now_ns();
  if (caller.role == Role::kMachine) {
    return caller.by_certificate ? accounts_->know(machine_id, now_ns) : Status();
  }
  if (caller.role != Role::kEnrol) {
    return {};
  }
  if (caller.wanted_token.empty()) {
    return with_hint(fail(ErrorCode::kDenied, "machine {} sent no token of its own", machine_id),
                     "it must have 16 to 256 visible characters; the token with the role enrol is sent in "
                     "the header Plimsoll-Enrolment");
  }
  const Status enrolled = accounts_->enrol(machine_id, caller.wanted_token, caller.name, now_ns);
  if (enrolled) {
    log_.note({now_ns, now_ns, printable(caller.name), "", "enrol machine " + printable(machine_id), 200, 1},
              Asker::kOrderer);
  }
  return enrolled;
}

void Authenticator::note(const Request& request, const http::Route* route, unsigned status, Notes notes) {
  const bool is_refused = is_refusal(status);
  const Right right = route == nullptr ? Right::kNone : route->right;
  const int64_t now_ns = settings_.wall_now_ns();
  if (!is_refused && notes == Notes::kRefusals && right == Right::kUpload) {
    // In sum: of a hundred thousand machines each has its own profiles elsewhere.
    const bool is_machine = request.caller.role == Role::kMachine;
    return log_.note({now_ns, now_ns, is_machine ? "(machines)" : printable(text_of(request.caller)), "",
                      route->method + " " + route->path, status, 1},
                     Asker::kKnown);
  }
  if (!is_refused && (notes == Notes::kRefusals || right == Right::kNone)) {
    return;
  }
  const Asker asker = asker_of(request, route, status);
  log_.note({now_ns, now_ns, printable(text_of(request.caller)), std::string(host_of(request.peer)),
             noted_request(request, route), status, 1},
            asker);
  if (asker == Asker::kOrderer) {
    if (const Status written = log_.write(); !written) {
      log_error("{}", written.error().text());
    }
  }
}

}  // namespace plimsoll::server
