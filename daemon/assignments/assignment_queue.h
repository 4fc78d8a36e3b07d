// The assignments that the server wants this machine to run, one at a time, and how far each has come.
//
// No I/O, no clock, no lock: its owner brings them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/fleet.pb.h"
#include "proto/profile.pb.h"

namespace plimsoll {

// When an assignment is to be over, by the server's wall clock; never, of a continuous one.
int64_t end_of(const wire::Assignment& assignment);

struct WantedAssignment {
  wire::Assignment assignment;
  std::string refusal = {};  // why this machine does not run it; empty: it does
};

class AssignmentQueue {
 public:
  // What the newest reply names. Those that were named before stay as far as they are; those that are not named any more are forgotten.
  // One that has changed starts again.
  void replace(std::vector<WantedAssignment> wanted);
  // None of those named is run any further.
  void fail_open(const std::string& why);

  struct Next {
    std::optional<wire::Assignment> assignment;  // to be run now
    int64_t due_ns = INT64_MAX;                  // else: when there may be one; never, as far as it is known
  };
  // Those with a start come first, by it; they are due `ahead_ns` before. Those whose time is over have failed. `server_now_ns`: the
  // server's wall clock.
  Next next(int64_t server_now_ns, int64_t ahead_ns);

  // Whether it is still to be run.
  bool is_wanted(const wire::Assignment& assignment) const;
  // Whether one of that ID is still to be run, or runs.
  bool is_open(std::string_view id) const;
  // `detail` may hold any bytes, of which the first thousand are reported, made printable.
  void set_state(std::string_view id, wire::AssignmentState state, const std::string& detail = {});
  std::vector<wire::AssignmentReport> reports() const;

 private:
  struct Entry {
    wire::Assignment assignment;
    wire::AssignmentState state = wire::WAITING;
    std::string detail = {};
    bool is_open() const { return state == wire::WAITING || state == wire::RUNNING; }
  };
  Entry* find(std::string_view id);

  std::vector<Entry> entries_;  // as the server named them
};

}  // namespace plimsoll
