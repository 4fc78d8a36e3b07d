#include "daemon/scrape/scraping_thread.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/printable.h"
#include "base/random.h"
#include "base/time.h"

namespace plimsoll::scrape {
namespace {

// A wall clock may be set while a thread waits for a time of that clock.
constexpr int64_t kLongestWaitNs = 5 * kNsPerSecond;
// An endpoint that waits behind one of the same program that hangs is asked after that one's timeout.
constexpr int64_t kTimeoutsToWait = 2;

std::string refusal_of(const config::DaemonConfig& config) {
  if (config.scrape_schedule != "assigned") {
    return "application profiles: scrape.schedule of this daemon is \"interval\"";
  }
  const bool has_any = !config.scrape_endpoints.empty() || !config.scrape_announcements.empty() ||
                       !config.scrape_listening.empty();
  return has_any ? std::string()
                 : "application profiles: this daemon's configuration names no endpoints (scrape)";
}

// Whether it counts since a process's start, so that a window has the difference of two scrapes.
bool counts_since_start(std::string_view kind) {
  return kind != "heap" && kind != "profile" && kind != "wall";
}

// Whether one scrape is all: it samples while it waits.
bool samples_meanwhile(std::string_view kind) {
  return kind == "profile" || kind == "wall";
}

// The first scrape of what counts since a start is only remembered: at most what is allocated at the moment is left of it.
bool has_counts(const std::optional<wire::RawProfile>& profile) {
  return profile && std::ranges::any_of(profile->events(), [](const wire::Event& event) {
           return event.kind() != wire::SNAPSHOT;
         });
}

wire::ClockPair read_clock_pair() {
  wire::ClockPair clocks;
  clocks.set_monotonic_ns(monotonic_now_ns());
  clocks.set_wall_ns(wall_now_ns());
  return clocks;
}

}  // namespace

ScrapingThread::ScrapingThread(const config::DaemonConfig& config, const wire::Machine& machine,
                               const std::shared_ptr<const identity::JobRules>& rules,
                               std::function<void(wire::RawProfile)> hand_over,
                               std::function<int64_t()> server_now_ns)
    : by_interval_(config.scrape_schedule != "assigned"),
      refusal_(refusal_of(config)),
      interval_ns_(config.scrape_interval_ns),
      stop_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      limits_{config.scrape_timeout_ns, static_cast<uint64_t>(config.scrape_max_bytes), stop_fd_.get()},
      machine_(machine),
      rules_(rules),
      finding_(config.scrape_announcements.empty() ? "scrape.listening" : config.scrape_announcements),
      hand_over_(std::move(hand_over)),
      server_now_ns_(std::move(server_now_ns)),
      images_(proc_fs_),
      binaries_(images_),
      queue_(static_cast<size_t>(config.scrape_parallel)),
      finder_(config, proc_fs_, rules),
      random_(random_seed()) {
  const auto parallel = static_cast<size_t>(config.scrape_parallel);
  const size_t workers = finder_.looks_for_more() ? parallel : std::min(parallel, finder_.configured());
  for (size_t i = 0; i < workers; ++i) {
    workers_.emplace_back([this] { run_worker(); });
  }
  if (workers != 0) {
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
  queue_.stop();
  if (stop_fd_.valid()) {
    ::eventfd_write(stop_fd_.get(), 1);
  }
  if (thread_.joinable()) {
    thread_.join();
  }
  for (std::thread& worker : workers_) {
    if (worker.joinable()) {
      worker.join();
    }
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

void ScrapingThread::assign(const std::vector<wire::Assignment>& assignments) {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> before = rounds_.continuous_kinds();
  rounds_.replace(assignments, refusal_, server_now_ns_());
  is_round_due_ = is_round_due_ || (!by_interval_ && before != rounds_.continuous_kinds());
  is_news_ = true;
  changed_.notify_all();
}

void ScrapingThread::complete(wire::AssignmentReport& report) const {
  const std::lock_guard lock(mutex_);
  if (report.state() == wire::DONE && rounds_.is_under_way(report.id())) {
    report.set_state(wire::RUNNING);
  }
  for (wire::ApplicationKindReport& kind : rounds_.kinds(report.id())) {
    *report.add_application_kinds() = std::move(kind);
  }
  if (const auto result = rounds_.result(report.id()); result && report.detail().empty()) {
    // It may name paths, which hold any byte; the server takes a bounded text.
    constexpr size_t kMaxDetailBytes = 1000;
    report.set_detail(printable(std::string_view(*result).substr(0, kMaxDetailBytes)));
  }
}

bool ScrapingThread::scrape(ScrapeTarget& target) {
  Scraper& scraper = *target.scraper;
  const auto fetched = scraper.fetch();
  // Only waiting is done side by side: what is large while it is read is there once.
  const std::lock_guard processing(processing_);
  auto scraped = fetched ? scraper.make_profile(*fetched, target.young_ns)
                         : Result<std::optional<wire::RawProfile>>(std::unexpected(fetched.error()));
  // A cancelled request, or that of a process that ended meanwhile, failed for no reason of its own.
  if (queue_.is_abandoned(target) || (!scraped && is_stopping())) {
    return false;
  }
  std::string problem = scraped ? std::string() : scraped.error().text();
  std::string cause = scraped ? std::string() : cause_of(scraped.error());
  if (target.is_drawn) {
    const bool counts = counts_since_start(target.kind);
    const bool has_answer = scraped && (!counts || has_counts(*scraped));
    if (scraped && !has_answer) {
      problem = scraper.endpoint().name() + ": what it had counted when the window began is unknown";
      cause = "no answer when the window began";
    }
    const std::lock_guard lock(mutex_);
    target.is_answered = has_answer || (target.is_answered && !counts);
    target.problem = std::move(problem);
    target.cause = std::move(cause);
  } else {
    set_problem(scraper.endpoint().name(), problem);
  }
  if (!scraped) {
    return false;
  }
  if (std::optional<wire::RawProfile> profile = std::move(*scraped)) {
    hand_over_(std::move(*profile));
  }
  return true;
}

std::shared_ptr<ScrapeTarget> ScrapingThread::make_target(FoundEndpoint found) {
  auto target = std::make_shared<ScrapeTarget>();
  target->program = found.endpoint.program();
  target->kind = config::kind_of_endpoint(found.endpoint);
  target->young_ns = interval_ns_;
  target->scraper =
      std::make_unique<Scraper>(std::move(found.endpoint), limits_, machine_, proc_fs_, binaries_, rules_);
  if (found.owner) {
    target->scraper->require_owner(*found.owner);
  }
  return target;
}

void ScrapingThread::find_targets(const WantedKinds& kinds) {
  FoundEndpoints now = finder_.find(kinds);
  Targets targets;
  for (auto& [key, endpoint] : now.endpoints) {
    const auto known = found_.find(key);
    targets[key] = known != found_.end() ? std::move(known->second) : make_target(std::move(endpoint));
  }
  forget_found();
  found_ = std::move(targets);
  set_finding_problems(now.problems);
}

// What those that are left could not scrape is no problem any more.
void ScrapingThread::forget_found() {
  // A scrape that is just ending says what failed before this, or sees that nothing of it is wanted.
  const std::lock_guard processing(processing_);
  const std::lock_guard lock(mutex_);
  for (const auto& [key, target] : found_) {
    if (target != nullptr) {
      queue_.abandon(*target);
      problems_.erase(target->scraper->endpoint().name());
    }
  }
}

void ScrapingThread::set_finding_problems(const std::vector<std::string>& problems) {
  // One entry for all of them, since any user of the machine can make some announcements.
  std::string text;
  for (const std::string& problem : problems) {
    text += (text.empty() ? "" : "; ") + problem;
  }
  set_problem(finding_, text);
}

void ScrapingThread::begin_round() {
  // Between 0.9 and 1.1 of it, at random, so that machines do not ask all at once.
  next_round_ns_ = monotonic_now_ns() + std::uniform_int_distribution<int64_t>(
                                            interval_ns_ / 10 * 9, interval_ns_ / 10 * 11)(random_);
  std::vector<std::string> kinds;
  {
    const std::lock_guard lock(mutex_);
    kinds = rounds_.continuous_kinds();
  }
  if (!by_interval_ && kinds.empty() && found_.empty()) {
    return;
  }
  find_targets(by_interval_ ? WantedKinds::everything() : WantedKinds::only(std::move(kinds)));
  for (const auto& [key, target] : found_) {
    queue_.add(target);
  }
}

void ScrapingThread::add_targets(const wire::Assignment& assignment, int64_t young_ns, OpenWindow& window) {
  FoundEndpoints now = finder_.find(
      WantedKinds::only({assignment.application_kinds().begin(), assignment.application_kinds().end()}));
  set_finding_problems(now.problems);
  for (auto& [key, endpoint] : now.endpoints) {
    if (window.targets.contains(key)) {
      continue;
    }
    const auto target = make_target(std::move(endpoint));
    target->is_drawn = true;
    target->young_ns = young_ns;
    target->scraper->collect_for(assignment.draw(), window.began);
    window.targets.emplace(key, target);
  }
}

void ScrapingThread::begin_window(const wire::Assignment& assignment) {
  OpenWindow& window = windows_[assignment.id()];
  window.began = read_clock_pair();
  add_targets(assignment, 0, window);
  for (const auto& [key, target] : window.targets) {
    queue_.add(target);
  }
}

void ScrapingThread::end_window(const wire::Assignment& assignment) {
  OpenWindow window = std::move(windows_[assignment.id()]);
  windows_.erase(assignment.id());
  add_targets(assignment, monotonic_now_ns() - window.began.monotonic_ns(), window);
  std::vector<std::shared_ptr<ScrapeTarget>> targets;
  for (const auto& [key, target] : window.targets) {
    targets.push_back(target);
    bool is_over = false;
    {
      const std::lock_guard lock(mutex_);
      is_over = samples_meanwhile(target->kind) && (target->is_answered || !target->problem.empty());
      // Of what counts, the scrape of the end alone is an answer.
      if (counts_since_start(target->kind)) {
        target->is_answered = false;
        target->problem.clear();
        target->cause.clear();
      }
    }
    // One that is busy has had no answer to the scrape of the beginning: of what counts it has none then.
    if (!is_over) {
      queue_.add(target);
    }
  }
  queue_.wait_for(targets, kTimeoutsToWait * limits_.timeout_ns);
  if (is_stopping()) {
    return;
  }
  const std::lock_guard processing(processing_);
  for (const auto& target : targets) {
    queue_.abandon(*target);
  }
  const KindAnswers answers = answers_of(assignment, window);
  wire::RawProfile profile = answer_profile(assignment, answers);
  *profile.mutable_machine() = machine_;
  *profile.mutable_window()->mutable_start() = window.began;
  *profile.mutable_window()->mutable_end() = read_clock_pair();
  hand_over_(std::move(profile));
  const std::lock_guard lock(mutex_);
  rounds_.set_result(assignment.id(), text_of(answers), reports_of(answers));
}

KindAnswers ScrapingThread::answers_of(const wire::Assignment& assignment, const OpenWindow& window) const {
  KindAnswers answers;
  for (const std::string& kind : assignment.application_kinds()) {
    answers[kind];
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [key, target] : window.targets) {
    KindAnswer& answer = answers[target->kind];
    ++answer.endpoints;
    answer.answered += target->is_answered ? 1 : 0;
    if (!target->is_answered) {
      ++answer.causes[target->cause.empty() ? "no answer within the window" : target->cause];
    }
    if (!target->is_answered && answer.problem.empty()) {
      answer.problem = target->problem.empty()
                           ? target->scraper->endpoint().name() + ": no answer within the window"
                           : target->problem;
    }
  }
  return answers;
}

int64_t ScrapingThread::take_steps() {
  for (;;) {
    AssignedRounds::Next next;
    {
      const std::lock_guard lock(mutex_);
      next = rounds_.next(server_now_ns_());
    }
    if (next.step == AssignedRounds::Step::kNone || is_stopping()) {
      return next.due_ns;
    }
    if (next.step == AssignedRounds::Step::kBegin) {
      begin_window(next.assignment);
    } else {
      end_window(next.assignment);
    }
  }
}

bool ScrapingThread::wait(int64_t step_due_ns) {
  std::unique_lock lock(mutex_);
  int64_t left_ns = std::max<int64_t>(0, next_round_ns_ - monotonic_now_ns());
  if (step_due_ns != INT64_MAX) {
    left_ns = std::min({left_ns, step_due_ns - server_now_ns_(), kLongestWaitNs});
  }
  changed_.wait_for(lock, std::chrono::nanoseconds(left_ns), [this] { return stopping_ || is_news_; });
  is_news_ = false;
  next_round_ns_ = is_round_due_ ? 0 : next_round_ns_;
  is_round_due_ = false;
  return !stopping_;
}

void ScrapingThread::run_worker() {
  while (const std::shared_ptr<ScrapeTarget> target = queue_.take()) {
    queue_.give_back(*target, !scrape(*target));
  }
}

void ScrapingThread::run() {
  int64_t step_due_ns = INT64_MAX;
  do {
    if (monotonic_now_ns() >= next_round_ns_) {
      begin_round();
    }
    step_due_ns = take_steps();
  } while (wait(step_due_ns));
}

}  // namespace plimsoll::scrape
