#include "daemon/scrape/scraping_thread.h"

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/random.h"

namespace plimsoll::scrape {
namespace {

constexpr size_t kMaxAnnounced = 100;

}  // namespace

ScrapingThread::ScrapingThread(const config::DaemonConfig& config, const wire::Machine& machine,
                               const std::shared_ptr<const identity::JobRules>& rules,
                               std::function<void(wire::RawProfile)> hand_over)
    : interval_ns_(config.scrape_interval_ns),
      limits_{config.scrape_timeout_ns, static_cast<uint64_t>(config.scrape_max_bytes)},
      machine_(machine),
      rules_(rules),
      announcements_(config.scrape_announcements),
      announced_kinds_(config.scrape_announced_kinds),
      announced_jobs_(config.scrape_announced_jobs),
      hand_over_(std::move(hand_over)),
      images_(proc_fs_),
      binaries_(images_),
      namer_(proc_fs_, rules),
      random_(random_seed()) {
  for (const std::string& url : config.scrape_endpoints) {
    if (auto endpoint = config::parse_scrape_endpoint(url)) {
      scrapers_.push_back(make_scraper(std::move(*endpoint)));
    } else {
      set_problem(url, endpoint.error().text());
    }
  }
  if (!scrapers_.empty() || !announcements_.empty()) {
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

std::unique_ptr<Scraper> ScrapingThread::make_scraper(config::ScrapeEndpoint endpoint) {
  return std::make_unique<Scraper>(std::move(endpoint), limits_, machine_, proc_fs_, binaries_, rules_);
}

bool ScrapingThread::is_wanted(const AnnouncedProcess& process) {
  // Where it is configured too, the configuration says what is scraped: twice would count twice.
  const auto announced = config::parse_scrape_endpoint(process.base_url);
  const bool is_configured =
      announced && std::ranges::any_of(scrapers_, [&](const std::unique_ptr<Scraper>& scraper) {
        return scraper->endpoint().program() == announced->program();
      });
  if (is_configured || announced_jobs_.empty()) {
    return !is_configured;
  }
  const std::string job(namer_.name(process.pid, proc_fs_.cgroup(process.pid)).job);
  return std::ranges::find(announced_jobs_, job) != announced_jobs_.end();
}

void ScrapingThread::look_for_announcements() {
  Announcements found = read_announcements(announcements_, proc_fs_);
  std::map<std::string, std::unique_ptr<Scraper>> wanted;
  size_t with_token = 0;
  size_t beyond = 0;
  for (const AnnouncedProcess& process : found.processes) {
    if (!is_wanted(process)) {
      continue;
    }
    with_token += process.requires_token ? 1 : 0;
    for (const std::string& kind : announced_kinds_) {
      auto endpoint =
          config::parse_scrape_endpoint(process.base_url + std::string(config::path_of_announced_kind(kind)));
      if (!endpoint || process.requires_token ||
          std::ranges::find(process.kinds, kind) == process.kinds.end()) {
        continue;
      }
      if (wanted.size() == kMaxAnnounced) {
        ++beyond;
        continue;
      }
      const std::string key = fmt::format("{} {} {}", process.pid, process.started_ns, endpoint->name());
      const auto [place, is_new] = wanted.try_emplace(key);
      if (!is_new) {
        continue;  // a kind that is configured twice
      }
      const auto known = announced_.find(key);
      place->second =
          known != announced_.end() ? std::move(known->second) : make_scraper(std::move(*endpoint));
      place->second->require_owner({process.pid, process.started_ns});
    }
  }
  if (with_token != 0) {
    found.problems.push_back(fmt::format("{} announced processes require a token", with_token));
  }
  if (beyond != 0) {
    found.problems.push_back(
        fmt::format("{} announced profiles are not scraped: at most {} are", beyond, kMaxAnnounced));
  }
  forget_announced();
  announced_ = std::move(wanted);
  set_announcement_problems(found.problems);
}

// What those that are left could not scrape is no problem any more.
void ScrapingThread::forget_announced() {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, scraper] : announced_) {
    if (scraper != nullptr) {
      problems_.erase(scraper->endpoint().name());
    }
  }
}

void ScrapingThread::set_announcement_problems(const std::vector<std::string>& problems) {
  // One entry for all of them, since any user of the machine can make some.
  std::string text;
  for (const std::string& problem : problems) {
    text += (text.empty() ? "" : "; ") + problem;
  }
  set_problem(announcements_, text);
}

void ScrapingThread::run() {
  do {
    if (!announcements_.empty()) {
      look_for_announcements();
    }
    for (const auto& scraper : scrapers_) {
      if (is_stopping()) {
        return;
      }
      scrape(*scraper);
    }
    for (const auto& [key, scraper] : announced_) {
      if (is_stopping()) {
        return;
      }
      scrape(*scraper);
    }
  } while (wait_for_next_round());
}

}  // namespace plimsoll::scrape
