#include "scheduler/draws/population.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

#include "base/checksum.h"

namespace plimsoll::scheduler {
namespace {

// Numbers strata in the order in which they come.
class StrataFound {
 public:
  uint32_t number_of(std::string name) {
    return numbers_.try_emplace(std::move(name), static_cast<uint32_t>(numbers_.size())).first->second;
  }
  size_t size() const { return numbers_.size(); }
  const auto& entries() const { return numbers_; }

 private:
  boost::unordered_flat_map<std::string, uint32_t> numbers_;
};

// Numbers jobs in the order in which they come, whatever numbers they have.
class JobsFound {
 public:
  uint32_t number_of(uint32_t job) {
    if (job >= numbers_.size()) {
      numbers_.resize(size_t{job} + 1, kNone);
    }
    if (numbers_[job] == kNone) {
      numbers_[job] = found_++;
    }
    return numbers_[job];
  }
  size_t size() const { return found_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<uint32_t> numbers_;
  uint32_t found_ = 0;
};

// Numbers the strata by the order of their names.
void sort_strata(const StrataFound& found, Population& population) {
  for (const auto& [name, number] : found.entries()) {
    population.strata.push_back(name);
  }
  std::ranges::sort(population.strata);
  std::vector<uint32_t> sorted(found.size());
  for (const auto& [name, number] : found.entries()) {
    sorted[number] =
        static_cast<uint32_t>(std::ranges::lower_bound(population.strata, name) - population.strata.begin());
  }
  for (uint32_t& stratum : population.stratum_of) {
    stratum = sorted[stratum];
  }
}

// By splitmix64, whose high bits are as good as any: a generator for each of a million machines would take seconds.
uint32_t turn_of(std::string_view machine_id, const Rotation& rotation) {
  uint64_t bits = checksum64(as_bytes(machine_id)) ^ rotation.seed;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  bits ^= bits >> 31;
  return static_cast<uint32_t>(((bits >> 32) * rotation.turns) >> 32);
}

}  // namespace

Population population_of(std::span<const Candidate> candidates, const Stratification& stratification,
                         const Rotation& rotation) {
  Population population;
  population.turns = rotation.turns;
  for (const Candidate& candidate : candidates) {
    if (rotation.turns > 1) {
      population.turn_of.push_back(turn_of(candidate.machine->id(), rotation));
    }
  }
  StrataFound strata;
  JobsFound jobs;
  population.stratum_of.reserve(candidates.size());
  population.first_job.push_back(0);
  for (const Candidate& candidate : candidates) {
    population.stratum_of.push_back(strata.number_of(stratification.stratum_of(*candidate.machine)));
    for (const store::PlacedJob& placed : candidate.jobs) {
      population.job_of.push_back(jobs.number_of(placed.job));
    }
    population.first_job.push_back(population.job_of.size());
  }
  population.jobs = jobs.size();
  sort_strata(strata, population);
  return population;
}

}  // namespace plimsoll::scheduler
