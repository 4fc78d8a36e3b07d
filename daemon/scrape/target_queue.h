// What waits to be scraped, handed out to several threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "daemon/scrape/scraper.h"

namespace plimsoll::scrape {

// One endpoint, with what is known of its scrapes before.
struct ScrapeTarget {
  std::string program;  // ScrapeEndpoint::program()
  std::string kind;     // kind_of_endpoint()
  std::unique_ptr<Scraper> scraper;
  // What a process that is younger than this has counted since its start is new, at the first scrape. Set while not busy.
  int64_t young_ns = 0;
  bool is_drawn = false;  // for a draw, which reports what became of it

  // Of the newest scrape for a draw; protected by the mutex of whom the target is.
  bool is_answered = false;
  std::string problem = {};
  std::string cause = {};  // of the problem (cause_of())

  // Protected by the queue's mutex.
  bool busy = false;       // waits in the queue, or is being scraped
  bool failed = false;     // the scrape before
  bool abandoned = false;  // nothing of it is wanted any more
};

// Any thread may call. First come, first served, but for two bounds:
// - Of one program one profile is fetched at a time: requests are work for it, and profilers refuse a second one meanwhile.
// - Targets whose last scrape failed have at most all places but one, so that programs which hang delay only each other.
class TargetQueue {
 public:
  explicit TargetQueue(size_t places) : places_(places) {}

  // False where it is still waiting or being scraped.
  bool add(const std::shared_ptr<ScrapeTarget>& target);
  // Waits for the next; null after stop(). give_back() frees its place.
  std::shared_ptr<ScrapeTarget> take();
  void give_back(ScrapeTarget& target, bool failed);
  // It is not handed out any more; its scrape may be under way.
  void abandon(ScrapeTarget& target);
  bool is_abandoned(const ScrapeTarget& target) const;
  // Waits until none of them is busy. False: the time is over, or after stop().
  bool wait_for(const std::vector<std::shared_ptr<ScrapeTarget>>& targets, int64_t timeout_ns);
  void stop();

 private:
  std::shared_ptr<ScrapeTarget> take_locked();

  const size_t places_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::deque<std::shared_ptr<ScrapeTarget>> waiting_;
  std::set<std::string> programs_;  // that are being scraped
  size_t failing_ = 0;              // of them, those that failed before
};

}  // namespace plimsoll::scrape
