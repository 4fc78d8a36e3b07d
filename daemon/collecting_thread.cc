#include "daemon/collecting_thread.h"

#include <sys/eventfd.h>

#include <chrono>

#include "base/log.h"

namespace plimsoll {
namespace {

// How long to wait before trying again what this machine could not do.
constexpr std::chrono::seconds kRetryInterval{10};

bool same(const wire::Assignment& a, const wire::Assignment& b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

}  // namespace

CollectingThread::CollectingThread(wire::Machine machine, std::shared_ptr<const identity::JobRules> rules,
                                   std::function<void(wire::RawProfile)> hand_over)
    : machine_(std::move(machine)),
      rules_(std::move(rules)),
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

void CollectingThread::set_with_kernel_symbols(bool with) {
  const std::lock_guard lock(mutex_);
  with_kernel_symbols_ = with;
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
  if (!problem.empty()) {
    log_error("{}", problem);
  }
  const std::lock_guard lock(mutex_);
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
    CollectorOptions options;
    options.machine = machine_;
    options.rules = rules_;
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

void CollectingThread::collect_windows(const wire::Assignment& assignment, Collector& collector) {
  while (is_current(assignment)) {
    Collector::WindowOptions window;
    window.duration_ns = assignment.duration_ns();
    window.wake_fd = wake_fd_.get();
    {
      const std::lock_guard lock(mutex_);
      window.with_kernel_symbols = with_kernel_symbols_;
    }
    auto profile = collector.collect(window);
    if (!profile) {
      set_problem("collecting failed: " + profile.error().text());
      return;
    }
    hand_over_(std::move(*profile));
    if (!assignment.continuous()) {
      const std::lock_guard lock(mutex_);
      if (wanted_ && same(*wanted_, assignment)) {
        wanted_.reset();
      }
    }
  }
}

}  // namespace plimsoll
