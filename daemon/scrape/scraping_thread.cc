#include "daemon/scrape/scraping_thread.h"

#include <chrono>

#include "base/log.h"
#include "base/random.h"

namespace plimsoll::scrape {

ScrapingThread::ScrapingThread(const config::DaemonConfig& config, const wire::Machine& machine,
                               const std::shared_ptr<const identity::JobRules>& rules,
                               std::function<void(wire::RawProfile)> hand_over)
    : interval_ns_(config.scrape_interval_ns),
      hand_over_(std::move(hand_over)),
      images_(proc_fs_),
      binaries_(images_),
      random_(random_seed()) {
  const ScrapeLimits limits{config.scrape_timeout_ns, static_cast<uint64_t>(config.scrape_max_bytes)};
  for (const std::string& url : config.scrape_endpoints) {
    if (auto endpoint = config::parse_scrape_endpoint(url)) {
      scrapers_.push_back(
          std::make_unique<Scraper>(std::move(*endpoint), limits, machine, proc_fs_, binaries_, rules));
    } else {
      set_problem(url, endpoint.error().text());
    }
  }
  if (!scrapers_.empty()) {
    thread_ = std::thread([this] { run(); });
  }
}

ScrapingThread::~ScrapingThread() {
  stop();
}

void ScrapingThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool ScrapingThread::is_stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

std::string ScrapingThread::problem() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [endpoint, problem] : problems_) {
    text += (text.empty() ? "" : "; ") + problem;
  }
  return text;
}

void ScrapingThread::set_problem(const std::string& endpoint, const std::string& problem) {
  const std::lock_guard lock(mutex_);
  if (problem.empty()) {
    if (problems_.erase(endpoint) != 0) {
      log_info("scraping {} works again", endpoint);
    }
  } else if (std::string& known = problems_[endpoint]; known != problem) {
    log_warning("{}", problem);
    known = problem;
  }
}

void ScrapingThread::scrape(Scraper& scraper) {
  auto scraped = scraper.scrape(interval_ns_);
  set_problem(scraper.endpoint().name(), scraped ? std::string() : scraped.error().text());
  if (!scraped) {
    return;
  }
  if (std::optional<wire::RawProfile> profile = std::move(*scraped)) {
    hand_over_(std::move(*profile));
  }
}

bool ScrapingThread::wait_for_next_round() {
  // Between 0.9 and 1.1 of it.
  const auto pause_ns =
      std::uniform_int_distribution<int64_t>(interval_ns_ / 10 * 9, interval_ns_ / 10 * 11)(random_);
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::nanoseconds(pause_ns), [this] { return stopping_; });
}

void ScrapingThread::run() {
  do {
    for (const auto& scraper : scrapers_) {
      if (is_stopping()) {
        return;
      }
      scrape(*scraper);
    }
  } while (wait_for_next_round());
}

}  // namespace plimsoll::scrape
