#include "daemon/collecting_thread.h"

#include <sys/eventfd.h>

#include <chrono>

#include "base/log.h"
#include "base/time.h"

namespace plimsoll {
namespace {

// How long to wait before trying again what this machine could not do.
constexpr std::chrono::seconds kRetryInterval{10};
// A pause of sampling lasts as long as a minute's CPU time takes to come back; twice that is for good.
constexpr int64_t kLongestPauseNs = 120 * kNsPerSecond;
constexpr int64_t kObserveIntervalNs = kNsPerSecond / 4;
// Before its start, an assignment's events are opened and processes are read.
constexpr int64_t kAheadNs = kNsPerSecond;
// A wall clock may be set while a thread waits for a time of that clock.
constexpr int64_t kLongestWaitNs = 5 * kNsPerSecond;

}  // namespace

CollectingThread::CollectingThread(CollectorOptions options, Callbacks callbacks)
    : options_(std::move(options)),
      governor_(*options_.governor),
      callbacks_(std::move(callbacks)),
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

CollectingThread::~CollectingThread() {
  stop();
}

void CollectingThread::wake() {
  ::eventfd_write(wake_fd_.get(), 1);
  changed_.notify_all();
}

void CollectingThread::assign(std::vector<WantedAssignment> wanted) {
  const std::lock_guard lock(mutex_);
  const std::optional<wire::Assignment> before = running_;
  queue_.replace(std::move(wanted));
  if (!before || !queue_.is_wanted(*before)) {
    wake();
  }
}

void CollectingThread::give_up(const std::string& why) {
  const std::lock_guard lock(mutex_);
  queue_.fail_open(why);
  wake();
}

void CollectingThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

std::vector<wire::AssignmentReport> CollectingThread::reports() const {
  const std::lock_guard lock(mutex_);
  return queue_.reports();
}

std::string CollectingThread::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

void CollectingThread::set_problem(std::string problem) {
  const std::lock_guard lock(mutex_);
  // What cannot be done is tried again and again.
  if (!problem.empty() && problem != problem_) {
    log_error("{}", problem);
  }
  problem_ = std::move(problem);
}

bool CollectingThread::is_current(const wire::Assignment& assignment) const {
  const std::lock_guard lock(mutex_);
  const bool is_wanted = !stopping_ && queue_.is_wanted(assignment);
  if (is_wanted) {
    // It may have been withdrawn and given again meanwhile: that must not end its next window.
    eventfd_t count = 0;
    ::eventfd_read(wake_fd_.get(), &count);
  }
  return is_wanted;
}

std::optional<wire::Assignment> CollectingThread::wait_for_assignment() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const int64_t now_ns = callbacks_.server_now_ns();
    AssignmentQueue::Next next = queue_.next(now_ns, kAheadNs);
    if (next.assignment) {
      eventfd_t count = 0;
      ::eventfd_read(wake_fd_.get(), &count);
      queue_.set_state(next.assignment->id(), wire::RUNNING);
      running_ = next.assignment;
      return std::move(next.assignment);
    }
    if (next.due_ns == INT64_MAX) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds(std::min(next.due_ns - now_ns, kLongestWaitNs)));
    }
  }
  return std::nullopt;
}

void CollectingThread::run() {
  while (const auto assignment = wait_for_assignment()) {
    settle(*assignment, run_assignment(*assignment));
  }
}

void CollectingThread::settle(const wire::Assignment& assignment, const Status& done) {
  if (assignment.continuous()) {
    if (!done) {
      set_problem(done.error().text());
    }
    std::unique_lock lock(mutex_);
    running_.reset();
    queue_.set_state(assignment.id(), wire::WAITING);
    if (!done) {
      changed_.wait_for(lock, kRetryInterval, [this] { return stopping_; });
    }
    return;
  }
  if (!done) {
    log_warning("assignment {}: {}", assignment.id(), done.error().text());
  }
  set_problem({});  // what failed is over
  const std::lock_guard lock(mutex_);
  running_.reset();
  if (!queue_.is_wanted(assignment)) {
    return;
  }
  if (done) {
    queue_.set_state(assignment.id(), wire::DONE);
  } else {
    const bool is_refused = done.error().code == ErrorCode::kDenied;
    queue_.set_state(assignment.id(), is_refused ? wire::REFUSED : wire::FAILED, done.error().text());
  }
}

