// The requests of a listener from the begin of their handlers until their replies have left: what its end waits for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace plimsoll::http {

// Any thread.
class RunningRequests {
 public:
  // False: the listener is stopping, and no handler may begin.
  bool begin_handler();
  // Of a handler that has begun. The caller does not use the listener afterwards: stop() may have returned.
  void end_handler();
  // Of a request whose handler has begun: its reply has left, or never will.
  void end_reply();

  bool is_stopping();

  // No handler begins from now on. Waits for handlers that run, and then up to `reply_grace` for replies.
  void stop(std::chrono::seconds reply_grace);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_, as are the counts
  unsigned in_handlers_ = 0;
  unsigned unfinished_ = 0;  // in a handler, or with a reply under way
};

}  // namespace plimsoll::http
