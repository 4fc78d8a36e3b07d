#include "daemon/group_counts/group_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/printable.h"
#include "capture/identity/cgroup_folder.h"

namespace plimsoll {
namespace {

// 0: the group has no process that this PID namespace knows.
uint32_t lowest_known_pid(const std::string& folder) {
  const std::vector<uint32_t> pids = identity::processes_in_group(folder);
  const auto known = std::ranges::upper_bound(pids, 0U);
  return known == pids.end() ? 0 : *known;
}

class Walk {
 public:
  Walk(const std::string& root, const GroupPatterns& patterns, const GroupChoiceLimits& limits)
      : root_(root), patterns_(patterns), limits_(limits) {}

  GroupChoice take() {
    visit_below("", 0, false);
    std::ranges::sort(choice_.groups, {}, [](const ChosenGroup& group) {
      return std::tie(group.pattern, group.path, group.name);
    });
    return std::move(choice_);
  }

 private:
  // Of those below: a process that no chosen group has; 0: there is none, or nobody asks.
  uint32_t visit_below(const std::string& name, size_t depth, bool is_asked) {
    uint32_t left_over = 0;
    for (const std::string& child :
         depth < limits_.max_depth ? identity::groups_below(root_ + name) : std::vector<std::string>()) {
      if (visited_ == limits_.max_groups) {
        choice_.is_cut = true;
        break;
      }
      ++visited_;
      const uint32_t pid = visit(fmt::format("{}/{}", name, child), depth + 1, is_asked);
      left_over = left_over == 0 ? pid : left_over;
    }
    return left_over;
  }

  uint32_t visit(const std::string& name, size_t depth, bool is_asked) {
    const std::string path = printable(name);
    if (!identity::may_read_group(root_ + name)) {
      choice_.unread.push_back(path);
      return 0;
    }
    const std::optional<size_t> pattern = patterns_.first_match(path);
    const uint32_t below = visit_below(name, depth, is_asked || pattern.has_value());
    const uint32_t own = is_asked || pattern ? lowest_known_pid(root_ + name) : 0;
    const uint32_t pid = own != 0 ? own : below;
    if (!pattern || pid == 0) {
      return pid;
    }
    choice_.groups.push_back({name, path, identity::group_id(root_ + name), pid, *pattern});
    return 0;
  }

  const std::string& root_;
  const GroupPatterns& patterns_;
  const GroupChoiceLimits limits_;
  size_t visited_ = 0;
  GroupChoice choice_;
};

}  // namespace

GroupChoice choose_groups(const std::string& root, const GroupPatterns& patterns,
                          const GroupChoiceLimits& limits) {
  return Walk(root, patterns, limits).take();
}

}  // namespace plimsoll
