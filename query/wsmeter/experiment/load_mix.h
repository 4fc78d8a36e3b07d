// Whether both arms had the same load: an instance that has less to do is often faster, or slower, for that alone.
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "query/wsmeter/experiment/arm.h"
#include "query/wsmeter/metric/comparison.h"

namespace plimsoll::query {

// What a job's instances would do of all load, if each arm had as many instances of each job as the control: a share.
struct JobLoad {
  std::string job;
  double control = 0;
  double test = 0;
};

struct LoadMix {
  std::vector<JobLoad> jobs;  // the largest differences first
  double distance = 0;  // Manhattan distance of the shares: 0 of equal ones, 2 where nothing is in common
  double p_value =
      1;  // how often chance alone brings such a distance: instances of a job change arms, 1,000 times

  // By more than chance, and by more than does not matter: a twentieth of the load is elsewhere.
  bool has_moved() const { return distance > 0.1 && p_value < 0.05; }
};

// Of the jobs compared. The same every time: the permutations have a seed.
LoadMix load_mix(std::span<const ComparedJob> jobs, const Arm& control, const Arm& test);

}  // namespace plimsoll::query
