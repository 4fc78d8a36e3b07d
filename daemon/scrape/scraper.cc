#include "daemon/scrape/scraper.h"

#include <time.h>

#include <algorithm>

#include "base/random.h"
#include "base/time.h"
#include "capture/identity/cgroup.h"
#include "capture/identity/processes.h"
#include "capture/identity/workload.h"
#include "daemon/scrape/process_places.h"
#include "daemon/scrape/socket_owner.h"
#include "formats/event_meaning.h"
#include "formats/read_profile.h"
#include "formats/to_raw_profile.h"
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
      machine_(std::move(machine)),
      proc_fs_(proc_fs),
      binaries_(binaries),
      namer_(proc_fs, std::move(rules)),
      client_({.base_url = endpoint_.base_url,
               .connect_timeout_ms = limits.timeout_ns / 1'000'000,
               .timeout_ms = limits.timeout_ns / 1'000'000,
               .max_response_bytes = limits.max_bytes}),
      max_bytes_(limits.max_bytes) {}

Result<Owner> Scraper::find_owner() const {
  if (!endpoint_.is_loopback) {
    return fail(ErrorCode::kUnsupported, "it may run on another machine");
  }
  if (required_owner_) {
    if (auto checked = check_listener(proc_fs_, required_owner_->pid, endpoint_.host, endpoint_.port);
        !checked) {
      return propagate(checked);
    }
    const Owner owner{required_owner_->pid, proc_fs_.started_ns(required_owner_->pid)};
    return owner == *required_owner_ ? Result<Owner>(owner)
                                     : fail(ErrorCode::kNotFound, "process {} has ended", owner.pid);
  }
  const auto pid = find_listener(proc_fs_, endpoint_.host, endpoint_.port);
  if (!pid) {
    return propagate(pid);
  }
  return Owner{*pid, proc_fs_.started_ns(*pid)};
}

Result<std::string> Scraper::fetch() {
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

Result<std::optional<wire::RawProfile>> Scraper::scrape(int64_t interval_ns, bool first_counts_whole) {
  const wire::ClockPair started = read_clocks();
  const Result<Owner> owner = find_owner();
  if (required_owner_ && !owner) {
    return propagate(owner, "scraping {}", endpoint_.name());
  }
  const auto content = fetch();
  if (!content) {
    return propagate(content, "scraping {}", endpoint_.name());
  }
  if (const auto owner_after = find_owner();
      owner && (owner_after ? *owner_after != *owner : required_owner_.has_value())) {
    return fail(ErrorCode::kUnavailable, "scraping {}: the listening process changed during the scrape",
                endpoint_.name());
  }
  auto application = formats::read_profile(as_bytes(*content), {.max_encoded_bytes = max_bytes_,
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
  ScrapeTimes times{.duration_ns = application->duration_ns,
                    .since_last_ns = {},
                    .interval_ns = interval_ns,
                    .since_boot_ns = boot_now_ns()};
  if (last_scrape_) {
    times.since_last_ns = monotonic_now_ns() - last_scrape_->monotonic_ns();
  }
  const bool counts_whole = first_counts_whole && !last_scrape_;
  since_last_.apply(*application, counts_whole ? SinceLast::Start::kThisScrape
                                               : start_of_counts(times, last_owner_, known_owner));
  last_owner_ = known_owner ? known_owner : last_owner_;
  wire::RawProfile profile;
  *profile.mutable_window()->mutable_start() = last_scrape_.value_or(started);
  last_scrape_ = read_clocks();
  *profile.mutable_window()->mutable_end() = *last_scrape_;
  if (application->types.empty()) {
    return std::nullopt;
  }
  profile.set_format_version(wire::kFormatVersion);
  profile.set_profile_id(random_bytes(16));
  *profile.mutable_machine() = machine_;
  profile.mutable_assignment()->set_id("scrape:" + endpoint_.name());
  if (auto filled = fill(*application, owner, profile); !filled) {
    return propagate(filled, "scraping {}", endpoint_.name());
  }
  return profile;
}

}  // namespace plimsoll::scrape
