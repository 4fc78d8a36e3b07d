#include "scheduler/fleet_service.h"

#include <algorithm>

#include "base/hex.h"
#include "base/log.h"
#include "proto/application_profiles.h"
#include "proto/fleet_messages.h"
#include "scheduler/heartbeat_check.h"
#include "scheduler/plausibility.h"

namespace plimsoll::scheduler {
namespace {

template <typename Message>
http::Response reply(const Result<Message>& result) {
  if (!result) {
    return http::error_response(result.error());
  }
  http::Response response;
  response.content_type = wire::kProtobufType;
  response.body = result->SerializeAsString();
  return response;
}

template <typename Request, typename Handle>
http::Response answer(const http::Request& http_request, Handle handle) {
  const auto request = wire::parse_message<Request>(http_request.body);
  return request ? reply(handle(*request, http_request.caller)) : http::error_response(request.error());
}

Status check_speaker(std::string_view id, std::string_view field, const http::Caller& caller) {
  if (id.empty() || id.size() > 128) {
    return with_field(fail(ErrorCode::kInvalid, "a machine ID has 1 to 128 bytes, not {}", id.size()),
                      std::string(field));
  }
  const Status speaks = may_speak_for(caller, id);
  return speaks ? speaks : with_field(propagate(speaks), std::string(field));
}

// Whether the machine is known.
Result<bool> note_heartbeat(store::LiveMachines& machines, const wire::HeartbeatRequest& request,
                            int64_t now_ns, int64_t heartbeat_ns) {
  const store::Census census{.machine_id = request.machine_id(),
                             .taken_ns = now_ns,
                             .interval_ns = request.census_ns(),
                             .instances = {request.instances().begin(), request.instances().end()}};
  return machines.machine_seen(request.machine_id(), request.boot_id(), now_ns, heartbeat_ns,
                               census.instances.empty() ? nullptr : &census);
}

// What is left to do for a profile once it is safe.
struct SentProfile {
  std::string draw = {};  // empty: none
  std::string machine = {};
  int64_t window_ns = 0;
  int64_t samples = 0;  // of all events
  int64_t lost_samples = 0;
};

// The sums of a server's life fit into 63 bits, whatever a profile says.
int64_t bounded_count(uint64_t count) {
  return static_cast<int64_t>(std::min(count, uint64_t{1} << 42));
}

SentProfile sent_profile(const wire::RawProfile& profile) {
  SentProfile sent{.machine = profile.machine().id()};
  // Applications are observed beside the machine. Their profiles come also where its own failed or was cut, and before a daemon
  // crashes in its window: only the machine's own profile is its answer.
  if (!wire::is_of_application(profile.assignment())) {
    sent.draw = profile.assignment().draw().id();
    sent.window_ns = profile.window().end().monotonic_ns() - profile.window().start().monotonic_ns();
  }
  for (const wire::Event& event : profile.events()) {
    // Squares are not samples of their own.
    if (event.kind() != wire::SQUARES) {
      sent.samples += bounded_count(event.samples() == 0 ? event.hits() : event.samples());
      sent.lost_samples += bounded_count(event.lost());
    }
  }
  return sent;
}

// Whether sending the profile again can succeed.
bool may_pass_later(ErrorCode code) {
  return code == ErrorCode::kUnavailable || code == ErrorCode::kExhausted || code == ErrorCode::kIo;
}

Status check_profile_id(const wire::RawProfile& profile, std::string_view expected_id) {
  return profile.profile_id() == expected_id
             ? Status()
             : with_field(fail(ErrorCode::kInvalid, "the profile sent as {} has the ID {}",
                               to_hex(expected_id), to_hex(profile.profile_id())),
                          "profile_id");
}

Error unavailable(Error error) {
  error.code = ErrorCode::kUnavailable;
  return error;
}

}  // namespace

FleetService::FleetService(store::Ingest& ingest, FleetOptions options, const CollectionBreaker& breaker,
                           Drawer* drawer, std::function<void()> accepted)
    : ingest_(ingest),
      options_(std::move(options)),
      breaker_(breaker),
      drawer_(drawer),
      accepted_(std::move(accepted)),
      daemons_(options_.machine_ttl_ns) {}

ReceivedProfiles FleetService::received() const {
  return {.accepted = received_.accepted,
          .duplicate = received_.duplicate,
          .refused = received_.refused,
          .failed = received_.failed,
          .samples = received_.samples,
          .lost_samples = received_.lost_samples};
}

DrawOverhead FleetService::overhead() const {
  if (drawer_ == nullptr) {
    return {};
  }
  const OverheadBudget& budget = drawer_->budget();
  return {.cpus_of_daemon = budget.cpus_of_daemon(options_.now_ns()), .max_share = budget.max_share()};
}

std::vector<http::Route> FleetService::routes() {
  std::vector<http::Route> routes;
  routes.push_back({.method = "POST",
                    .path = std::string(wire::kRegisterPath),
                    .max_body_bytes = wire::kMaxFleetMessageBytes,
                    .handle =
                        [this](const http::Request& request) {
                          return answer<wire::RegisterRequest>(
                              request, [this](const auto& message, const http::Caller& caller) {
                                return register_machine(message, caller);
                              });
                        },
                    .right = http::Right::kEnrol});
  routes.push_back({.method = "POST",
                    .path = std::string(wire::kHeartbeatPath),
                    .max_body_bytes = wire::kMaxFleetMessageBytes,
                    .handle =
                        [this](const http::Request& request) {
                          return answer<wire::HeartbeatRequest>(
                              request, [this](const auto& message, const http::Caller& caller) {
                                return heartbeat(message, caller);
                              });
                        },
                    .right = http::Right::kMachine});
  routes.push_back({.method = "PUT",
                    .path = std::string(wire::kProfilesPath),
                    .is_prefix = true,
                    .max_body_bytes = options_.limits.max_encoded_bytes,
                    .handle =
                        [this](const http::Request& request) {
                          const std::string_view id =
                              std::string_view(request.path).substr(wire::kProfilesPath.size());
                          return reply(upload(id, as_bytes(request.body), request.caller));
                        },
                    .threads = http::Threads::kLong,
                    .right = http::Right::kUpload});
  return routes;
}

Result<wire::RegisterReply> FleetService::register_machine(const wire::RegisterRequest& request,
                                                           const http::Caller& caller) {
  const std::string& id = request.machine().id();
  if (auto checked = check_speaker(id, "machine.id", caller); !checked) {
    return propagate(checked);
  }
  if (auto checked = check_missing_events(request); !checked) {
    return propagate(checked);
  }
  // Before it enrols: a clone must not take the account of the machine that it was made from.
  const Status is_alone = ingest_.with_machines([&](store::LiveMachines& machines) {
    return machines.check_boot_id(request.machine(), options_.now_ns());
  });
  if (!is_alone) {
    return propagate(is_alone);
  }
  if (auto enrolled = options_.enrol ? options_.enrol(caller, id) : Status(); !enrolled) {
    return propagate(enrolled);
  }
  const auto done = ingest_.with_machines([&](store::LiveMachines& machines) {
    return machines.register_machine(request.machine(), options_.now_ns(), options_.heartbeat_interval_ns,
                                     {request.missing_events().begin(), request.missing_events().end()});
  });
  if (!done) {
    return propagate(done);
  }
  wire::RegisterReply reply;
  reply.set_format_version(wire::kFormatVersion);
  reply.set_server_time_ns(options_.now_ns());  // now: the database may have been busy
  reply.set_heartbeat_interval_ns(options_.heartbeat_interval_ns);
  // Once for each registration: machines with one kernel differ in the modules they have loaded.
  reply.set_wants_kernel_symbols(true);
  return reply;
}

Result<wire::HeartbeatReply> FleetService::heartbeat(const wire::HeartbeatRequest& request,
                                                     const http::Caller& caller) {
  if (auto checked = check_speaker(request.machine_id(), "machine_id", caller); !checked) {
    return propagate(checked);
  }
  for (const auto check : {check_census, check_reports}) {
    if (auto checked = check(request); !checked) {
      return propagate(checked);
    }
  }
  int64_t now_ns = 0;
  const auto seen = ingest_.with_machines([&](store::LiveMachines& machines) {
    // What is written later is of a later time: draws rely on it.
    now_ns = options_.now_ns();
    return note_heartbeat(machines, request, now_ns, options_.heartbeat_interval_ns);
  });
  if (!seen) {
    return propagate(seen);
  }
  wire::HeartbeatReply reply;
  reply.set_format_version(wire::kFormatVersion);
  reply.set_server_time_ns(options_.now_ns());  // now: the database may have been busy
  reply.set_heartbeat_interval_ns(options_.heartbeat_interval_ns);
  reply.set_register_again(!*seen);
  if (*seen && request.has_status()) {
    daemons_.note(request.machine_id(), request.status(), now_ns, options_.heartbeat_interval_ns);
    if (drawer_ != nullptr) {
      drawer_->note_cost(request.machine_id(), request.status().cpu_time_ns(), now_ns);
    }
  }
  const Status assigned = *seen ? assign(request, now_ns, reply) : Status();
  return assigned ? Result<wire::HeartbeatReply>(std::move(reply)) : propagate(assigned);
}

Status FleetService::assign(const wire::HeartbeatRequest& request, int64_t now_ns,
                            wire::HeartbeatReply& reply) {
  if (drawer_ == nullptr) {
    if (!breaker_.is_everything_stopped()) {
      *reply.add_assignments() = options_.continuous;
    }
    return {};
  }
  const std::vector<wire::AssignmentReport> reports(request.assignments().begin(),
                                                    request.assignments().end());
  auto assignments = drawer_->heard_from(request.machine_id(), reports, now_ns);
  if (!assignments) {
    return propagate(assignments);
  }
  reply.set_lease_ns(drawer_->policy().lease_ns());
  for (wire::Assignment& assignment : *assignments) {
    *reply.add_assignments() = std::move(assignment);
  }
  return {};
}

Status FleetService::check_claims(const wire::RawProfile& profile) {
  const int64_t now_ns = options_.now_ns();
  Status checked = check_plausible(profile, now_ns);
  checked = checked && drawer_ != nullptr ? drawer_->check(profile) : checked;
  if (!checked && checked.error().code == ErrorCode::kInvalid) {
    const Status noted = ingest_.with_machines([&](store::LiveMachines& machines) {
      return machines.note_refused(profile.machine().id(), checked.error().text(), now_ns);
    });
    if (!noted) {
      log_warning("recording a refused profile: {}", noted.error().text());
    }
  }
  return checked;
}

Result<wire::UploadReply> FleetService::upload(std::string_view profile_id, Bytes encoded,
                                               const http::Caller& caller) {
  auto reply = take_profile(profile_id, encoded, caller);
  if (!reply) {
    ++(may_pass_later(reply.error().code) ? received_.failed : received_.refused);
  }
  return reply;
}

Result<wire::UploadReply> FleetService::take_profile(std::string_view profile_id, Bytes encoded,
                                                     const http::Caller& caller) {
  const auto id = from_hex(profile_id);
  if (!id || id->size() != 16) {
    return with_field(
        fail(ErrorCode::kInvalid, "\"{}\" is not a profile ID of 32 hexadecimal digits", profile_id),
        "profile_id");
  }
  SentProfile sent;
  const auto accepted =
      ingest_.accept_upload(encoded, options_.limits, [&](const wire::RawProfile& profile) -> Status {
        sent = sent_profile(profile);
        Status checked = may_speak_for(caller, profile.machine().id());
        if (checked) {
          checked = check_profile_id(profile, *id);
        }
        return checked ? check_claims(profile) : checked;
      });
  if (!accepted) {
    return propagate(accepted);
  }
  const bool is_known = accepted->acceptance == store::Acceptance::kKnown;
  if (is_known) {
    ++received_.duplicate;
  } else {
    ++received_.accepted;
    received_.samples += sent.samples;
    received_.lost_samples += sent.lost_samples;
    accepted_();
  }
  if (drawer_ != nullptr && !sent.draw.empty()) {
    const Status noted =
        drawer_->answered(sent.draw, sent.machine, sent.window_ns, is_known, options_.now_ns());
    if (!noted) {
      // The profile is safe; sent again, it will be noted.
      return std::unexpected(unavailable(noted.error()));
    }
  }
  wire::UploadReply reply;
  reply.set_format_version(wire::kFormatVersion);
  reply.set_already_known(is_known);
  return reply;
}

}  // namespace plimsoll::scheduler
