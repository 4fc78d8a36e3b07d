// Processes that parse for a request, and end with it.
#pragma once

#include <cstdint>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "base/stop_check.h"
#include "symbolizer/process/table_process.h"

namespace plimsoll::server {

// What `make(options)` gives, which waits for a process. Once `check` fails the process is ended, and its error is the answer.
template <typename Make>
std::invoke_result_t<Make, const symbolizer::MakeOptions&> make_while_wanted(const StopCheck& check,
                                                                             symbolizer::MakeOptions options,
                                                                             const Make& make) {
  const std::stop_source stop;
  Status wanted;
  options.progress = [&](uint64_t /*opened_bytes*/) {
    wanted = wanted ? check() : wanted;
    if (!wanted) {
      stop.request_stop();
    }
  };
  options.stop = stop.get_token();
  auto made = make(std::as_const(options));
  if (!wanted) {
    return propagate(wanted);
  }
  return made;
}

}  // namespace plimsoll::server
