#include "scheduler/fleet_service.h"

#include "base/hex.h"
#include "base/time.h"
#include "scheduler/census_check.h"

namespace plimsoll::scheduler {
namespace {

constexpr std::string_view kProtobuf = "application/x-protobuf";
constexpr std::string_view kProfilesPath = "/fleet/v1/profiles/";
constexpr size_t kMaxMessageBytes = size_t{1} << 20;

template <typename Message>
http::Response reply(const Result<Message>& result) {
  if (!result) {
    return http::error_response(result.error());
  }
  http::Response response;
  response.content_type = kProtobuf;
  response.body = result->SerializeAsString();
  return response;
}

template <typename Request, typename Handle>
http::Response answer(const http::Request& http_request, Handle handle) {
  Request request;
  if (!request.ParseFromString(http_request.body)) {
    return http::error_response({ErrorCode::kCorrupt,
                                 fmt::format("the body is not a {} message", Request::descriptor()->name()),
                                 "body",
                                 {}});
  }
  if (auto supported = wire::check_version(request.format_version(), Request::descriptor()->name());
      !supported) {
    return http::error_response(supported.error());
  }
  return reply(handle(request));
}

Status check_id(std::string_view id, std::string_view field) {
  if (id.empty() || id.size() > 128) {
    return with_field(fail(ErrorCode::kInvalid, "a machine ID has 1 to 128 bytes, not {}", id.size()),
                      std::string(field));
  }
  return {};
}

// Whether the machine is known.
Result<bool> note_heartbeat(store::LiveMachines& machines, const wire::HeartbeatRequest& request,
                            int64_t heartbeat_ns) {
  const int64_t now_ns = wall_now_ns();
  auto seen = machines.machine_seen(request.machine_id(), request.boot_id(), now_ns, heartbeat_ns);
  if (!seen || !*seen || request.instances().empty()) {
    return seen;
  }
  const auto kept = machines.keep_census({request.machine_id(),
                                          now_ns,
                                          request.census_ns(),
                                          {request.instances().begin(), request.instances().end()}});
  return kept ? Result<bool>(true) : propagate(kept);
}

}  // namespace

FleetService::FleetService(store::Ingest& ingest, FleetOptions options, std::function<void()> accepted)
    : ingest_(ingest), options_(std::move(options)), accepted_(std::move(accepted)) {}

std::vector<http::Route> FleetService::routes() {
  std::vector<http::Route> routes;
  routes.push_back(
      {"POST", "/fleet/v1/register", false, kMaxMessageBytes, [this](const http::Request& request) {
         return answer<wire::RegisterRequest>(
             request, [this](const auto& message) { return register_machine(message); });
       }});
  routes.push_back(
      {"POST", "/fleet/v1/heartbeat", false, kMaxMessageBytes, [this](const http::Request& request) {
         return answer<wire::HeartbeatRequest>(request,
                                               [this](const auto& message) { return heartbeat(message); });
       }});
  routes.push_back({"PUT", std::string(kProfilesPath), true, options_.limits.max_encoded_bytes,
                    [this](const http::Request& request) {
                      const std::string_view id = std::string_view(request.path).substr(kProfilesPath.size());
                      return reply(upload(id, as_bytes(request.body)));
                    }});
  return routes;
}

Result<wire::RegisterReply> FleetService::register_machine(const wire::RegisterRequest& request) {
  if (auto checked = check_id(request.machine().id(), "machine.id"); !checked) {
    return propagate(checked);
  }
  const int64_t now_ns = wall_now_ns();
  const auto done = ingest_.with_machines([&](store::LiveMachines& machines) {
    return machines.register_machine(request.machine(), now_ns, options_.heartbeat_interval_ns);
  });
  if (!done) {
    return propagate(done);
  }
  wire::RegisterReply reply;
  reply.set_format_version(wire::kFormatVersion);
  reply.set_server_time_ns(wall_now_ns());  // now: the database may have been busy
  reply.set_heartbeat_interval_ns(options_.heartbeat_interval_ns);
  // Once for each registration: machines with one kernel differ in the modules they have loaded.
  reply.set_wants_kernel_symbols(true);
  return reply;
}

Result<wire::HeartbeatReply> FleetService::heartbeat(const wire::HeartbeatRequest& request) {
  if (auto checked = check_id(request.machine_id(), "machine_id"); !checked) {
    return propagate(checked);
  }
  if (auto checked = check_census(request); !checked) {
    return propagate(checked);
  }
  const auto seen = ingest_.with_machines([&](store::LiveMachines& machines) {
    return note_heartbeat(machines, request, options_.heartbeat_interval_ns);
  });
  if (!seen) {
    return propagate(seen);
  }
  wire::HeartbeatReply reply;
  reply.set_format_version(wire::kFormatVersion);
  reply.set_server_time_ns(wall_now_ns());  // now: the database may have been busy
  reply.set_heartbeat_interval_ns(options_.heartbeat_interval_ns);
  reply.set_register_again(!*seen);
  if (*seen) {
    *reply.add_assignments() = options_.assignment;
  }
  return reply;
}

Result<wire::UploadReply> FleetService::upload(std::string_view profile_id, Bytes encoded) {
  const auto id = from_hex(profile_id);
  if (!id || id->size() != 16) {
    return with_field(
        fail(ErrorCode::kInvalid, "\"{}\" is not a profile ID of 32 hexadecimal digits", profile_id),
        "profile_id");
  }
  const auto accepted = ingest_.accept(encoded, options_.limits, id);
  if (!accepted) {
    return propagate(accepted);
  }
  const bool is_known = accepted->acceptance == store::Acceptance::kKnown;
  if (!is_known) {
    accepted_();
  }
  wire::UploadReply reply;
  reply.set_format_version(wire::kFormatVersion);
  reply.set_already_known(is_known);
  return reply;
}

}  // namespace plimsoll::scheduler
