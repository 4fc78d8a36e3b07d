// Builds a raw profile: interns what samples have in common, and sums their hits.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "capture/identity/kernel.h"
#include "capture/identity/processes.h"
#include "capture/identity/workload_namer.h"
#include "proto/profile.pb.h"

namespace plimsoll {

// One profile at a time, one thread. Memory is bounded by the limits: beyond them samples keep their thread
// and lose their stack, which is counted (TABLE_FULL).
class ProfileBuilder {
 public:
  struct Limits {
    size_t max_locations = 1'000'000;
    size_t max_stack_nodes = 4'000'000;
    size_t max_samples = 4'000'000;   // distinct (event, thread, stack)
    size_t max_branches = 4'000'000;  // distinct, ranges among them
  };

  ProfileBuilder() : ProfileBuilder(Limits{}) {}
  // Borrows `namer`; null: processes are called as workload_of() says.
  explicit ProfileBuilder(Limits limits, identity::WorkloadNamer* namer = nullptr);

  // In place of a location for which there was no room; a stack with one in it is left out.
  static constexpr uint32_t kNoLocation = UINT32_MAX;

  // Each returns the index that the profile's other parts use.
  uint32_t binary(const identity::BinaryInfo* info);
  uint32_t kernel_binary(const identity::KernelImage& image);
  // A process that was in several control groups is one of the profile in each. `cgroup` null: in the identity's own. Paths
  // are told apart by their address (CgroupTable).
  uint32_t process(const std::shared_ptr<identity::ProcessIdentity>& identity,
                   const identity::CgroupPath& cgroup = nullptr);
  uint32_t thread(uint32_t process, uint32_t tid, std::string_view name);
  uint32_t location(wire::LocationKind kind, uint32_t owner, uint64_t address);
  uint32_t bpf_location(std::string_view name);
  // The node of the stack whose locations are given leaf first; 0 for an empty one, or where there is no
  // room.
  uint32_t stack(std::span<const uint32_t> leaf_first);

  // Samples that stand for as much as all others of their event.
  void add_hit(uint32_t event, uint32_t thread, uint32_t stack, uint64_t hits = 1);
  // A sample that stands for so many hits: where samples of an event differ in that, the profile has an event of their squares besides
  // (proto/squares.h).
  void add_weighted_sample(uint32_t event, uint32_t thread, uint32_t stack, uint64_t hits);
  // Samples of one row that stand for so many hits together; `squares`: the sum of the squares of what each stands for.
  struct WeightedSamples {
    uint64_t hits = 0;
    double squares = 0;
  };
  void add_weighted_samples(uint32_t event, uint32_t thread, uint32_t stack, WeightedSamples samples);
  // How many samples the hits of such an event are made of.
  void add_sample_count(uint32_t event, uint64_t samples) { counts_[event] += samples; }
  // What was counted without samples (WindowCounts); at least 1.
  void add_count(uint32_t event, uint32_t thread, uint64_t count);

  // A branch record, or the code between two. All of a profile make events of their own: finish() adds them behind the others.
  struct LocationPair {
    uint32_t thread;
    uint32_t from_location;
    uint32_t to_location;
    auto operator<=>(const LocationPair&) const = default;
  };
  // Without room it is left out, and counted (TABLE_FULL).
  void add_branch(const LocationPair& branch, bool is_mispredicted);
  // Likewise: from where a branch led up to where the next one was taken.
  void add_branch_range(const LocationPair& range);
  void add_throttle(uint32_t event) { ++throttles_[event]; }
  void count_problem(wire::StackProblem problem) { ++problems_[problem]; }

  // In the order of the profile's.
  std::vector<std::shared_ptr<identity::ProcessIdentity>> processes() const;
  uint64_t hits() const { return total_hits_; }

  // Moves everything into `profile`, whose events (without their hits) are there already, and starts afresh.
  void finish(wire::RawProfile& profile);

 private:
  using LocationKey = std::tuple<int, uint32_t, uint64_t>;
  using SampleKey = std::tuple<uint32_t, uint32_t, uint32_t>;  // event, thread, stack

  // A frame of a stack that was interned, and its node.
  struct PathStep {
    uint32_t location;
    uint32_t node;
  };

  // The stack, or 0 where there is no room for another row.
  uint32_t stack_with_room(uint32_t event, uint32_t thread, uint32_t stack);
  // The node below `parent` for a frame that it calls.
  uint32_t child(uint32_t parent, uint32_t location);
  identity::Workload workload_of(const identity::ProcessIdentity& identity, const std::string& cgroup) const;
  void write_processes(wire::RawProfile& profile) const;
  void write_samples(wire::RawProfile& profile) const;
  void write_squares(wire::RawProfile& profile) const;
  bool has_room_for(const LocationPair& pair);
  void write_branches(wire::RawProfile& profile) const;

  Limits limits_;
  identity::WorkloadNamer* namer_;
  wire::RawProfile profile_;  // binaries, threads, locations, frames, stacks as they grow
  boost::unordered_flat_map<const void*, uint32_t> binaries_;
  // Both live as long as the profile is built: no other takes their address.
  using ProcessKey = std::pair<const identity::ProcessIdentity*, const std::string*>;
  boost::unordered_flat_map<ProcessKey, uint32_t> process_index_;
  struct ProcessInGroup {
    std::shared_ptr<identity::ProcessIdentity> identity;
    identity::CgroupPath cgroup;
  };
  std::vector<ProcessInGroup> processes_;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, uint32_t, std::less<>> threads_;
  boost::unordered_flat_map<LocationKey, uint32_t> locations_;
  std::map<std::string, uint32_t, std::less<>> bpf_locations_;
  boost::unordered_flat_map<uint64_t, uint32_t> stack_nodes_;  // parent << 32 | location
  // The newest stack, outermost frame first, of those whose outermost locations share a slot. Samples of one program have
  // most of their outer frames in common, and a node's place among hundreds of thousands is a cache miss.
  std::array<std::vector<PathStep>, 64> recent_paths_;
  boost::unordered_flat_map<SampleKey, uint64_t> hits_;
  boost::unordered_flat_map<SampleKey, double> squares_;  // of weighted samples
  // By event: what its newest weighted sample stood for, and whether others stood for something else.
  struct Weight {
    uint64_t newest = 0;
    bool differs = false;
  };
  std::vector<Weight> weights_;
  struct BranchCounts {
    uint64_t hits = 0;
    uint64_t mispredicted = 0;
  };
  std::map<LocationPair, BranchCounts> branches_;
  std::map<LocationPair, uint64_t> ranges_;
  std::map<uint32_t, uint64_t> counts_;  // by event: how many there were
  std::map<uint32_t, uint64_t> throttles_;
  std::map<wire::StackProblem, uint64_t> problems_;
  uint64_t total_hits_ = 0;
};

// The symbols of the kernel and its modules, for readers elsewhere: adds their binaries to the profile where
// they are not yet.
void add_kernel_symbols(const identity::KernelMap& kernel, wire::RawProfile& profile);

}  // namespace plimsoll
