#include "daemon/bursts/applications.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "config/scrape_endpoint.h"

namespace plimsoll::bursts {
namespace {

constexpr int64_t kFindEveryNs = 30 * kNsPerSecond;
constexpr size_t kMaxApplications = 100;
// The library takes a day at most.
constexpr int64_t kMaxToldSeconds = int64_t{24} * 60 * 60;
constexpr std::string_view kBurstsPath = "/plimsoll/bursts";

bool is_readable(int fd) {
  // A descriptor below zero is passed over.
  pollfd polled{fd, POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

}  // namespace

AnnouncedApplications::AnnouncedApplications(const config::DaemonConfig& config,
                                             std::shared_ptr<const identity::JobRules> rules, int stop_fd,
                                             int64_t request_timeout_ns)
    : images_(proc_fs_),
      binaries_(images_),
      finder_(config, proc_fs_, std::move(rules)),
      stop_fd_(stop_fd),
      request_timeout_ns_(request_timeout_ns) {}

void AnnouncedApplications::find() {
  std::set<ProcessKey> live;
  for (const scrape::AnnouncedProcess& process : finder_.announced_processes()) {
    const ProcessKey key{process.pid, process.started_ns};
    auto endpoint = config::parse_scrape_endpoint(process.base_url);
    // Beyond loopback a request could be led to another machine: not one that changes anything.
    if (!endpoint || !endpoint->is_loopback || live.size() == kMaxApplications || !live.insert(key).second ||
        applications_.contains(key)) {
      continue;
    }
    Application application;
    application.scraper = std::make_unique<scrape::Scraper>(
        std::move(*endpoint),
        scrape::ScrapeLimits{.timeout_ns = request_timeout_ns_, .max_bytes = kMaxAnswerBytes},
        wire::Machine(), proc_fs_, binaries_);
    application.scraper->require_owner({process.pid, process.started_ns});
    applications_.emplace(key, std::move(application));
  }
  std::erase_if(applications_, [&](const auto& entry) { return !live.contains(entry.first); });
}

void AnnouncedApplications::note(Application& application, const Error& error) {
  if (!std::exchange(application.has_failed, true)) {
    log_warning("events of bursts: {}", error.text());
  }
}

ToldTime told_time(int64_t now_ns, int64_t duration_ns) {
  if (duration_ns / kNsPerSecond >= kMaxToldSeconds) {
    return {.seconds = kMaxToldSeconds, .again_ns = now_ns + kMaxToldSeconds / 2 * kNsPerSecond};
  }
  return {.seconds = std::max<int64_t>(duration_ns / kNsPerSecond + 1, 1), .again_ns = INT64_MAX};
}

void AnnouncedApplications::prepare(const traces::BurstConfig& config, int64_t duration_ns,
                                    int64_t deadline_ns) {
  const int64_t now_ns = monotonic_now_ns();
  if (now_ns >= deadline_ns) {
    return;
  }
  if (now_ns >= next_find_ns_) {
    find();
    next_find_ns_ = now_ns + kFindEveryNs;
  }
  for (auto& [key, application] : applications_) {
    const int64_t tell_ns = monotonic_now_ns();
    if (tell_ns >= deadline_ns || is_readable(stop_fd_)) {
      return;
    }
    if (tell_ns >= application.next_tell_ns) {
      tell(application, config, tell_ns, duration_ns);
    }
  }
}

void AnnouncedApplications::tell(Application& application, const traces::BurstConfig& config, int64_t now_ns,
                                 int64_t duration_ns) {
  const ToldTime time = told_time(now_ns, duration_ns);
  application.next_tell_ns = now_ns + kFindEveryNs;
  const auto told = application.scraper->ask(
      "POST", fmt::format("{}?config={}&seconds={}", kBurstsPath, config.text(), time.seconds));
  if (!told) {
    note(application, told.error());
    return;
  }
  // Also where the program has chosen itself: its bursts may be the same. Others, such as older libraries, have no events.
  constexpr unsigned kOk = 200;
  constexpr unsigned kConflict = 409;
  if (told->status != kOk && told->status != kConflict) {
    application.is_able = false;
    application.next_tell_ns = INT64_MAX;
    return;
  }
  application.is_told = told->status == kOk;
  if (!application.is_able) {
    const auto newest = fetch(application, UINT64_MAX);
    if (!newest) {
      note(application, newest.error());
      return;
    }
    application.after = newest->next;
    application.is_able = true;
  }
  application.next_tell_ns = time.again_ns;
}

Result<ApplicationEvents> AnnouncedApplications::fetch(Application& application, uint64_t after) {
  const auto answer = application.scraper->ask("GET", fmt::format("{}/events?after={}", kBurstsPath, after));
  if (!answer) {
    return propagate(answer);
  }
  if (answer->status != 200) {
    return fail(ErrorCode::kUnavailable, "{}: the application returned {}",
                application.scraper->endpoint().name(), answer->status);
  }
  auto events = parse_application_events(as_bytes(answer->body), after);
  if (!events) {
    return propagate(events, "reading {}", application.scraper->endpoint().name());
  }
  return events;
}

ApplicationEvents AnnouncedApplications::collect(uint64_t max_events, int64_t deadline_ns) {
  ApplicationEvents all;
  // From the one behind the last, once around.
  auto next = applications_.upper_bound(last_asked_);
  for (size_t i = 0; i < applications_.size(); ++i, ++next) {
    if (monotonic_now_ns() >= deadline_ns || all.events.size() >= max_events) {
      break;
    }
    next = next == applications_.end() ? applications_.begin() : next;
    last_asked_ = next->first;
    Application& application = next->second;
    if (!application.is_able) {
      continue;
    }
    auto events = fetch(application, application.after);
    if (!events) {
      note(application, events.error());
      continue;
    }
    if (events->next < application.after) {
      // Another program in the same process (execve), which was told nothing.
      application.is_able = false;
      application.next_tell_ns = 0;
      continue;
    }
    application.after = events->next;
    if (!events->events.empty()) {
      attribute(threads_of_process(proc_fs_, next->first.first), next->first.first, *events);
    }
    all.lost += events->lost;
    std::ranges::move(events->events, std::back_inserter(all.events));
  }
  return all;
}

void AnnouncedApplications::release(int64_t deadline_ns) {
  for (auto& [key, application] : applications_) {
    if (monotonic_now_ns() >= deadline_ns) {
      return;  // their time ends by itself
    }
    if (application.is_told) {
      if (const auto told = application.scraper->ask("POST", fmt::format("{}?seconds=0", kBurstsPath));
          !told) {
        note(application, told.error());
      }
    }
  }
}

}  // namespace plimsoll::bursts
