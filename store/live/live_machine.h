// What is known of a machine: its attributes, its last heartbeat, and what runs on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proto/fleet.pb.h"
#include "proto/machine.pb.h"

namespace plimsoll::store {

// A machine that has registered, or that the inventory names.
struct LiveMachine {
  // The newest, with what the inventory says of place and platform in the place of what the machine says.
  wire::Machine attributes;
  std::vector<std::string> missing_events = {};  // known by name, and not to be had there
  int64_t refused = 0;                           // profiles that say what cannot be, since it registered
  std::string refused_why = {};                  // the newest of them
  std::string rack = {};                         // by the inventory
  std::string owner = {};                        // likewise
  int64_t first_seen_ns = 0;                     // wall clock of the server; 0: it has never registered
  int64_t last_seen_ns = 0;                      // likewise
  int64_t heartbeat_ns = 0;                      // how often it was told to let itself be heard

  // Whether it sent one of its last three heartbeats.
  bool is_live(int64_t now_ns) const;
};

// The newest census of a machine.
struct Census {
  std::string machine_id;
  int64_t taken_ns = 0;     // wall clock of the server
  int64_t interval_ns = 0;  // that CPU times are of; 0: there are none yet
  std::vector<wire::InstanceUsage> instances;
};

// What a machine has of a job.
struct JobPlacement {
  std::string job;
  int64_t instances = 0;
  int64_t unlimited = 0;  // of these, without a quota
  double quota_cpus = 0;  // of the others together, rounded to millionths

  bool operator==(const JobPlacement&) const = default;
};

// By job; the instances that no job is known of have one without a name.
std::vector<JobPlacement> placements_of(std::span<const wire::InstanceUsage> instances);

}  // namespace plimsoll::store
