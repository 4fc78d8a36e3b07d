#include "server/relay/relay_door.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "http/exchange.h"
#include "http/token.h"
#include "proto/fleet_messages.h"
#include "server/relay/relay_codec.h"
#include "server/relay/relay_limits.h"

namespace plimsoll::server {
namespace {

using Kind = wire::Relayed::RequestCase;

constexpr size_t kMaxPeerBytes = 64;

// Where a daemon would have sent it.
struct DirectRequest {
  std::string method;
  std::string path;
  std::string body;
};

// Takes the body out of the entry.
std::optional<DirectRequest> direct_request(wire::Relayed& entry) {
  const auto uploaded = [](std::string_view prefix, wire::RelayedUpload& upload) {
    return DirectRequest{"PUT", std::string(prefix) + upload.id(), std::move(*upload.mutable_content())};
  };
  switch (entry.request_case()) {
    case wire::Relayed::kRegistration:
      return DirectRequest{"POST", std::string(wire::kRegisterPath),
                           std::move(*entry.mutable_registration())};
    case wire::Relayed::kHeartbeat:
      return DirectRequest{"POST", std::string(wire::kHeartbeatPath), std::move(*entry.mutable_heartbeat())};
    case wire::Relayed::kProfile:
      return uploaded(wire::kProfilesPath, *entry.mutable_profile());
    case wire::Relayed::kRecording:
      return uploaded(wire::kBurstsPath, *entry.mutable_recording());
    case wire::Relayed::REQUEST_NOT_SET:
      break;
  }
  return std::nullopt;
}

// Without its body: access is decided before that is looked at.
http::Request head_of(const DirectRequest& direct, const wire::RelayedCredentials& credentials,
                      bool takes_certificates) {
  http::Request request{.method = direct.method,
                        .path = direct.path,
                        .peer = printable(std::string_view(credentials.peer()).substr(0, kMaxPeerBytes))};
  if (!credentials.token().empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + credentials.token());
  }
  if (!credentials.enrolment().empty()) {
    request.headers.emplace_back(http::kEnrolmentHeader, credentials.enrolment());
  }
  if (takes_certificates) {
    request.certified_name = credentials.certified_name();
  }
  return request;
}

class RelayDoor {
 public:
  RelayDoor(http::RouteTable direct, const RelayDoorOptions& options)
      : direct_(std::move(direct)), options_(options) {}

  // Of batches with requests of these kinds alone.
  http::Response answer(const http::Request& batch, const std::vector<Kind>& kinds) {
    auto request = decode_relay_request(as_bytes(batch.body));
    if (!request) {
      return http::error_response(request.error());
    }
    wire::RelayReply reply;
    reply.set_format_version(wire::kFormatVersion);
    for (wire::Relayed& entry : *request->mutable_entries()) {
      const bool is_taken = std::ranges::find(kinds, entry.request_case()) != kinds.end();
      *reply.add_replies() = relayed(is_taken ? answer_one(entry) : of_another_kind(batch));
      entry.Clear();
    }
    return {.content_type = std::string(wire::kProtobufType), .body = reply.SerializeAsString()};
  }

 private:
  static http::Response of_another_kind(const http::Request& batch) {
    return http::error_response(
        with_hint(fail(ErrorCode::kUnavailable, "{} takes no requests of this kind", batch.path),
                  "upgrade the primary before its ingest servers")
            .error());
  }

  http::Response answer_one(wire::Relayed& entry) {
    auto direct = direct_request(entry);
    if (!direct) {
      return http::error_response(fail(ErrorCode::kInvalid, "the entry has no request").error());
    }
    http::Request request = head_of(*direct, entry.credentials(), options_.takes_certificates);
    http::RouteMatch match = direct_.match(request.method, request.path);
    http::Response response = match.route == nullptr
                                  ? std::move(match.refusal)
                                  : answer_at(*match.route, request, std::move(direct->body));
    if (options_.access_control != nullptr) {
      options_.access_control->answered(request, match.route, response.status);
    }
    return response;
  }

  http::Response answer_at(const http::Route& route, http::Request& request, std::string body) {
    if (options_.access_control != nullptr) {
      if (auto refused = options_.access_control->admit(request, route)) {
        return *std::move(refused);
      }
    }
    if (body.size() > route.max_body_bytes) {
      return http::error_response(fail(ErrorCode::kTooLarge, "{} {} takes a body of at most {} bytes",
                                       request.method, route.path, route.max_body_bytes)
                                      .error());
    }
    request.body = std::move(body);
    return http::answer_of(route, request);
  }

  const http::RouteTable direct_;
  const RelayDoorOptions options_;
};

http::Route relay_route(const std::shared_ptr<RelayDoor>& door, std::string_view path,
                        std::vector<Kind> kinds, http::Threads threads, size_t max_body_bytes) {
  return {.method = "POST",
          .path = std::string(path),
          .max_body_bytes = max_body_bytes,
          .handle = [door, kinds = std::move(kinds)](
                        const http::Request& batch) { return door->answer(batch, kinds); },
          .threads = threads,
          .right = http::Right::kRelay};
}

}  // namespace

Result<std::vector<http::Route>> relay_routes(std::vector<http::Route> direct,
                                              const RelayDoorOptions& options) {
  auto table = http::RouteTable::create(std::move(direct));
  if (!table) {
    return propagate(table, "relaying requests of daemons");
  }
  const auto door = std::make_shared<RelayDoor>(*std::move(table), options);
  const size_t max_body_bytes = max_relay_body_bytes(options.max_upload_bytes);
  // Profiles wait in line with those that daemons send directly; heartbeats and recordings wait for no profile.
  return std::vector<http::Route>{
      relay_route(door, kRelayMachinesPath, {Kind::kRegistration, Kind::kHeartbeat}, http::Threads::kControl,
                  max_body_bytes),
      relay_route(door, kRelayProfilesPath, {Kind::kProfile}, http::Threads::kLong, max_body_bytes),
      relay_route(door, kRelayRecordingsPath, {Kind::kRecording}, http::Threads::kBackground,
                  max_body_bytes)};
}

}  // namespace plimsoll::server
