// What a thread works for, known to loops deep below that have not been told.
#pragma once

#include "base/result.h"
#include "base/stop_check.h"

namespace plimsoll {

// While it lives, check_stop() of this thread, and of the threads that run_all() starts for it, asks `check`. Borrows it; it is asked by
// several threads at once, and must not be empty. Scopes nest: the innermost is asked alone.
class StopScope {
 public:
  explicit StopScope(const StopCheck& check) : StopScope(&check) {}
  // Null: what is done within goes on to its end.
  explicit StopScope(const StopCheck* check);
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
  ~StopScope();

 private:
  const StopCheck* outer_;
};

// That of the thread's innermost scope; null: there is none. For a scope of another thread that works for this one.
const StopCheck* current_stop_check();

// The error with which the work is to end; none outside of any scope. For each block of rows, and between the steps of an answer.
Status check_stop();

}  // namespace plimsoll
