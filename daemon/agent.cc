#include "daemon/agent.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/hex.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time.h"
#include "proto/profile_codec.h"

namespace plimsoll {
namespace {

constexpr std::string_view kProtobuf = "application/x-protobuf";
constexpr std::string_view kProfileType = "application/x-plimsoll-profile";
constexpr int64_t kFirstPauseNs = 200'000'000;
constexpr int64_t kLongestPauseNs = 30 * kNsPerSecond;
constexpr int64_t kFlushNs = 5 * kNsPerSecond;
constexpr int64_t kRequestTimeoutMs = 20'000;
// A wall clock further off than this is corrected, and the profile says so.
constexpr int64_t kTolerableOffsetNs = 5 * kNsPerSecond;

// What the server says of the profile itself stays true; anything else may be otherwise later.
bool is_final(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kCorrupt:
    case ErrorCode::kTooLarge:
    case ErrorCode::kConflict:
    case ErrorCode::kUnsupported:
      return true;
    default:
      return false;
  }
}

wire::DaemonStatus status_of(const Governor& governor) {
  const Governor::State state = governor.state();
  wire::DaemonStatus status;
  status.set_cpu_time_ns(state.usage.cpu_time_ns);
  status.set_resident_bytes(state.usage.resident_bytes);
  status.set_slowdown(state.slowdown);
  status.set_cpu_share(state.cpu_share);
  status.set_cpu_share_limit(governor.budget().cpu_share);
  status.set_resident_limit_bytes(governor.budget().resident_bytes);
  return status;
}

// Waits until one of the descriptors is readable or the time has come; true when the first one is.
bool wait_readable(int first_fd, int second_fd, int64_t until_ns) {
  std::array<pollfd, 2> polled{{{first_fd, POLLIN, 0}, {second_fd, POLLIN, 0}}};
  const int64_t left_ns = std::max<int64_t>(0, until_ns - monotonic_now_ns());
  const timespec timeout{left_ns / kNsPerSecond, left_ns % kNsPerSecond};
  ::ppoll(polled.data(), polled.size(), &timeout, nullptr);
  return polled[0].revents != 0;
}

LocalLimits limits_of(const config::DaemonConfig& config) {
  return {.max_rate_hz = static_cast<uint32_t>(config.max_rate_hz),
          .max_stack_rate_hz = static_cast<uint32_t>(config.max_stack_rate_hz),
          .max_stack_bytes = static_cast<uint32_t>(config.max_stack_bytes),
          .max_window_ns = config.max_window_ns,
          .events = config.events};
}

}  // namespace

Agent::Agent(const config::DaemonConfig& config, wire::Machine machine)
    : machine_(std::move(machine)),
      limits_(limits_of(config)),
      governor_({.cpu_share = config.max_cpu_percent / 100,
                 .resident_bytes = static_cast<uint64_t>(config.max_memory_bytes)}),
      client_({.base_url = config.server, .timeout_ms = kRequestTimeoutMs}),
      queue_(static_cast<uint64_t>(config.max_spool_bytes)),
      random_(random_seed()),
      heartbeat_interval_ns_(kNsPerSecond),
      collecting_(machine_, limits_.events, governor_,
                  [this](wire::RawProfile profile) { hand_over(std::move(profile)); }),
      scraping_(config, machine_, [this](wire::RawProfile profile) { hand_over(std::move(profile)); }) {}

template <typename Reply, typename Request>
Result<Reply> Agent::call(std::string_view path, const Request& request) {
  const int64_t sent_ns = wall_now_ns();
  const auto response = client_.send("POST", path, request.SerializeAsString(), kProtobuf);
  if (!response) {
    return propagate(response);
  }
  if (!response->ok()) {
    return std::unexpected(http::error_of(*response, path));
  }
  Reply reply;
  if (!reply.ParseFromString(response->body)) {
    return fail(ErrorCode::kCorrupt, "the reply to {} is not a {}", path, Reply::descriptor()->name());
  }
  if (auto supported = wire::check_version(reply.format_version(), "the server's reply"); !supported) {
    return propagate(supported);
  }
  learn_time(reply.server_time_ns(), sent_ns);
  return reply;
}

void Agent::learn_time(int64_t server_time_ns, int64_t sent_ns) {
  // The server read its clock at some moment between sending and now; a slow reply says too little of when.
  const int64_t round_trip_ns = wall_now_ns() - sent_ns;
  if (round_trip_ns >= 0 && round_trip_ns < kTolerableOffsetNs / 2) {
    server_offset_ns_ = server_time_ns - (sent_ns + round_trip_ns / 2);
  }
}

Status Agent::register_machine() {
  wire::RegisterRequest request;
  request.set_format_version(wire::kFormatVersion);
  *request.mutable_machine() = machine_;
  const auto reply = call<wire::RegisterReply>("/fleet/v1/register", request);
  if (!reply) {
    return propagate(reply, "registering");
  }
  heartbeat_interval_ns_ = std::max(reply->heartbeat_interval_ns(), kFirstPauseNs);
  collecting_.set_with_kernel_symbols(reply->wants_kernel_symbols());
  registered_ = true;
  log_info("registered as machine {}", machine_.id());
  return {};
}

