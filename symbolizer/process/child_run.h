// One run of the process that parses, from start to end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "proto/symbol_table.pb.h"
#include "symbolizer/process/confinement.h"
#include "symbolizer/process/zygote.h"

namespace plimsoll::symbolizer {

struct ChildEnd {
  enum class Cause { kEnded, kDeadline, kStopped, kSaidTooMuch, kSaidNonsense };
  Cause cause = Cause::kEnded;
  int wait_status = 0;                   // waitpid(2)
  std::optional<wire::TableEvent> last;  // reply or error
  uint64_t peak_memory_bytes = 0;
};

// For the table: without a name in that folder, open for reading and writing, and not in the way of the child's descriptors.
Result<UniqueFd> table_file(const std::string& folder);

// Starts a process with those descriptors, a child of this one.
using StartChild = std::function<Result<pid_t>(const ChildDescriptors&)>;

// Starts it, gives it the request (a message of proto/symbol_table.proto) and the file for the table, listens, and waits for its end, which it brings about where the
// child talks too much, takes too long or is to stop. Errors are those of starting it.
Result<ChildEnd> run_child(const StartChild& start, const std::string& request, const UniqueFd& table,
                           const ProcessLimits& limits,
                           const std::function<void(uint64_t opened_bytes)>& progress, std::stop_token stop);

}  // namespace plimsoll::symbolizer
