// Scrapes the configured endpoints, and those that processes announce, one after the other, in a thread of its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "capture/identity/workload_namer.h"
#include "config/daemon_config.h"
#include "daemon/scrape/announcements.h"
#include "daemon/scrape/scraper.h"

namespace plimsoll::scrape {

// Any thread may call; profiles are handed over in the scraping thread. Without endpoints and without a folder of announcements
// there is no thread.
class ScrapingThread {
 public:
  // `rules` say who processes work for; null: there are none.
  ScrapingThread(const config::DaemonConfig& config, const wire::Machine& machine,
                 const std::shared_ptr<const identity::JobRules>& rules,
                 std::function<void(wire::RawProfile)> hand_over);
  ScrapingThread(const ScrapingThread&) = delete;
  ScrapingThread& operator=(const ScrapingThread&) = delete;
  ~ScrapingThread();

  // Ends the thread after the request that is under way, if one is. May be called again.
  void stop();

  // What cannot be scraped and why, an endpoint each; empty while all is well.
  std::string problem() const;

 private:
  void run();
  void scrape(Scraper& scraper);
  // Makes announced_ what is announced now. Known processes keep their scrapers, and so what they have counted.
  void look_for_announcements();
  void forget_announced();
  bool is_wanted(const AnnouncedProcess& process);
  std::unique_ptr<Scraper> make_scraper(config::ScrapeEndpoint endpoint);
  void set_announcement_problems(const std::vector<std::string>& problems);
  // Logs what is new.
  void set_problem(const std::string& endpoint, const std::string& problem);
  // Until the next round: about the interval, at random, so that machines do not ask all at once. False: stop.
  bool wait_for_next_round();
  bool is_stopping() const;

  const int64_t interval_ns_;
  const ScrapeLimits limits_;
  const wire::Machine machine_;
  const std::shared_ptr<const identity::JobRules> rules_;
  const std::string announcements_;
  const std::vector<std::string> announced_kinds_;
  const std::vector<std::string> announced_jobs_;
  const std::function<void(wire::RawProfile)> hand_over_;
  identity::ProcFs proc_fs_;
  identity::LiveImages images_;
  identity::BinaryTable binaries_;
  identity::WorkloadNamer namer_;
  std::vector<std::unique_ptr<Scraper>> scrapers_;
  std::map<std::string, std::unique_ptr<Scraper>> announced_;  // by process and URL
  std::mt19937_64 random_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;                        // protected by mutex_
  std::map<std::string, std::string> problems_;  // likewise; by endpoint
  std::thread thread_;
};

}  // namespace plimsoll::scrape
