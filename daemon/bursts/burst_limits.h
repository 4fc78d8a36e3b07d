// What the server may have this machine record, whatever it asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/assignments/assignment_queue.h"
#include "proto/profile.pb.h"

namespace plimsoll::bursts {

struct BurstLimits {
  bool is_permitted = false;
  std::vector<std::string> events;  // besides switches, wake-ups and marks
  double max_share = 0;             // of the time, in bursts
  int64_t max_burst_ns = 0;         // length of one
  int64_t max_duration_ns = 0;      // of an assignment
  uint64_t max_bytes = 0;           // of an assignment's recordings, as they are sent
  double max_overhead = 0;          // share of the machine's CPU time within an assignment's duration
  uint64_t max_memory_bytes = 0;    // rings, records and events
};

struct AcceptedBursts {
  // The assignment with the bursts' duration as its own, and bursts within the limits; refused where a limit forbids them. Bursts of
  // other lengths or at other times would not be those of other machines: these are refused, not changed.
  WantedAssignment wanted;
  std::string note = {};  // what is recorded less than was asked for, in words
};

// Of an assignment that has bursts. Pure.
AcceptedBursts accept_bursts(const wire::Assignment& assignment, const BurstLimits& limits);

}  // namespace plimsoll::bursts
