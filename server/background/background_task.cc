#include "server/background/background_task.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/no_exceptions.h"

namespace plimsoll::server {

BackgroundTask::BackgroundTask(const WorkKind& kind, Pass pass, const WorkClocks& clocks)
    : kind_(kind),
      clocks_(clocks),
      pass_(std::move(pass)),
      health_{.name = std::string(kind.name),
              .tolerance_ns = kind.tolerance.count(),
              .max_pass_ns = kind.max_pass.count(),
              .hint = std::string(kind.hint)},
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void BackgroundTask::wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  changed_.notify_all();
}

void BackgroundTask::check_clock() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void BackgroundTask::stop() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
    pass_ = nullptr;
  }
}

void BackgroundTask::wait_for_first_pass() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return has_run_ || is_over_; });
}

query::BackgroundWorkHealth BackgroundTask::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

void BackgroundTask::run(const std::stop_token& stop) {
  // For top -H and for stacks of a running server.
  constexpr size_t kMaxThreadName = 15;
  ::pthread_setname_np(::pthread_self(), std::string(kind_.name.substr(0, kMaxThreadName)).c_str());
  while (wait(stop)) {
    if (!run_pass(stop) && stop.stop_requested()) {
      break;  // what is pending is left to the next start
    }
  }
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

bool BackgroundTask::is_due() const {
  return is_woken_ || (next_ && clocks_.now() >= *next_);
}

bool BackgroundTask::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto wait_until = [&](std::optional<Time> time, const auto& holds) {
    while (!stop.stop_requested() && !holds()) {
      if (time) {
        changed_.wait_for(lock, stop, *time - clocks_.now(), holds);
      } else {
        changed_.wait(lock, stop, holds);
      }
    }
  };
  wait_until(next_, [this] { return is_due(); });
  if (is_woken_) {
    const Time gathered = clocks_.now() + kind_.gather;
    wait_until(gathered, [&] { return clocks_.now() >= gathered; });
  }
  return !stop.stop_requested() || (kind_.finishes && (is_due() || health_.failing_since_ns != 0));
}

bool BackgroundTask::run_pass(const std::stop_token& stop) {
  const Time started = clocks_.now();
  const int64_t wall_ns = clocks_.wall_now_ns();
  {
    const std::lock_guard lock(mutex_);
    is_woken_ = false;
    health_.running_since_ns = wall_ns;
  }
  const Result<NextPass> end = no_exceptions(kind_.what, [&] { return pass_(stop); });
  end_pass(end, started);
  return end.has_value();
}

std::string BackgroundTask::log_end(const Result<NextPass>& end, int64_t wall_ns) {
  if (end) {
    if (end->was_due && health_.failing_since_ns != 0) {
      log_info("{}: succeeds again, after {} failures", kind_.name, health_.failures_in_row);
    }
    return {};
  }
  std::string text = end.error().text();
  const bool is_same = health_.failing_since_ns != 0 && text == health_.last_error;
  if (!is_same || wall_ns - logged_ns_ >= kNsPerHour) {
    log_error("{}", text);
    logged_ns_ = wall_ns;
  }
  return text;
}

void BackgroundTask::end_pass(const Result<NextPass>& end, Time started) {
  const Time now = clocks_.now();
  const int64_t wall_ns = clocks_.wall_now_ns();
  // Only this thread writes health_. Where there is no memory for the words of an error, the thread goes on without them.
  auto error = no_exceptions(kind_.what, [&] { return Result<std::string>(log_end(end, wall_ns)); });
  const auto after = end ? end->after : std::optional(kind_.retry);
  const std::lock_guard lock(mutex_);
  next_.reset();
  if (after) {
    next_ = now + std::max<std::chrono::nanoseconds>(*after, kind_.min_pause_factor * (now - started));
  }
  has_run_ = true;
  health_.running_since_ns = 0;
  if (!end) {
    if (health_.failing_since_ns == 0) {
      health_.failing_since_ns = wall_ns;
    }
    ++health_.failures_in_row;
    ++health_.errors;
    health_.last_error_ns = wall_ns;
    health_.last_error = error ? std::move(*error) : std::move(error.error().message);
  } else if (end->was_due) {
    health_.newest_success_ns = wall_ns;
    health_.failing_since_ns = 0;
    health_.failures_in_row = 0;
  }
  changed_.notify_all();
}

}  // namespace plimsoll::server
