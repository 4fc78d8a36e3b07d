// When the application profiles that assignments ask for are had: at the beginning and at the end of each one's window, since most
// kinds count since a process's start, and what happened within the window is the difference.
//
// No I/O, no clock, no lock: its owner brings them. Times are the server's wall clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/fleet.pb.h"
#include "proto/profile.pb.h"

namespace plimsoll::scrape {

class AssignedRounds {
 public:
  // What the newest reply names; those without kinds are ignored. A window that is open and not named any more ends now, one that
  // waits is forgotten. `refusal`: why this machine has none of them; empty: it does.
  void replace(const std::vector<wire::Assignment>& assignments, const std::string& refusal, int64_t now_ns);

  enum class Step { kNone, kBegin, kEnd };
  struct Next {
    Step step = Step::kNone;
    wire::Assignment assignment = {};  // whose window begins or ends
    int64_t due_ns = INT64_MAX;        // without a step: when there may be one
  };
  // What is to be done now, each once.
  Next next(int64_t now_ns);

  // Kinds that are wanted all the time, by an assignment that is no draw; none: no.
  std::vector<std::string> continuous_kinds() const;

  // After the step kEnd: what was had, in words and by kind.
  void set_result(std::string_view id, std::string result, std::vector<wire::ApplicationKindReport> reports);
  // Absent where the assignment has no kinds, or is not over.
  std::optional<std::string> result(std::string_view id) const;
  // None where it is not over, or was not begun.
  std::vector<wire::ApplicationKindReport> kinds(std::string_view id) const;
  bool is_under_way(std::string_view id) const;

 private:
  enum class State { kWaiting, kOpen, kEnding, kOver };
  struct Entry {
    wire::Assignment assignment;
    int64_t end_ns = 0;
    State state = State::kWaiting;
    std::string result = {};
    std::vector<wire::ApplicationKindReport> kinds = {};
  };
  const Entry* find(std::string_view id) const;

  std::vector<Entry> entries_;  // of draws
  std::vector<std::string> continuous_kinds_;
};

}  // namespace plimsoll::scrape
