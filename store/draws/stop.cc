#include "store/draws/stop.h"

#include <fmt/core.h>

namespace plimsoll::store {

std::string_view name_of(StopScope scope) {
  switch (scope) {
    case StopScope::kEventSet:
      return "event set";
    case StopScope::kDaemonVersion:
      return "daemon version";
    case StopScope::kPlatform:
      return "platform";
    case StopScope::kEverything:
      return "everything";
  }
  return "everything";
}

std::string_view name_of(StopStep step) {
  switch (step) {
    case StopStep::kNothing:
      return "nothing";
    case StopStep::kOneMachine:
      return "one machine";
    case StopStep::kATenth:
      return "a tenth";
    case StopStep::kAll:
      return "all";
  }
  return "all";
}

std::string name_of(const Stop& stop) {
  const std::string_view kind = name_of(stop.scope);
  return stop.value.empty() ? std::string(kind) : fmt::format("{} {}", kind, stop.value);
}

}  // namespace plimsoll::store
