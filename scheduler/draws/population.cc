#include "scheduler/draws/population.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <utility>

namespace plimsoll::scheduler {
namespace {

// Numbers names in the order in which they come.
template <typename Name>
class Numbers {
 public:
  uint32_t of(Name name) {
    return numbers_.try_emplace(std::move(name), static_cast<uint32_t>(numbers_.size())).first->second;
  }
  size_t size() const { return numbers_.size(); }
  const auto& entries() const { return numbers_; }

 private:
  boost::unordered_flat_map<Name, uint32_t> numbers_;
};

// Numbers the strata by the order of their names.
void sort_strata(const Numbers<std::string>& found, Population& population) {
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

}  // namespace

Population population_of(std::span<const Candidate> candidates, const Stratification& stratification) {
  Population population;
  Numbers<std::string> strata;
  Numbers<std::string_view> jobs;
  population.stratum_of.reserve(candidates.size());
  population.first_job.push_back(0);
  for (const Candidate& candidate : candidates) {
    population.stratum_of.push_back(strata.of(stratification.stratum_of(*candidate.machine)));
    const auto first = static_cast<ptrdiff_t>(population.job_of.size());
    for (const std::string_view job : candidate.jobs) {
      const uint32_t number = jobs.of(job);
      if (std::find(population.job_of.begin() + first, population.job_of.end(), number) ==
          population.job_of.end()) {
        population.job_of.push_back(number);
      }
    }
    population.first_job.push_back(population.job_of.size());
  }
  population.jobs = jobs.size();
  sort_strata(strata, population);
  return population;
}

}  // namespace plimsoll::scheduler
