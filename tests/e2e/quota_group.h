// A control group with a CPU quota, for what one test runs.
#pragma once

#include <string>
#include <vector>

namespace plimsoll::testing {

// In the hierarchies of CPU time and its limits, whichever version they are of. Removed at the end, by when nothing may run in it any more.
class QuotaGroup {
 public:
  QuotaGroup(const std::string& name, int quota_percent);
  QuotaGroup(const QuotaGroup&) = delete;
  QuotaGroup& operator=(const QuotaGroup&) = delete;
  ~QuotaGroup();

  // False where this user may not make such a group.
  bool is_made() const { return made_; }
  const std::string& path() const { return path_; }

  // The command line of a program that runs in this group from its start on, in the place of a shell. `argv[0]` without a slash is one of
  // our programs.
  std::vector<std::string> running(const std::vector<std::string>& argv) const;
  // A program that is busy for so long.
  std::vector<std::string> busy(const std::string& seconds) const;

 private:
  std::string path_;
  std::vector<std::string> folders_;
  bool made_ = false;
};

}  // namespace plimsoll::testing
