#include "daemon/scrape/scraper.h"

#include <time.h>

#include <algorithm>

#include "base/random.h"
#include "base/time.h"
#include "capture/identity/cgroup.h"
#include "capture/identity/processes.h"
#include "capture/identity/workload.h"
#include "daemon/scrape/network.h"
#include "daemon/scrape/process_places.h"
#include "daemon/scrape/socket_owner.h"
#include "daemon/scrape/unix_sockets.h"
#include "formats/event_meaning.h"
#include "formats/read_profile.h"
#include "formats/to_raw_profile.h"
#include "proto/application_profiles.h"
#include "proto/profile_codec.h"

namespace plimsoll::scrape {
namespace {

// A daemon is to stay small: some 200 bytes an entry.
constexpr uint64_t kMaxEntries = 500'000;
constexpr uint64_t kMaxStackEntries = 4'000'000;
constexpr uint64_t kMaxDecodedBytes = uint64_t{128} << 20;

wire::ClockPair read_clocks() {
  wire::ClockPair clocks;
  clocks.set_monotonic_ns(monotonic_now_ns());
  clocks.set_wall_ns(wall_now_ns());
  return clocks;
}

void set_process(const identity::ProcessIdentity& identity, const identity::Workload& workload,
                 wire::RawProfile& profile) {
  wire::Process& process = *profile.add_processes();
  process = identity::process_message(identity, identity.cgroup, workload);
  if (identity.binary != nullptr) {
    process.set_binary_plus_1(add_binary(*identity.binary, profile) + 1);
  }
  wire::Thread& thread = *profile.add_threads();
  thread.set_tid(identity.pid);
  thread.set_name(identity.comm);
}

// Of a process out of reach: what its profile says.
void set_unknown_process(const std::string& name, const formats::ApplicationProfile& application,
                         wire::RawProfile& profile) {
  wire::Process& process = *profile.add_processes();
  const auto main = std::ranges::find_if(
      application.mappings, [](const formats::Mapping& mapping) { return mapping.path.starts_with('/'); });
  if (main != application.mappings.end()) {
    process.set_executable(main->path);
  }
  process.set_comm(name);
  process.set_job(std::string(identity::workload_of({"/", process.executable(), name}).job));
  profile.add_threads()->set_name(name);
}

}  // namespace

Scraper::Scraper(config::ScrapeEndpoint endpoint, const ScrapeLimits& limits, wire::Machine machine,
                 const identity::ProcFs& proc_fs, identity::BinaryTable& binaries,
                 std::shared_ptr<const identity::JobRules> rules)
    : endpoint_(std::move(endpoint)),
      limits_(limits),
      machine_(std::move(machine)),
      proc_fs_(proc_fs),
      binaries_(binaries),
      namer_(proc_fs, std::move(rules)),
      client_(client_options()) {}

void Scraper::require_owner(const Owner& owner) {
  required_owner_ = owner;
  client_ = http::Client(client_options());
}

http::ClientOptions Scraper::client_options() {
  http::ClientOptions options{.base_url = endpoint_.base_url,
                              .connect_timeout_ms = limits_.timeout_ns / kNsPerMs,
                              .timeout_ms = limits_.timeout_ns / kNsPerMs,
                              .max_response_bytes = limits_.max_bytes,
                              .cancel_fd = limits_.cancel_fd};
  if (!endpoint_.socket_path.empty()) {
    options.base_url = "http://127.0.0.1";  // for the header Host alone
    options.open_connection = [this] { return connect_to_socket(); };
  } else if (required_owner_ && !endpoint_.is_loopback) {
    options.open_connection = [this, pid = required_owner_->pid] { return connect_to_network(pid); };
  }
  options.reuses_connections = !options.open_connection;  // each is checked when it is opened
  return options;
}

Result<UniqueFd> Scraper::connect_to_socket() {
  const std::string root = required_owner_ ? proc_fs_.path_in_root(required_owner_->pid, "/") : "/";
  auto connection = connect_to_unix_socket(root, endpoint_.socket_path);
  if (!connection) {
    return propagate(connection);
  }
  if (required_owner_ && connection->peer != required_owner_->pid) {
    return with_hint(fail(ErrorCode::kDenied, "process {} listens on the Unix socket, not process {}",
                          connection->peer, required_owner_->pid),
                     "the process that is scraped must be the one that called listen()");
  }
  peer_ = connection->peer;
  return std::move(connection->fd);
}

Result<UniqueFd> Scraper::connect_to_network(uint32_t pid) const {
  return connect_to_network_of(proc_fs_, pid, endpoint_.host, endpoint_.port,
                               {.timeout_ns = limits_.timeout_ns, .cancel_fd = limits_.cancel_fd});
}

Result<Owner> Scraper::find_owner() const {
  if (required_owner_) {
    if (const Status checked = check_endpoint(proc_fs_, required_owner_->pid, endpoint_); !checked) {
      return propagate(checked);
    }
    const Owner owner{required_owner_->pid, proc_fs_.started_ns(required_owner_->pid)};
    return owner == *required_owner_ ? Result<Owner>(owner)
                                     : fail(ErrorCode::kNotFound, "process {} has ended", owner.pid);
  }
  if (!endpoint_.is_loopback) {
    return fail(ErrorCode::kUnsupported, "it may run on another machine");
  }
  if (!endpoint_.socket_path.empty()) {
    return peer_ != 0 ? Result<Owner>(Owner{peer_, proc_fs_.started_ns(peer_)})
                      : fail(ErrorCode::kNotFound, "no process of this PID namespace listens there");
  }
  const auto pid = find_listener(proc_fs_, endpoint_.host, endpoint_.port);
  if (!pid) {
    return propagate(pid);
  }
  return Owner{*pid, proc_fs_.started_ns(*pid)};
}

Result<std::string> Scraper::get() {
  auto response = client_.send("GET", endpoint_.path);
  if (!response) {
    return propagate(response);
  }
  if (response->status != 200) {
    return with_hint(fail(ErrorCode::kUnavailable, "the application returned {}", response->status),
                     "check the path of the endpoint");
  }
  return std::move(response->body);
}

std::string Scraper::series() const {
  const bool is_elsewhere =
      !endpoint_.socket_path.empty() && required_owner_ && !proc_fs_.shares_root(required_owner_->pid);
  return endpoint_.name() + (is_elsewhere ? fmt::format("@{}", required_owner_->pid) : std::string());
}

Status Scraper::fill(const formats::ApplicationProfile& application, const Result<Owner>& owner,
                     wire::RawProfile& profile) {
  for (const std::string& remark : application.remarks) {
    profile.add_notes(endpoint_.name() + ": " + remark);
  }
  if (application.discarded != 0) {
    profile.add_notes(
        fmt::format("{}: the application dropped {} samples", endpoint_.name(), application.discarded));
  }
  if (!owner) {
    profile.add_notes(fmt::format("{}: the process is unknown, using the mappings of the profile: {}",
                                  endpoint_.name(), owner.error().text()));
    set_unknown_process(endpoint_.name(), application, profile);
    formats::OwnMappings places(application.mappings);
    return formats::add_samples(application, places, profile);
  }
  identity::ProcessTable processes(proc_fs_, binaries_);
  const identity::Process& process = processes.find(owner->pid);
  if (process.mappings->all().empty()) {
    profile.add_notes(fmt::format("{}: the mappings of process {} cannot be read, using those of the profile",
                                  endpoint_.name(), owner->pid));
  }
  namer_.read_variables(*process.identity);
  set_process(*process.identity, namer_.name(*process.identity, process.identity->cgroup), profile);
  ProcessPlaces places(*process.mappings, application.mappings);
  return formats::add_samples(application, places, profile);
}

Result<Fetched> Scraper::fetch() {
  const wire::ClockPair started = read_clocks();
  peer_ = 0;
  Result<Owner> owner = find_owner();
  // Of several processes it is chance which one answers: each change would look like a restart of what is counted.
  if (!owner && (required_owner_ || owner.error().code == ErrorCode::kConflict)) {
    return propagate(owner, "scraping {}", endpoint_.name());
  }
  auto content = get();
  const wire::ClockPair ended = read_clocks();
  const int64_t ended_since_boot_ns = boot_now_ns();
  if (!content) {
    return propagate(content, "scraping {}", endpoint_.name());
  }
  if (const auto owner_after = find_owner();
      owner && (owner_after ? *owner_after != *owner : required_owner_.has_value())) {
    return fail(ErrorCode::kUnavailable, "scraping {}: the listening process changed during the scrape",
                endpoint_.name());
  }
  if (!endpoint_.socket_path.empty() && !required_owner_) {
    owner = find_owner();  // the connection says whose the socket is
  }
  return Fetched{started, ended, ended_since_boot_ns, std::move(owner), std::move(*content)};
}

Result<http::Response> Scraper::ask(std::string_view method, std::string_view path_and_query) {
  const auto before = find_owner();
  auto response = before ? client_.send(method, path_and_query) : propagate(before);
  if (!response) {
    return propagate(response, "asking {}", endpoint_.program());
  }
  // With an owner that is required, another one is an error.
  if (const auto after = find_owner(); !after) {
    return propagate(after, "asking {}", endpoint_.program());
  }
  return response;
}

wire::ClockPair Scraper::window_start(const formats::ApplicationProfile& application,
                                      const Fetched& fetched) const {
  const std::string_view kind = config::kind_of_endpoint(endpoint_);
  const bool samples_meanwhile = kind == "profile" || kind == "wall";
  if (drawn_ && samples_meanwhile && application.duration_ns > 0) {
    // The weight of a draw is by the time observed, not by how long the request waited for its turn. It was asked within the window,
    // whatever it says.
    wire::ClockPair start = fetched.ended;
    const int64_t longest_ns = start.monotonic_ns() - drawn_->began.monotonic_ns();
    const int64_t length_ns = std::min(application.duration_ns, longest_ns);
    start.set_monotonic_ns(start.monotonic_ns() - length_ns);
    start.set_wall_ns(start.wall_ns() - length_ns);
    return start;
  }
  return last_scrape_.value_or(drawn_ ? drawn_->began : fetched.started);
}

Result<std::optional<wire::RawProfile>> Scraper::scrape(int64_t interval_ns, bool first_counts_whole) {
  const auto fetched = fetch();
  if (!fetched) {
    return propagate(fetched);
  }
  return make_profile(*fetched, interval_ns, first_counts_whole);
}

Result<std::optional<wire::RawProfile>> Scraper::make_profile(const Fetched& fetched, int64_t interval_ns,
                                                              bool first_counts_whole) {
  const Result<Owner>& owner = fetched.owner;
  auto application =
      formats::read_profile(as_bytes(fetched.content), {.max_encoded_bytes = limits_.max_bytes,
                                                        .max_decoded_bytes = kMaxDecodedBytes,
                                                        .max_entries = kMaxEntries,
                                                        .max_stack_entries = kMaxStackEntries});
  if (!application) {
    return propagate(application, "scraping {}", endpoint_.name());
  }
  if (config::scrape_kind(endpoint_) == config::ScrapeKind::kBlock) {
    formats::call_waits_blocked(*application);
  }
  const std::optional<Owner> known_owner = owner ? std::optional(*owner) : std::nullopt;
  ScrapeTimes times{
      .duration_ns = application->duration_ns,
      .since_last_ns = {},
      // In a draw what began within the window is new, also where nothing answered when the window began.
      .interval_ns = drawn_ ? fetched.ended.monotonic_ns() - drawn_->began.monotonic_ns() : interval_ns,
      .since_boot_ns = fetched.ended_since_boot_ns};
  if (last_scrape_) {
    times.since_last_ns = fetched.ended.monotonic_ns() - last_scrape_->monotonic_ns();
  }
  const bool counts_whole = first_counts_whole && !last_scrape_;
  since_last_.apply(*application, counts_whole ? SinceLast::Start::kThisScrape
                                               : start_of_counts(times, last_owner_, known_owner));
  last_owner_ = known_owner ? known_owner : last_owner_;
  wire::RawProfile profile;
  *profile.mutable_window()->mutable_start() = window_start(*application, fetched);
  last_scrape_ = fetched.ended;
  *profile.mutable_window()->mutable_end() = *last_scrape_;
  if (application->types.empty()) {
    return std::nullopt;
  }
  profile.set_format_version(wire::kFormatVersion);
  profile.set_profile_id(random_bytes(16));
  *profile.mutable_machine() = machine_;
  profile.mutable_assignment()->set_id(std::string(wire::kApplicationAssignment) + series());
  if (drawn_) {
    *profile.mutable_assignment()->mutable_draw() = drawn_->draw;
  }
  if (auto filled = fill(*application, owner, profile); !filled) {
    return propagate(filled, "scraping {}", endpoint_.name());
  }
  return profile;
}

}  // namespace plimsoll::scrape
