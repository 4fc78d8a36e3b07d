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

bool same(const wire::Assignment& a, const wire::Assignment& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

}  // namespace

CollectingThread::CollectingThread(CollectorOptions options, std::function<bool()> wants_kernel_symbols,
                                   std::function<void(wire::RawProfile)> hand_over)
    : options_(std::move(options)),
      governor_(*options_.governor),
      wants_kernel_symbols_(std::move(wants_kernel_symbols)),
      hand_over_(std::move(hand_over)),
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

CollectingThread::~CollectingThread() {
  stop();
}

void CollectingThread::wake() {
  ::eventfd_write(wake_fd_.get(), 1);
  changed_.notify_all();
}

void CollectingThread::assign(std::optional<wire::Assignment> assignment) {
  const std::lock_guard lock(mutex_);
  const bool is_same =
      assignment.has_value() == wanted_.has_value() && (!assignment || same(*assignment, *wanted_));
  if (!is_same) {
    wanted_ = std::move(assignment);
    wake();
  }
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

std::string CollectingThread::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
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
  const bool is_wanted = !stopping_ && wanted_ && same(*wanted_, assignment);
  if (is_wanted) {
    // It may have been withdrawn and given again meanwhile: that must not end its next window.
    eventfd_t count = 0;
    ::eventfd_read(wake_fd_.get(), &count);
  }
  return is_wanted;
}

std::optional<wire::Assignment> CollectingThread::wait_for_assignment() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || wanted_; });
  eventfd_t count = 0;
  ::eventfd_read(wake_fd_.get(), &count);
  std::optional<wire::Assignment> assignment;
  if (!stopping_) {
    assignment = wanted_;
  }
  running_ = assignment ? assignment->id() : std::string();
  return assignment;
}

void CollectingThread::run() {
  while (const auto assignment = wait_for_assignment()) {
    CollectorOptions options = options_;
    options.assignment = *assignment;
    auto collector = Collector::open(std::move(options));
    if (collector) {
      set_problem({});
      collect_windows(*assignment, **collector);
    } else {
      set_problem("cannot sample this machine: " + collector.error().text());
    }
    std::unique_lock lock(mutex_);
    running_.clear();
    if (!problem_.empty()) {
      changed_.wait_for(lock, kRetryInterval, [this] { return stopping_; });
    }
  }
}

void CollectingThread::finish(const wire::Assignment& assignment) {
  const std::lock_guard lock(mutex_);
  if (wanted_ && same(*wanted_, assignment)) {
    wanted_.reset();
  }
}

Status CollectingThread::collect_window(int64_t duration_ns, Collector& collector) {
  Collector::WindowOptions window;
  window.duration_ns = duration_ns;
  window.wake_fd = wake_fd_.get();
  window.with_kernel_symbols = wants_kernel_symbols_();
  auto profile = collector.collect(window);
  if (!profile) {
    return propagate(profile, "collecting failed");
  }
  hand_over_(std::move(*profile));
  return {};
}

Status CollectingThread::pause(const wire::Assignment& assignment, Collector& collector) {
  if (governor_.is_over_memory()) {
    collector.shrink();
    governor_.observe(monotonic_now_ns());
    if (governor_.is_over_memory()) {
      return with_hint(fail(ErrorCode::kTooLarge,
                            "sampling is given up for now: {} MiB are in use before the first sample",
                            governor_.state().usage.resident_bytes >> 20U),
                       "raise limits.max_memory");
    }
  }
  const int64_t give_up_at_ns = monotonic_now_ns() + kLongestPauseNs;
  for (std::string reason = governor_.reason_to_pause(); !reason.empty() && is_current(assignment);
       reason = governor_.reason_to_pause()) {
    if (monotonic_now_ns() > give_up_at_ns) {
      return with_hint(
          fail(ErrorCode::kTooLarge, "following this machine's processes alone takes too long: {}", reason),
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

void CollectingThread::collect_windows(const wire::Assignment& assignment, Collector& collector) {
  const int64_t end_ns = assignment.continuous() ? INT64_MAX : monotonic_now_ns() + assignment.duration_ns();
  Status done;
  bool has_profile = false;
  while (done && is_current(assignment) && !collector.is_outdated()) {
    done = pause(assignment, collector);
    // The governor may have ended a window early: what is left of the assignment's time is the next one's.
    const int64_t left_ns = end_ns - monotonic_now_ns();
    if (done && left_ns <= 0) {
      finish(assignment);
      done = has_profile ? Status()
                         : fail(ErrorCode::kTooLarge,
                                "assignment {} is over, and sampling paused all the time", assignment.id());
    } else if (done && is_current(assignment)) {
      done = collect_window(std::min(assignment.duration_ns(), left_ns), collector);
      has_profile = done.has_value();
    }
  }
  if (!done) {
    set_problem(done.error().text());
  }
}

}  // namespace plimsoll
