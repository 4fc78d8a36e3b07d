// What each machine of a fleet has of which jobs: flat, and with numbers for the jobs' names, since a fleet has
// millions of these, of some thousands of jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plimsoll::store {

struct JobPlacement;

// What a machine has of a job.
struct PlacedJob {
  uint32_t job = 0;  // its number in PlacedJobs
  uint32_t instances = 0;
  uint32_t unlimited = 0;  // of these, without a quota
  double quota_cpus = 0;   // of the others together
};

// Up to twice 24 bytes for each job of each machine, as the list grows.
class PlacedJobs {
 public:
  // The number of the job without a name, of those instances that no job is known of.
  static constexpr uint32_t kUnnamed = 0;

  // One more, which has nothing yet.
  void add_machine();
  // To the last machine. What it has of a job is added once, or one after the other: then the last holds.
  void add(const JobPlacement& placement);

  size_t machines() const { return ends_.size(); }
  // In the order in which they were added; valid until more are.
  std::span<const PlacedJob> of(size_t machine) const;
  // Numbers count up from 0.
  const std::string& name(uint32_t job) const { return names_[job]; }
  // Absent: no machine has any of it. That of no name is always there.
  std::optional<uint32_t> number_of(std::string_view job) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::vector<PlacedJob> placed_;  // by machine
  std::vector<size_t> ends_;       // by machine, of those in placed_
  std::vector<std::string> names_{""};
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> numbers_{{"", kUnnamed}};
};

}  // namespace plimsoll::store