void Agent::add_census(wire::HeartbeatRequest& request) {
  const auto taken = census_.take(monotonic_now_ns());
  if (!taken) {
    if (has_census_) {
      log_warning("{}", taken.error().text());
    }
    has_census_ = false;
    return;
  }
  has_census_ = true;
  request.set_census_ns(taken->interval_ns);
  for (const identity::InstanceUsage& usage : taken->instances) {
    wire::InstanceUsage& added = *request.add_instances();
    added.set_job(usage.job);
    added.set_instance(usage.instance);
    added.set_container(usage.container);
    added.set_quota_cpus(usage.quota_cpus);
    added.set_weight(usage.weight);
    added.set_cpu_time_ns(usage.cpu_time_ns);
  }
}

Status Agent::heartbeat() {
  wire::HeartbeatRequest request;
  request.set_format_version(wire::kFormatVersion);
  request.set_machine_id(machine_.id());
  request.set_boot_id(machine_.boot_id());
  if (const std::string running = collecting_.running(); !running.empty()) {
    request.add_assignment_ids(running);
  }
  wire::DaemonStatus& status = *request.mutable_status();
  governor_.observe(monotonic_now_ns());
  status = status_of(governor_);
  status.set_profiles_queued(queue_.size());
  status.set_profiles_dropped(queue_.dropped());
  status.set_profiles_refused(refused_);
  const std::string separator = collecting_.problem().empty() || scraping_.problem().empty() ? "" : "; ";
  status.set_problem(collecting_.problem() + separator + scraping_.problem());
  add_census(request);
  const auto reply = call<wire::HeartbeatReply>("/fleet/v1/heartbeat", request);
  if (!reply) {
    return propagate(reply, "sending a heartbeat");
  }
  heartbeat_interval_ns_ = std::max(reply->heartbeat_interval_ns(), kFirstPauseNs);
  registered_ = !reply->register_again();
  if (!registered_) {
    return {};
  }
  // The newest of several wins; running some side by side is the scheduler's future.
  std::optional<wire::Assignment> wanted;
  if (!reply->assignments().empty()) {
    wanted = within_limits(*reply->assignments().rbegin(), limits_);
  }
  if (wanted && wanted->duration_ns() <= 0) {
    log_warning("assignment {} is beyond this machine's limits, and not run", wanted->id());
    wanted.reset();
  }
  collecting_.assign(std::move(wanted));
  return {};
}

void Agent::hand_over(wire::RawProfile profile) {
  const int64_t offset_ns = server_offset_ns_;
  wire::Window& window = *profile.mutable_window();
  window.set_server_offset_ns(offset_ns);
  if (std::abs(offset_ns) > kTolerableOffsetNs) {
    window.set_clock_corrected(true);
    for (wire::ClockPair* pair : {window.mutable_start(), window.mutable_end()}) {
      pair->set_wall_ns(pair->wall_ns() + offset_ns);
    }
  }
  queue_.push({profile.profile_id(), wire::encode(profile), profile.has_kernel_symbols()});
}

Status Agent::upload_oldest() {
  const auto profile = queue_.oldest();
  if (!profile) {
    return {};
  }
  const auto response =
      client_.send("PUT", "/fleet/v1/profiles/" + to_hex(profile->id), profile->encoded, kProfileType);
  if (!response) {
    return propagate(response, "uploading a profile");
  }
  if (!response->ok()) {
    const Error error = http::error_of(*response, "uploading a profile");
    if (!is_final(error)) {
      return std::unexpected(error);
    }
    log_error("profile {} is dropped: {}", to_hex(profile->id), error.text());
    ++refused_;
  } else if (profile->has_kernel_symbols) {
    collecting_.set_with_kernel_symbols(false);
  }
  queue_.remove(profile->id);
  return {};
}

int64_t Agent::backoff_ns() {
  const int64_t longest_ns = std::min(kLongestPauseNs, kFirstPauseNs << std::min(failures_, 10));
  return std::uniform_int_distribution<int64_t>(longest_ns / 2, longest_ns)(random_);
}

Status Agent::run(const StopSignal& stop) {
  int64_t heartbeat_at_ns = 0;
  int64_t upload_at_ns = 0;
  bool stopped = false;
  while (!stopped) {
    const int64_t now_ns = monotonic_now_ns();
    Status done;
    if (!registered_) {
      done = register_machine();
    } else if (now_ns >= heartbeat_at_ns) {
      done = heartbeat();
      heartbeat_at_ns = now_ns + heartbeat_interval_ns_;
    } else if (queue_.size() > 0 && now_ns >= upload_at_ns) {
      done = upload_oldest();
    }
    if (done) {
      failures_ = 0;
    } else {
      log_warning("{}", done.error().text());
      upload_at_ns = monotonic_now_ns() + backoff_ns();
      ++failures_;
      heartbeat_at_ns =
          std::max(heartbeat_at_ns, upload_at_ns);  // the server is in trouble: no more than one a pause
    }
    // First the wake-ups, then the look at the queue: what is pushed in between wakes us again.
    queue_.drain_wakeups();
    const bool has_work = done && (queue_.size() > 0 || !registered_);
    const bool retries = !done && (queue_.size() > 0 || !registered_);
    const int64_t wake_at_ns = retries ? std::min(upload_at_ns, heartbeat_at_ns) : heartbeat_at_ns;
    stopped = wait_readable(stop.fd(), done ? queue_.wake_fd() : -1, has_work ? 0 : wake_at_ns);
  }
  collecting_.stop();
  scraping_.stop();
  const int64_t flush_until_ns = monotonic_now_ns() + kFlushNs;
  while (queue_.size() > 0 && monotonic_now_ns() < flush_until_ns) {
    if (auto sent = upload_oldest(); !sent) {
      return propagate(sent, "{} profiles were not sent before stopping", queue_.size());
    }
  }
  return {};
}

}  // namespace plimsoll
