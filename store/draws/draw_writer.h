// Who may write draws.db: the newest of the processes that have opened their data directory to write it.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::store {

// The lock of a data directory keeps two processes from writing it at once. Where a file system loses locks, a second one opens it while the
// first one goes on. So each that opens it gets the next number, and what it writes is compared with the newest number, in the transaction
// that writes (DrawStore): two processes never draw for one fleet. No clock takes part.
struct DrawWriter {
  uint64_t id = 0;  // random, of one opening; 0: nothing is compared
  int64_t process = 0;
  std::string host = {};
  int64_t since_ns = 0;  // wall clock of that machine, for messages
};

}  // namespace plimsoll::store
