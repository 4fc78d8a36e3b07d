// Work that the server repeats in a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "base/time.h"
#include "query/operations/running_server.h"

namespace plimsoll::server {

// What a kind of work is called, its times, and what its failures mean. server/background/work_kinds.h has those of the server.
struct WorkKind {
  std::string_view name;               // label of metrics, and subject of messages
  std::string_view what;               // begins the message of an exception: "building rows"
  std::chrono::nanoseconds retry;      // from a pass that failed to the next one
  std::chrono::nanoseconds gather{0};  // from a wake to the pass: what comes meanwhile is done together
  int min_pause_factor = 0;  // from pass to pass at least this many times what the first of them took
  bool finishes = false;     // stop() ends the task only once nothing is pending, or a pass has failed
  std::chrono::nanoseconds
      tolerance;  // how long passes may fail before the server is not ready (readiness())
  std::chrono::nanoseconds max_pass = std::chrono::hours(1);  // a longer pass is stuck
  std::string_view hint;                                      // what its failures lead to, and what to do
};

// When the next pass comes unless the task is woken before.
struct NextPass {
  std::optional<std::chrono::nanoseconds> after = {};  // the end of this one; nothing: only when woken
  bool was_due =
      true;  // false: it was too early for the work, so that the status stays that of the pass before
};

struct WorkClocks {
  std::function<int64_t()> wall_now_ns = plimsoll::wall_now_ns;  // of the status
  std::function<std::chrono::steady_clock::time_point()> now = &std::chrono::steady_clock::now;  // of pauses
};

// One thread, which runs passes: the first after the start, each further one when woken, when the pass before it wanted it, and some
// time after a pass that failed. Failures and exceptions end a pass and not the thread. They are logged when they begin, when their
// text changes, and every hour.
class BackgroundTask {
 public:
  // Called by the task's thread alone. Returns early once stop is requested.
  using Pass = std::move_only_function<Result<NextPass>(const std::stop_token& stop)>;

  BackgroundTask(const WorkKind& kind, Pass pass, const WorkClocks& clocks = {});
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;
  ~BackgroundTask() { stop(); }

  std::string_view name() const { return kind_.name; }

  // There may be work. Any thread, a running pass too: a pass that begins later than this follows. Does nothing after stop().
  void wake();

  // Waits for the running pass and for those that finish the work, then destroys what the pass owns. May be called again; not by two
  // threads at once.
  void stop();

  // Returns once a pass has ended, or none will. Any thread but the task's.
  void wait_for_first_pass();

  // Any thread. The steady clock may have been set: for clocks of tests.
  void check_clock();

  // Any thread.
  query::BackgroundWorkHealth health() const;

 private:
  using Time = std::chrono::steady_clock::time_point;

  void run(const std::stop_token& stop);
  bool is_due() const;
  // False: it is over.
  bool wait(const std::stop_token& stop);
  // Whether it succeeded.
  bool run_pass(const std::stop_token& stop);
  // Logs what is news; the error's text.
  std::string log_end(const Result<NextPass>& end, int64_t wall_ns);
  void end_pass(const Result<NextPass>& end, Time started);

  const WorkKind kind_;
  const WorkClocks clocks_;
  Pass pass_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // Protected by mutex_:
  bool is_woken_ = true;      // since the start of the newest pass
  std::optional<Time> next_;  // when the next pass is due without a wake
  bool has_run_ = false;
  bool is_over_ = false;
  query::BackgroundWorkHealth health_;
  // Of the task's thread:
  int64_t logged_ns_ = 0;  // when the newest failure was logged
  std::jthread thread_;    // last: it uses all else
};

}  // namespace plimsoll::server
