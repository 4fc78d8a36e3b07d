#include "daemon/agent.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <initializer_list>
#include <memory>
#include <optional>

#include "base/hex.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time.h"
#include "daemon/bursts/applications.h"
#include "daemon/bursts/burst_clock.h"
#include "daemon/bursts/burst_recorder.h"
#include "elf/binary_part.h"
#include "http/token.h"
#include "proto/profile_codec.h"

namespace plimsoll {
namespace {

constexpr std::string_view kProtobuf = "application/x-protobuf";
// Whatever a server says: it hears of its machines within an hour.
constexpr int64_t kShortestHeartbeatNs = 200'000'000;
constexpr int64_t kLongestHeartbeatNs = kNsPerHour;
// A server that is in order sends a few hundred bytes for each of a few assignments.
constexpr size_t kMaxReplyBytes = size_t{1} << 20;
constexpr int kMaxAssignments = 1000;
// A server that was newly set up asks once.
constexpr int kRegistrationsAtOnce = 2;
constexpr int64_t kFlushNs = 5 * kNsPerSecond;
constexpr unsigned kUnauthorized = 401;
constexpr int64_t kRequestTimeoutMs = 20'000;
// A wall clock further off than this is corrected, and the profile says so.
constexpr int64_t kTolerableOffsetNs = 5 * kNsPerSecond;
// Of the daemon's CPU time that goes into censuses: with thousands of control groups not every heartbeat has one.
constexpr double kCensusShare = 0.1;

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

struct Readable {
  bool first;
  bool any;
};

// Waits until one of the descriptors is readable or the time has come.
Readable wait_readable(const std::array<int, 3>& fds, int64_t until_ns) {
  std::array<pollfd, 3> polled{{{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}, {fds[2], POLLIN, 0}}};
  const int64_t left_ns = std::max<int64_t>(0, until_ns - monotonic_now_ns());
  const timespec timeout{left_ns / kNsPerSecond, left_ns % kNsPerSecond};
  ::ppoll(polled.data(), polled.size(), &timeout, nullptr);
  return {polled[0].revents != 0,
          std::ranges::any_of(polled, [](const pollfd& one) { return one.revents != 0; })};
}

wire::ProfileCounts counts_of(const spool::SpoolStatus& status) {
  using spool::Fate;
  wire::ProfileCounts counts;
  counts.set_since_ns(status.counted_since_ns);
  counts.set_spooled(status.spooled);
  counts.set_delivered(status.counts[Fate::kDelivered]);
  counts.set_refused(status.counts[Fate::kRefused]);
  counts.set_dropped_no_room(status.counts[Fate::kNoRoom]);
  counts.set_dropped_too_old(status.counts[Fate::kTooOld]);
  counts.set_dropped_damaged(status.counts[Fate::kDamaged]);
  counts.set_dropped_disk(status.counts[Fate::kDiskFailed]);
  counts.set_dropped_missing(status.counts[Fate::kMissing]);
  return counts;
}

std::string joined(const std::initializer_list<std::string>& problems) {
  std::string text;
  for (const std::string& problem : problems) {
    text += (text.empty() || problem.empty() ? "" : "; ") + problem;
  }
  return text;
}

bursts::BurstLimits burst_limits_of(const config::DaemonConfig& config) {
  return {.is_permitted = config.bursts_permit,
          .events = config.bursts_events,
          .max_share = config.bursts_max_share_percent / 100,
          .max_burst_ns = config.bursts_max_burst_ns,
          .max_duration_ns = config.bursts_max_duration_ns,
          .max_bytes = static_cast<uint64_t>(config.bursts_max_bytes),
          .max_overhead = config.bursts_max_overhead_percent / 100,
          .max_memory_bytes = static_cast<uint64_t>(config.bursts_max_memory_bytes)};
}

LocalLimits limits_of(const config::DaemonConfig& config) {
  return {.max_rate_hz = static_cast<uint32_t>(config.max_rate_hz),
          .max_stack_rate_hz = static_cast<uint32_t>(config.max_stack_rate_hz),
          .max_stack_bytes = static_cast<uint32_t>(config.max_stack_bytes),
          .max_window_ns = config.max_window_ns};
}

binaries::BinaryUploadSettings upload_settings(const config::DaemonConfig& config) {
  binaries::BinaryUploadSettings settings{
      .ask_interval_ns = config.binaries_ask_interval_ns,
      .content = elf::parse_binary_part(config.binaries_content).value_or(elf::BinaryPart::kSymbolsOnly),
      .max_file_bytes = static_cast<uint64_t>(config.binaries_max_file_bytes),
      .max_bytes_per_second = config.binaries_max_bytes_per_second};
  if (config.binaries_upload == "listed") {
    settings.paths = config.binaries_paths;
  }
  return settings;
}

CollectorOptions collector_options(const AgentSetup& setup, Governor& governor) {
  CollectorOptions options;
  options.machine = setup.machine;
  options.rules = setup.rules;
  options.allowed_events = setup.config.events;
  options.exact_counts = setup.exact_counts;
  options.governor = &governor;
  return options;
}

}  // namespace

Agent::Agent(const AgentSetup& setup, Governor& governor, spool::Spool& spool, spool::Spool& recordings,
             ServiceNotifier& notifier, int wake_fd)
    : machine_(setup.machine),
      limits_(limits_of(setup.config)),
      governor_(governor),
      server_(setup.config.server),
      credentials_(setup.credentials),
      missing_events_(setup.missing_events),
      client_({.base_url = server_,
               .timeout_ms = kRequestTimeoutMs,
               .max_response_bytes = kMaxReplyBytes,
               .cancel_fd = wake_fd,
               .credentials = credentials_.own}),
      spool_(spool),
      uploader_(spool_, [this] { wants_kernel_symbols_ = false; }),
      recordings_(recordings),
      recording_uploader_(recordings_, [] {}),
      notifier_(notifier),
      wake_fd_(wake_fd),
      contact_retry_(random_seed()),
      census_(proc_fs_, "/sys/fs/cgroup", {}, setup.rules),
      heartbeat_interval_ns_(kNsPerSecond),
      binaries_(upload_settings(setup.config),
                {.base_url = server_, .max_response_bytes = kMaxReplyBytes, .credentials = credentials_.own}),
      collecting_(
          collector_options(setup, governor),
          {.server_now_ns = [this] { return wall_now_ns() + server_offset_ns_; },
           // Half a megabyte, and enough once: not while a profile that has them waits for a server.
           .wants_kernel_symbols = [this] { return wants_kernel_symbols_ && !spool_.holds_kernel_symbols(); },
           .hand_over = [this](wire::RawProfile profile) { hand_over(std::move(profile)); }}),
      scraping_(
          setup.config, machine_, setup.rules,
          [this](wire::RawProfile profile) { hand_over(std::move(profile)); },
          [this] { return wall_now_ns() + server_offset_ns_; }),
      recording_(burst_limits_of(setup.config), recording_context(setup), bursts::BurstRecorder::check) {}

bursts::RecordingContext Agent::recording_context(const AgentSetup& setup) {
  const config::DaemonConfig& config = setup.config;
  bursts::RecordingContext context{.machine = machine_.id(),
                                   .max_memory_bytes = static_cast<uint64_t>(config.bursts_max_memory_bytes),
                                   .server_now_ns = [this] { return wall_now_ns() + server_offset_ns_; },
                                   .reason_to_pause =
                                       [this] {
                                         governor_.observe(monotonic_now_ns());
                                         return governor_.reason_to_pause();
                                       },
                                   .hand_over = [this](const std::string& id, Bytes encoded) -> Status {
                                     const auto pushed =
                                         recordings_.push(id, encoded, /*has_kernel_symbols=*/false);
                                     return pushed ? Status() : propagate(pushed);
                                   },
                                   .open = bursts::open_burst_recorder,
                                   .read_clock = bursts::read_clock_state};
  if (const std::string problem = config.bursts_permit ? bursts::clock_state_problem() : std::string();
      !problem.empty()) {
    context.notes.push_back(problem);
  }
  if (!config.scrape_announcements.empty()) {
    context.open_applications = [config, rules = setup.rules](int stop_fd) {
      return std::make_unique<bursts::AnnouncedApplications>(config, rules, stop_fd);
    };
  }
  return context;
}

template <typename Reply, typename Request>
Result<Reply> Agent::call(std::string_view path, const Request& request, const http::Fields& headers) {
  const int64_t sent_ns = wall_now_ns();
  asked_pause_ns_ = 0;
  const auto response = client_.send("POST", path, request.SerializeAsString(), kProtobuf, headers);
  if (!response) {
    return propagate(response);
  }
  asked_pause_ns_ = http::retry_after_s(*response) * kNsPerSecond;
  if (response->status == kUnauthorized) {
    registered_ = false;  // the server knows this machine's token no more: whoever may enrol does so again
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
  request.mutable_missing_events()->Add(missing_events_.begin(), missing_events_.end());
  http::Fields headers;
  if (!credentials_.enrolment.empty()) {
    headers.emplace_back(http::kEnrolmentHeader, credentials_.enrolment);
  }
  const auto reply = call<wire::RegisterReply>("/fleet/v1/register", request, headers);
  if (!reply) {
    return propagate(reply, "registering");
  }
  heartbeat_interval_ns_ =
      std::clamp(reply->heartbeat_interval_ns(), kShortestHeartbeatNs, kLongestHeartbeatNs);
  wants_kernel_symbols_ = reply->wants_kernel_symbols();
  registered_ = true;
  log_info("registered as machine {}", machine_.id());
  notifier_.status(fmt::format("registered as machine {}", machine_.id()));
  return {};
}

void Agent::add_census(wire::HeartbeatRequest& request) {
  const int64_t now_ns = monotonic_now_ns();
  if (now_ns < census_due_ns_) {
    return;
  }
  const int64_t cpu_before_ns = thread_cpu_ns();
  const auto taken = census_.take(now_ns);
  const double cost_ns = static_cast<double>(thread_cpu_ns() - cpu_before_ns);
  census_due_ns_ = now_ns + static_cast<int64_t>(cost_ns / (kCensusShare * governor_.budget().cpu_share));
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

void Agent::fill_in_status(wire::DaemonStatus& status) {
  governor_.observe(monotonic_now_ns());
  status = status_of(governor_);
  const spool::SpoolStatus spooled = spool_.status();
  status.set_profiles_queued(spooled.waiting);
  status.set_spooled_bytes(spooled.waiting_bytes);
  status.set_profiles_dropped(spooled.counts.dropped());
  status.set_profiles_refused(spooled.counts[spool::Fate::kRefused]);
  *status.mutable_profile_counts() = counts_of(spooled);
  const spool::SpoolStatus recordings = recordings_.status();
  *status.mutable_recording_counts() = counts_of(recordings);
  *status.mutable_bursts() = recording_.ability();
  status.set_problem(joined({problem_, collecting_.problem(), scraping_.problem(), recording_.problem(),
                             spooled.problem, recordings.problem}));
}

Status Agent::heartbeat() {
  wire::HeartbeatRequest request;
  request.set_format_version(wire::kFormatVersion);
  request.set_machine_id(machine_.id());
  request.set_boot_id(machine_.boot_id());
  for (wire::AssignmentReport& report : collecting_.reports()) {
    scraping_.complete(report);
    recording_.complete(report);
    *request.add_assignments() = std::move(report);
  }
  fill_in_status(*request.mutable_status());
  add_census(request);
  const auto reply = call<wire::HeartbeatReply>("/fleet/v1/heartbeat", request);
  if (!reply) {
    return propagate(reply, "sending a heartbeat");
  }
  heartbeat_interval_ns_ =
      std::clamp(reply->heartbeat_interval_ns(), kShortestHeartbeatNs, kLongestHeartbeatNs);
  registered_ = !reply->register_again();
  if (!registered_) {
    return {};
  }
  registrations_ = 0;
  if (reply->assignments_size() > kMaxAssignments) {
    return fail(ErrorCode::kTooLarge, "the server's reply has {} assignments, over {}",
                reply->assignments_size(), kMaxAssignments);
  }
  assign(*reply);
  lease_end_ns_ = reply->lease_ns() > 0 ? monotonic_now_ns() + reply->lease_ns() : INT64_MAX;
  return {};
}

void Agent::assign(const wire::HeartbeatReply& reply) {
  std::vector<WantedAssignment> wanted;
  std::vector<wire::Assignment> accepted;
  for (const wire::Assignment& assignment : reply.assignments()) {
    wanted.push_back(accept(assignment, limits_));
    if (wanted.back().refusal.empty()) {
      accepted.push_back(wanted.back().assignment);
    }
  }
  collecting_.assign(std::move(wanted));
  scraping_.assign(accepted);
  recording_.assign({reply.assignments().begin(), reply.assignments().end()});
}

void Agent::end_lease() {
  if (monotonic_now_ns() >= lease_end_ns_) {
    lease_end_ns_ = INT64_MAX;
    const std::string why = "no contact with the server for longer than the lease of the assignment";
    collecting_.give_up(why);
    scraping_.assign({});
    recording_.give_up(why);
  }
}

void Agent::hand_over(wire::RawProfile profile) {
  binaries_.note(profile);
  const int64_t offset_ns = server_offset_ns_;
  wire::Window& window = *profile.mutable_window();
  window.set_server_offset_ns(offset_ns);
  if (std::abs(offset_ns) > kTolerableOffsetNs) {
    window.set_clock_corrected(true);
    for (wire::ClockPair* pair : {window.mutable_start(), window.mutable_end()}) {
      pair->set_wall_ns(pair->wall_ns() + offset_ns);
    }
  }
  if (const auto spooled =
          spool_.push(profile.profile_id(), as_bytes(wire::encode(profile)), profile.has_kernel_symbols());
      !spooled) {
    log_warning("dropping profile {}, collection continues", to_hex(profile.profile_id()));
  }
}

void Agent::keep_in_contact() {
  const int64_t now_ns = monotonic_now_ns();
  if (now_ns < contact_due_ns_) {
    return;
  }
  const bool registers = !registered_;
  if (const Status done = registers ? register_machine() : heartbeat(); !done) {
    log_warning("{}", done.error().text());
    const int64_t failed_ns = monotonic_now_ns();
    contact_retry_.failed(failed_ns);
    contact_retry_.asked_to_wait(failed_ns, asked_pause_ns_);
    contact_due_ns_ = contact_retry_.due_ns();
    // The server is in trouble: no more than one request a pause.
    uploader_.not_before(contact_due_ns_);
    recording_uploader_.not_before(contact_due_ns_);
    return;
  }
  registrations_ += registers ? 1 : 0;
  const bool goes_round = registrations_ >= kRegistrationsAtOnce && !registered_;
  if (goes_round) {
    log_warning("the server keeps requesting a registration");
    contact_retry_.failed(now_ns);
    contact_due_ns_ = contact_retry_.due_ns();
    return;
  }
  // Not where it is to register again: then the pauses grow.
  if (registered_ && !registers) {
    contact_retry_.succeeded();
  }
  // Whoever has just registered, or has to, goes on at once.
  contact_due_ns_ = registers || !registered_ ? 0 : now_ns + heartbeat_interval_ns_;
}

void Agent::upload(const spool::Spool& from, spool::Uploader& uploader) {
  if (!registered_ || from.waiting() == 0 || monotonic_now_ns() < uploader.due_ns()) {
    return;
  }
  if (const Status sent = uploader.send_oldest(client_); !sent) {
    log_warning("{}", sent.error().text());
  }
}

void Agent::upload() {
  upload(spool_, uploader_);
  upload(recordings_, recording_uploader_);
}

int64_t Agent::next_due_ns() const {
  const auto due_ns = [this](const spool::Spool& from, const spool::Uploader& uploader) {
    return registered_ && from.waiting() > 0 ? uploader.due_ns() : INT64_MAX;
  };
  return std::min(
      {contact_due_ns_, lease_end_ns_, due_ns(spool_, uploader_), due_ns(recordings_, recording_uploader_)});
}

void Agent::run() {
  bool woken = false;
  while (!woken) {
    keep_in_contact();
    end_lease();
    upload();
    // First the wake-ups, then the look at the spool: what is pushed in between wakes us again.
    spool_.drain_wakeups();
    recordings_.drain_wakeups();
    woken = wait(next_due_ns());
  }
}

bool Agent::wait(int64_t until_ns) {
  for (;;) {
    notifier_.alive();
    const Readable readable = wait_readable({wake_fd_, spool_.wake_fd(), recordings_.wake_fd()},
                                            std::min(until_ns, notifier_.alive_until_ns()));
    // Being due to say that we live is no reason to try again what just failed.
    if (readable.any || monotonic_now_ns() >= until_ns) {
      return readable.first;
    }
  }
}

void Agent::stop_collecting() {
  collecting_.stop();
  scraping_.stop();
  recording_.stop();
  binaries_.stop();
}

void Agent::flush(const spool::Spool& from, spool::Uploader& uploader, int64_t until_ns) {
  for (int64_t left_ms = (until_ns - monotonic_now_ns()) / kNsPerMs; from.waiting() > 0 && left_ms > 0;
       left_ms = (until_ns - monotonic_now_ns()) / kNsPerMs) {
    http::Client client({.base_url = server_, .timeout_ms = left_ms, .credentials = credentials_.own});
    if (const Status sent = uploader.send_oldest(client); !sent) {
      log_warning("{}", sent.error().text());
      break;
    }
  }
  if (const uint64_t waiting = from.waiting(); waiting > 0) {
    log_info("{} {} are in the spool and will be sent after the next start", waiting, from.kind().nouns);
  }
}

void Agent::flush() {
  const int64_t until_ns = monotonic_now_ns() + kFlushNs;
  flush(spool_, uploader_, until_ns);
  flush(recordings_, recording_uploader_, until_ns);
}

}  // namespace plimsoll
