#include "capture/identity/cgroup_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>
#include <span>

#include "base/file.h"

namespace plimsoll::identity {
namespace {

// Enough for the lowest PIDs of any group that is an instance of something.
constexpr size_t kMaxProcsBytes = 64 << 10;
// Asked when they started.
constexpr size_t kMaxAsked = 64;

}  // namespace

std::vector<std::string> groups_below(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code type_error;
    if (entry->is_directory(type_error) && !entry->is_symlink(type_error)) {
      names.push_back(entry->path().filename().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

bool may_read_group(const std::string& folder) {
  return ::faccessat(AT_FDCWD, folder.c_str(), R_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES;
}

std::vector<uint32_t> processes_in_group(const std::string& folder) {
  const std::string procs = read_beginning(folder + "/cgroup.procs", kMaxProcsBytes).value_or(std::string());
  std::set<uint32_t> pids;
  const char* at = procs.data();
  const char* const end = at + procs.size();
  while (at < end) {
    uint32_t pid = 0;
    const auto parsed = std::from_chars(at, end, pid);
    if (parsed.ec == std::errc()) {
      pids.insert(pid);
    }
    const char* const line_end = std::find(parsed.ptr, end, '\n');
    at = line_end == end ? end : line_end + 1;
  }
  return {pids.begin(), pids.end()};
}

std::optional<uint32_t> oldest_process(const std::string& folder, const ProcFs& proc_fs) {
  const std::vector<uint32_t> pids = processes_in_group(folder);
  const auto inside = std::ranges::upper_bound(pids, 0U);
  if (inside == pids.end()) {
    return pids.empty() ? std::nullopt : std::optional(0U);
  }
  const auto asked = std::min(kMaxAsked, static_cast<size_t>(pids.end() - inside));
  uint32_t oldest = *inside;
  int64_t oldest_start_ns = INT64_MAX;
  for (const uint32_t pid : std::span(inside, asked > 1 ? asked : 0)) {
    const auto stat = proc_fs.stat(pid);
    if (stat && stat->started_ns < oldest_start_ns) {
      oldest = pid;
      oldest_start_ns = stat->started_ns;
    }
  }
  return oldest;
}

uint64_t group_id(const std::string& folder) {
  struct stat info{};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) ? info.st_ino : 0;
}

}  // namespace plimsoll::identity
