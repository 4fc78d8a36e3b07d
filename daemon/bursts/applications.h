// Applications of this machine that tell of bursts: those that announce themselves (daemon/scrape/announcements.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "capture/identity/binaries.h"
#include "capture/identity/image.h"
#include "capture/identity/proc_fs.h"
#include "config/daemon_config.h"
#include "daemon/bursts/application_events.h"
#include "daemon/scrape/endpoint_finder.h"
#include "daemon/scrape/scraper.h"
#include "traces/bursts/burst_config.h"

namespace plimsoll::bursts {

// What a recording asks. One thread. Times are of CLOCK_MONOTONIC; at a deadline the request under way is ended no earlier, and no further
// one begins.
class Applications {
 public:
  Applications() = default;
  Applications(const Applications&) = delete;
  Applications& operator=(const Applications&) = delete;
  virtual ~Applications() = default;

  // Tells new ones when bursts are, for so long from now. Those that the deadline leaves out come next time; of those that did not answer
  // each is asked again after half a minute, so that they do not stand before others.
  virtual void prepare(const traces::BurstConfig& config, int64_t duration_ns, int64_t deadline_ns) = 0;
  // What happened since the last call, and since prepare(). At most so many events and those of one application.
  virtual ApplicationEvents collect(uint64_t max_events, int64_t deadline_ns) = 0;
  // Tells them that it is over, before the time that they were told.
  virtual void release(int64_t deadline_ns) = 0;
};

// While `stop_fd` is readable none is told anything new. What was recorded is still collected, and the end is told: both within their
// deadlines.
using OpenApplications = std::function<std::unique_ptr<Applications>(int stop_fd)>;

// What an application is told of a recording that goes on for so long.
struct ToldTime {
  int64_t seconds = 0;   // for so long there are bursts: the library takes a day at most
  int64_t again_ns = 0;  // when it is told again; INT64_MAX: never
  bool operator==(const ToldTime&) const = default;
};
ToldTime told_time(int64_t now_ns, int64_t duration_ns);

// Of the folder scrape.announcements and the jobs scrape.announced_jobs, on loopback or a Unix socket. Each request is checked as that for a profile is: the process that
// announced itself must be the one that answers.
class AnnouncedApplications : public Applications {
 public:
  // Of one request: recording waits for it.
  static constexpr int64_t kRequestTimeoutNs = 250'000'000;

  AnnouncedApplications(const config::DaemonConfig& config, std::shared_ptr<const identity::JobRules> rules,
                        int stop_fd, int64_t request_timeout_ns = kRequestTimeoutNs);

  void prepare(const traces::BurstConfig& config, int64_t duration_ns, int64_t deadline_ns) override;
  ApplicationEvents collect(uint64_t max_events, int64_t deadline_ns) override;
  void release(int64_t deadline_ns) override;

 private:
  using ProcessKey = std::pair<uint32_t, int64_t>;  // PID and start
  struct Application {
    std::unique_ptr<scrape::Scraper> scraper;
    uint64_t after = 0;        // the newest sequence number that is known
    int64_t next_tell_ns = 0;  // INT64_MAX: it knows all that it has to
    bool is_told = false;      // it has bursts until it is told that they are over
    bool is_able = false;      // its events are known from here on
    bool has_failed = false;   // and that was logged
  };

  void find();
  void tell(Application& application, const traces::BurstConfig& config, int64_t now_ns, int64_t duration_ns);
  Result<ApplicationEvents> fetch(Application& application, uint64_t after);
  void note(Application& application, const Error& error);

  const identity::ProcFs proc_fs_;
  const identity::LiveImages images_;
  identity::BinaryTable binaries_;  // of scrapers, which make no profile here
  scrape::EndpointFinder finder_;
  const int stop_fd_;
  const int64_t request_timeout_ns_;
  std::map<ProcessKey, Application> applications_;
  ProcessKey last_asked_{};  // where a deadline ended the last round
  int64_t next_find_ns_ = 0;
};

}  // namespace plimsoll::bursts
