// Scrapes the configured endpoints, those that processes announce, and listening sockets that meet rules: several at once, in
// threads of its own; in every interval, or while the server asks for them.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/time.h"
#include "base/unique_fd.h"
#include "capture/identity/workload_namer.h"
#include "config/daemon_config.h"
#include "daemon/scrape/assigned_rounds.h"
#include "daemon/scrape/endpoint_finder.h"
#include "daemon/scrape/kind_answers.h"
#include "daemon/scrape/scraper.h"
#include "daemon/scrape/target_queue.h"
#include "proto/fleet.pb.h"

namespace plimsoll::scrape {

// Any thread may call; profiles are handed over in the scraping threads, one at a time. Without endpoints, a folder of
// announcements and rules there is no thread.
//
// One thread begins rounds; scrape.parallel others fetch what is due. An endpoint that has not answered by the next round is left
// out of it, and delays no other (target_queue.h).
//
// With scrape.schedule = "assigned" there are rounds for draws: one when the window begins, from which counts are, and one when it ends,
// with the differences. Then one more profile says of which kinds how many endpoints answered (kind_answers.h).
class ScrapingThread {
 public:
  // `rules` say who processes work for; null: there are none. `server_now_ns`: the server's wall clock, which windows are of.
  ScrapingThread(const config::DaemonConfig& config, const wire::Machine& machine,
                 const std::shared_ptr<const identity::JobRules>& rules,
                 std::function<void(wire::RawProfile)> hand_over,
                 std::function<int64_t()> server_now_ns = wall_now_ns);
  ScrapingThread(const ScrapingThread&) = delete;
  ScrapingThread& operator=(const ScrapingThread&) = delete;
  ~ScrapingThread();

  // All that the server asks this machine for now. A window that is not named any more ends early, with what there is.
  void assign(const std::vector<wire::Assignment>& assignments);
  // Adds what was had of the kinds that the assignment asks for. One that is done counts as running while they are being had.
  void complete(wire::AssignmentReport& report) const;

  // Ends the threads; requests that are under way are cancelled. May be called again.
  void stop();

  // What cannot be scraped and why, an endpoint each; empty while all is well.
  std::string problem() const;

 private:
  using Targets = std::map<std::string, std::shared_ptr<ScrapeTarget>>;  // by process and URL

  // A draw whose window is open.
  struct OpenWindow {
    wire::ClockPair began;
    Targets targets;
  };

  void run();
  void run_worker();
  // Whether it succeeded.
  bool scrape(ScrapeTarget& target);

  // A round of all that is wanted in each interval. Known processes keep their scrapers, and so what they have counted.
  void begin_round();
  void find_targets(const WantedKinds& kinds);
  void forget_found();

  // What is due for draws now. When there is more, by the server's clock.
  int64_t take_steps();
  void begin_window(const wire::Assignment& assignment);
  void end_window(const wire::Assignment& assignment);
  // What is found now and has no target yet.
  void add_targets(const wire::Assignment& assignment, int64_t young_ns, OpenWindow& window);
  KindAnswers answers_of(const wire::Assignment& assignment, const OpenWindow& window) const;

  std::shared_ptr<ScrapeTarget> make_target(FoundEndpoint found);
  void set_finding_problems(const std::vector<std::string>& problems);
  // Logs what is new.
  void set_problem(const std::string& endpoint, const std::string& problem);
  // Until the next round, the next step, or what is asked for changes. False: stop.
  bool wait(int64_t step_due_ns);
  bool is_stopping() const;

  const bool by_interval_;
  const std::string refusal_;  // why nothing is had for assignments; empty: it is
  const int64_t interval_ns_;
  const UniqueFd
      stop_fd_;  // an eventfd: cancels requests; invalid where there was none left, then they end by their timeout
  const ScrapeLimits limits_;
  const wire::Machine machine_;
  const std::shared_ptr<const identity::JobRules> rules_;
  const std::string finding_;  // what problems of finding are of
  const std::function<void(wire::RawProfile)> hand_over_;
  const std::function<int64_t()> server_now_ns_;
  identity::ProcFs proc_fs_;
  identity::LiveImages images_;
  identity::BinaryTable binaries_;
  TargetQueue queue_;

  // Of the thread that begins rounds.
  EndpointFinder finder_;
  Targets found_;
  std::map<std::string, OpenWindow> windows_;  // by assignment
  int64_t next_round_ns_ = 0;                  // monotonic
  std::mt19937_64 random_;

  std::mutex processing_;  // protects binaries_ and hand_over_; taken before mutex_
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;                        // protected by mutex_
  bool is_news_ = false;                         // protected by mutex_: what is asked for has changed
  bool is_round_due_ = false;                    // protected by mutex_: other kinds are wanted all the time
  AssignedRounds rounds_;                        // protected by mutex_
  std::map<std::string, std::string> problems_;  // protected by mutex_; by endpoint
  std::thread thread_;
  std::vector<std::thread> workers_;
};

}  // namespace plimsoll::scrape
