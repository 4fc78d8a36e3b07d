// What this machine can and cannot measure, and why: `plimsolld probe`.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace plimsoll {

enum class Ability { kYes, kNo, kPartly };

struct ProbeFinding {
  std::string subject;  // "event cycles", "kernel symbols", ...
  Ability ability;
  std::string detail;  // why not, and what to do; or how
};

// Tries each event and each source of information once. Takes well under a second.
std::vector<ProbeFinding> probe();

// The events that the daemon knows by name and this machine can neither sample nor count, or does not allow (limits.events; none: all). Takes
// some milliseconds.
std::vector<std::string> missing_events(std::span<const std::string> allowed);

// The findings as an aligned table for people, or as the JSON document {"columns", "rows"}.
std::string probe_table(const std::vector<ProbeFinding>& findings);
std::string probe_json(const std::vector<ProbeFinding>& findings);

}  // namespace plimsoll
