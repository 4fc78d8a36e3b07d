// A test cluster as one is put together in practice: random machines, one after the other, until what runs on them is enough (WSMeter, Lee et al., ASPLOS
// 2018, section 4.3). Whole machines include more instances of some jobs than the test needs.
//
// Pure: no I/O; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll::query {

struct MachineLoad {
  std::vector<size_t> jobs;  // one for each instance that runs there
  double quota = 0;          // of all that runs there
};

struct ClusterNeed {
  std::vector<double> weights;  // by job, shares of all quota
  int64_t min_instances = 4;    // a job counts as covered with so many instances
  double coverage = 0.9;        // of the quota, by covered jobs
};

class GrowingCluster {
 public:
  // Borrows what is needed.
  explicit GrowingCluster(const ClusterNeed& need) : need_(need), instances_(need.weights.size()) {}

  void add(const MachineLoad& machine);

  bool suffices() const;
  size_t machines() const { return machines_; }
  double quota() const { return quota_; }                               // of all that runs on them
  double coverage() const { return coverage_; }                         // share of all quota, by covered jobs
  const std::vector<int64_t>& instances() const { return instances_; }  // by job

 private:
  const ClusterNeed& need_;
  size_t machines_ = 0;
  double quota_ = 0;
  double coverage_ = 0;
  std::vector<int64_t> instances_;
};

}  // namespace plimsoll::query
