#include "server/relay/relay.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "http/token.h"
#include "proto/fleet.pb.h"
#include "proto/fleet_messages.h"
#include "server/relay/relay_limits.h"

namespace plimsoll::server {
namespace {

// Of requests that are not profiles.
constexpr size_t kShareOfOthers = 4;

LaneSettings machines_lane(const RelaySettings& settings) {
  return {.path = std::string(kRelayMachinesPath),
          .connections = std::max(1U, settings.connections / 4),
          .limits = {.max_bytes = settings.max_waiting_bytes / kShareOfOthers},
          .asks_while_idle = true};
}

LaneSettings profiles_lane(const RelaySettings& settings) {
  const unsigned of_machines = machines_lane(settings).connections;
  return {.path = std::string(kRelayProfilesPath),
          .connections = std::max(of_machines + 1, settings.connections) - of_machines,
          .limits = {.max_bytes = settings.max_waiting_bytes}};
}

LaneSettings recordings_lane(const RelaySettings& settings) {
  return {.path = std::string(kRelayRecordingsPath),
          .limits = {.max_bytes = settings.max_waiting_bytes / kShareOfOthers}};
}

wire::Relayed with_credentials(const http::Request& request) {
  wire::Relayed entry;
  wire::RelayedCredentials& credentials = *entry.mutable_credentials();
  credentials.set_token(std::string(http::bearer_token(request).value_or("")));
  credentials.set_enrolment(std::string(request.header(http::kEnrolmentHeader)));
  credentials.set_certified_name(request.certified_name);
  credentials.set_peer(request.peer);
  return entry;
}

// Moves the body of a request that has been checked into its entry.
using TakeBody = std::function<void(http::Request& request, wire::Relayed& entry)>;
using CheckBody = std::function<Status(const std::string& body)>;

std::function<void(http::Request&, http::LaterAnswer)> forwarding(CheckBody check, TakeBody take,
                                                                  RelayLane& lane) {
  return [check = std::move(check), take = std::move(take), &lane](http::Request& request,
                                                                   http::LaterAnswer answer) {
    if (const Status checked = check(request.body); !checked) {
      return answer.give(http::error_response(checked.error()));
    }
    wire::Relayed entry = with_credentials(request);
    take(request, entry);
    lane.add({.request = std::move(entry), .answer = std::move(answer)});
  };
}

template <typename Message>
Status check_message(const std::string& body) {
  const auto message = wire::parse_message<Message>(body);
  return message ? Status() : propagate(message);
}

wire::RelayedUpload upload_in(http::Request& request, std::string_view prefix) {
  wire::RelayedUpload upload;
  upload.set_id(request.path.substr(prefix.size()));
  upload.set_content(std::move(request.body));
  return upload;
}

http::Route message_route(std::string_view path) {
  return {.method = "POST",
          .path = std::string(path),
          .max_body_bytes = wire::kMaxFleetMessageBytes,
          .right = http::Right::kNone};
}

http::Route upload_route(std::string_view path, uint64_t max_bytes) {
  return {.method = "PUT",
          .path = std::string(path),
          .is_prefix = true,
          .max_body_bytes = max_bytes,
          .right = http::Right::kNone};
}

}  // namespace

Relay::Relay(const RelaySettings& settings)
    : max_upload_bytes_(settings.max_upload_bytes),
      machines_(machines_lane(settings), settings.connect, watch_),
      profiles_(profiles_lane(settings), settings.connect, watch_),
      recordings_(recordings_lane(settings), settings.connect, watch_) {}

std::vector<http::Route> Relay::routes() {
  http::Route registration = message_route(wire::kRegisterPath);
  registration.handle_later = forwarding(
      check_message<wire::RegisterRequest>,
      [](http::Request& request, wire::Relayed& entry) { entry.set_registration(std::move(request.body)); },
      machines_);
  http::Route heartbeat = message_route(wire::kHeartbeatPath);
  heartbeat.handle_later = forwarding(
      check_message<wire::HeartbeatRequest>,
      [](http::Request& request, wire::Relayed& entry) { entry.set_heartbeat(std::move(request.body)); },
      machines_);
  http::Route profile = upload_route(wire::kProfilesPath, max_upload_bytes_);
  profile.handle_later = forwarding(
      [limits = wire::ProfileLimits{.max_encoded_bytes = max_upload_bytes_}](const std::string& body) {
        const auto framed = wire::check_framing(as_bytes(body), limits);
        return framed ? Status() : propagate(framed);
      },
      [](http::Request& request, wire::Relayed& entry) {
        *entry.mutable_profile() = upload_in(request, wire::kProfilesPath);
      },
      profiles_);
  http::Route recording = upload_route(wire::kBurstsPath, max_upload_bytes_);
  recording.handle_later = forwarding([](const std::string&) { return Status(); },
                                      [](http::Request& request, wire::Relayed& entry) {
                                        *entry.mutable_recording() = upload_in(request, wire::kBurstsPath);
                                      },
                                      recordings_);
  return {std::move(registration), std::move(heartbeat), std::move(profile), std::move(recording)};
}

RelayStatus Relay::status() const {
  RelayStatus status = watch_.status();
  for (const RelayLane* const lane : {&machines_, &profiles_, &recordings_}) {
    status.waiting += lane->waiting();
    status.held_bytes += lane->held_bytes();
  }
  return status;
}

// All at once, so that the grace of each is that of all.
void Relay::stop() {
  for (RelayLane* const lane : {&machines_, &profiles_, &recordings_}) {
    lane->begin_stop();
  }
  for (RelayLane* const lane : {&machines_, &profiles_, &recordings_}) {
    lane->stop();
  }
}

}  // namespace plimsoll::server
