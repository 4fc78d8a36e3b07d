// An answer that is asked for again and again (`top --watch`).
#pragma once

#include <functional>
#include <string>

#include "base/result.h"

namespace plimsoll::cli {

struct WatchOptions {
  std::string title;  // what is watched: the command and its source
  double interval_s = 0;
};

// Prints `next_text()` with a header line now and then whenever the interval has passed. On a terminal it is redrawn in place on
// the alternate screen, cut to its height; else one follows the other, with an empty line between. A failure is in the header line
// above the text of before, and the next one is tried; kInvalid at the first, which would never be better, is returned, and so is a
// failure to write.
//
// Takes the process: SIGINT and SIGTERM end it at once with status 0, whatever it is doing. Only for commands that write nothing but
// standard output. The terminal's screen and cursor are restored on every way out, and while it is stopped (SIGTSTP).
Status watch(const WatchOptions& options, const std::function<Result<std::string>()>& next_text);

}  // namespace plimsoll::cli