Status CollectingThread::run_assignment(const wire::Assignment& assignment) {
  bool has_profile = false;
  bool is_outdated = true;
  Status done;
  while (done && is_outdated && is_current(assignment)) {
    CollectorOptions options = options_;
    options.assignment = assignment;
    auto collector = Collector::open(std::move(options));
    if (!collector) {
      return propagate(collector, "cannot sample this machine");
    }
    set_problem({});
    done = wait_for_start(assignment, **collector);
    if (done) {
      done = collect_windows(assignment, **collector, has_profile);
    }
    is_outdated = (*collector)->is_outdated();
  }
  return done;
}

Status CollectingThread::wait_for_start(const wire::Assignment& assignment, Collector& collector) {
  Status done;
  int64_t left_ns = assignment.start_ns() - callbacks_.server_now_ns();
  while (done && left_ns > 0 && is_current(assignment)) {
    done = collector.follow_processes(std::min(left_ns, kObserveIntervalNs), wake_fd_.get());
    governor_.observe(monotonic_now_ns());
    left_ns = assignment.start_ns() - callbacks_.server_now_ns();
  }
  return done;
}

Status CollectingThread::collect_window(int64_t duration_ns, Collector& collector) {
  Collector::WindowOptions window;
  window.duration_ns = duration_ns;
  window.wake_fd = wake_fd_.get();
  window.with_kernel_symbols = callbacks_.wants_kernel_symbols();
  auto profile = collector.collect(window);
  if (!profile) {
    return propagate(profile, "collecting failed");
  }
  // A profile with kernel symbols is larger than others by far, and the only one.
  const OneTimeWork once(window.with_kernel_symbols ? &governor_ : nullptr);
  callbacks_.hand_over(std::move(*profile));
  return {};
}

Status CollectingThread::pause(const wire::Assignment& assignment, Collector& collector) {
  if (governor_.is_over_memory()) {
    collector.shrink();
    governor_.observe(monotonic_now_ns());
    if (governor_.is_over_memory()) {
      return with_hint(
          fail(ErrorCode::kTooLarge, "sampling pauses: {} MiB are in use before the first sample",
               governor_.state().usage.resident_bytes >> 20U),
          "raise limits.max_memory");
    }
  }
  const int64_t give_up_at_ns = monotonic_now_ns() + kLongestPauseNs;
  for (std::string reason = governor_.reason_to_pause(); !reason.empty() && is_current(assignment);
       reason = governor_.reason_to_pause()) {
    if (monotonic_now_ns() > give_up_at_ns) {
      return with_hint(fail(ErrorCode::kTooLarge,
                            "tracking this machine's processes alone takes too much CPU time: {}", reason),
                       "raise limits.max_cpu_percent");
    }
    if (problem().empty()) {
      set_problem("sampling pauses: " + reason);
    }
    if (auto followed = collector.follow_processes(kObserveIntervalNs, wake_fd_.get()); !followed) {
      return followed;
    }
    governor_.observe(monotonic_now_ns());
  }
  set_problem({});
  return {};
}

Status CollectingThread::collect_windows(const wire::Assignment& assignment, Collector& collector,
                                         bool& has_profile) {
  const int64_t end_ns = assignment.continuous()
                             ? INT64_MAX
                             : monotonic_now_ns() + end_of(assignment) - callbacks_.server_now_ns();
  Status done;
  while (done && is_current(assignment) && !collector.is_outdated()) {
    done = pause(assignment, collector);
    // The governor may have ended a window early: what is left of the assignment's time is the next one's.
    const int64_t left_ns = end_ns - monotonic_now_ns();
    if (done && left_ns <= 0) {
      return has_profile ? Status()
                         : fail(ErrorCode::kTooLarge, "window expired; sampling was throttled throughout");
    }
    if (done && is_current(assignment)) {
      done = collect_window(std::min(assignment.duration_ns(), left_ns), collector);
      has_profile = done.has_value();
    }
  }
  return done;
}

}  // namespace plimsoll
