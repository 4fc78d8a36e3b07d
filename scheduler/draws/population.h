// The machines that a draw is from, by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/machine.pb.h"
#include "scheduler/draws/stratification.h"
#include "store/live/placed_jobs.h"

namespace plimsoll::scheduler {

struct Population {
  std::vector<std::string> strata;   // their names; each has a machine
  std::vector<uint32_t> stratum_of;  // by machine: an index into strata
  size_t jobs = 0;
  // By machine, the jobs that have an instance on it, none twice: those of machine m go from first_job[m] up to first_job[m + 1]. Both
  // empty: none are known.
  std::vector<size_t> first_job;
  std::vector<uint32_t> job_of;
  // Machines take turns of so many draws: by machine, in which of them it may be drawn. Empty: in all.
  uint32_t turns = 1;
  std::vector<uint32_t> turn_of;

  size_t machines() const { return stratum_of.size(); }
  std::span<const uint32_t> jobs_of(size_t machine) const {
    return first_job.empty()
               ? std::span<const uint32_t>()
               : std::span(job_of).subspan(first_job[machine], first_job[machine + 1] - first_job[machine]);
  }
};

// Turns in which machines rest. Which is whose follows from the seed and the machine's ID alone, and is as likely to be any of them.
struct Rotation {
  uint32_t turns = 1;
  uint64_t seed = 0;
};

// A machine as it registered, and what it has of which jobs, each of which is there once, and has a name. Borrows both.
struct Candidate {
  const wire::Machine* machine = nullptr;
  std::span<const store::PlacedJob> jobs = {};
  std::string_view rack = {};  // empty: unknown
};

// Machines have the numbers that they have here; strata stand in the order of their names, so that the same fleet gives the same draws. Costs
// some 300 ns for each machine.
Population population_of(std::span<const Candidate> candidates, const Stratification& stratification,
                         const Rotation& rotation = {});

}  // namespace plimsoll::scheduler
