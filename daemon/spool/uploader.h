// Sends what is spooled, the oldest first, each as often as it takes until the server has answered for good.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "daemon/spool/retry_timer.h"
#include "daemon/spool/spool.h"
#include "http/client.h"

namespace plimsoll::spool {

// One thread.
class Uploader {
 public:
  // `kernel_symbols_delivered` is called for each profile with kernel symbols, of those spooled since the spool was opened,
  // that the server has. The spool outlives the
  // uploader.
  Uploader(Spool& spool, std::function<void()> kernel_symbols_delivered);

  // Sends the oldest profile, if there is one, and waits for the answer. What is acknowledged is removed; what the server
  // refuses for good (400, 409, 413, 415) is dropped and counted as that. An error: it stays, and due_ns() says when to
  // try again. A profile whose acknowledgement was lost is sent again: the server's ledger knows it. Recordings of bursts
  // are sent likewise. Whatever the answer is, due_ns() is no sooner than it asks for.
  Status send_oldest(http::Client& client);

  // Monotonic; 0: at once.
  int64_t due_ns() const { return retry_.due_ns(); }
  // The server is known to be away until then.
  void not_before(int64_t time_ns) { retry_.not_before(time_ns); }

 private:
  // What became of the profile.
  Result<Fate> send(http::Client& client, const OutgoingProfile& profile);
  Status send_and_settle(http::Client& client);

  Spool& spool_;
  const std::function<void()> kernel_symbols_delivered_;
  RetryTimer retry_;
  int64_t asked_pause_ns_ = 0;  // by the answer to the last request
};

}  // namespace plimsoll::spool
