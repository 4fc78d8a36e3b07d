#include "capture/identity/cgroup_table.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/printable.h"
#include "capture/identity/cgroup_folder.h"

namespace plimsoll::identity {
namespace {

bool is_file(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

}  // namespace

CgroupTable::CgroupTable(const std::string& mounts, Limits limits) : limits_(limits) {
  if (mounts.empty()) {
    return;
  }
  if (is_file(mounts + "/perf_event/cgroup.procs")) {
    root_ = mounts + "/perf_event";
    beside_ = Beside::kUnifiedToo;
  } else if (is_file(mounts + "/cgroup.controllers")) {
    root_ = mounts;
  } else {
    beside_ = Beside::kV1;
    root_ = is_file(mounts + "/unified/cgroup.controllers") ? mounts + "/unified" : std::string();
  }
}

CgroupPath CgroupTable::path(std::string_view text) {
  const auto known = paths_.find(text);
  if (known != paths_.end()) {
    return known->second;
  }
  auto path = std::make_shared<const std::string>(text);
  paths_.emplace(*path, path);
  return path;
}

void CgroupTable::add(uint64_t id, std::string_view text) {
  if (by_id_.size() < limits_.max_groups) {
    by_id_[id] = path(printable(text));
  }
}

void CgroupTable::visit(const std::string& folder, const std::string& path, size_t depth) {
  const uint64_t id = group_id(folder);
  if (id == 0 || by_id_.size() >= limits_.max_groups) {
    return;
  }
  add(id, path.empty() ? "/" : path);
  if (depth == limits_.max_depth) {
    return;
  }
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code type_error;
    if (entry->is_directory(type_error) && !entry->is_symlink(type_error)) {
      const std::string name = "/" + entry->path().filename().string();
      visit(folder + name, path + name, depth + 1);
    }
  }
}

void CgroupTable::scan() {
  may_scan_ = false;
  if (!root_.empty()) {
    visit(root_, "", 0);
  }
}

CgroupPath CgroupTable::find(uint64_t id) {
  auto known = by_id_.find(id);
  if (known == by_id_.end() && id != 0 && may_scan_) {
    scan();
    known = by_id_.find(id);
  }
  return known == by_id_.end() ? nullptr : known->second;
}

void CgroupTable::end_window() {
  may_scan_ = true;
  if (by_id_.size() >= limits_.max_groups) {
    by_id_.clear();
  }
  if (paths_.size() > limits_.max_groups) {
    std::erase_if(paths_, [](const auto& entry) { return entry.second.use_count() == 1; });
  }
}

}  // namespace plimsoll::identity
