// The control groups of samples: from the ID that the kernel tells with each to the path of the group.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace plimsoll::identity {

// One string per path, whatever its source, so that paths can be compared by address.
using CgroupPath = std::shared_ptr<const std::string>;

// IDs are those of the hierarchy that perf events belong to (PERF_SAMPLE_CGROUP): v1's perf_event where it is mounted, else
// the unified one. An ID is the number of the group's folder there (kernfs), and is never used again. Groups that are there
// already are found by looking through the folders, one by one; of later ones records tell. One thread.
class CgroupTable {
 public:
  struct Limits {
    // More are left to /proc, which tells where a process is at present; ProcessTable::unplaced() counts what that leaves.
    size_t max_groups = 20'000;
    size_t max_depth = 32;
  };

  // `mounts` is where control groups are mounted; empty: there are none to look through, and only records tell.
  CgroupTable(const std::string& mounts, Limits limits);
  explicit CgroupTable(const std::string& mounts) : CgroupTable(mounts, Limits{}) {}

  // Looks through all groups there are. Call with recording enabled, so that later ones are in the records.
  void scan();

  // A group was made.
  void add(uint64_t id, std::string_view text);

  // The group's path, printable; null where unknown. An unknown one has everything looked through again,
  // once in a window.
  CgroupPath find(uint64_t id);

  CgroupPath path(std::string_view text);

  // The folder of the hierarchy; empty: there is none to look through.
  const std::string& root() const { return root_; }

  // Which groups matter where a sample was taken in the root of this hierarchy.
  enum class Beside {
    kNothing,    // the root is where it was
    kV1,         // those of v1's hierarchies
    kUnifiedToo  // those, and those of the unified one
  };
  Beside beside() const { return beside_; }

  // Call between windows: paths that were handed out live on while they are referenced. Beyond the limit the groups that
  // ended are forgotten.
  void end_window();

  size_t groups() const { return by_id_.size(); }

 private:
  void visit(const std::string& folder, const std::string& path, size_t depth);

  std::string root_;  // folder of the hierarchy; empty: none
  Beside beside_ = Beside::kNothing;
  const Limits limits_;
  std::unordered_map<uint64_t, CgroupPath> by_id_;
  std::map<std::string, CgroupPath, std::less<>> paths_;
  bool may_scan_ = true;  // in this window
};

}  // namespace plimsoll::identity
