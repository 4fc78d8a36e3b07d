// Starts where the environment says so: for programs that are run with LD_PRELOAD. Part of the shared library alone.
#include <unistd.h>

#include <exception>
#include <string>

#include "appprof/agent.h"

namespace plimsoll::appprof {
namespace {

[[gnu::constructor]] void start_by_environment() {
  try {
    AgentSettings settings;
    if (!settings_of_environment(settings)) {
      return;
    }
    const std::string why = start_agent(settings);
    if (!why.empty()) {
      const std::string line = "libplimsoll_appprof: " + why + "\n";
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    }
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): short of memory, it runs without
  }
}

}  // namespace
}  // namespace plimsoll::appprof
