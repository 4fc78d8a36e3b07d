#include "daemon/identity/cgroup_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/file.h"

namespace plimsoll::identity {
namespace {

// Enough for the lowest PIDs of any group that is an instance of something.
constexpr size_t kMaxProcsBytes = 64 << 10;

uint32_t lowest_of(const std::string& procs) {
  uint32_t lowest = 0;
  const char* at = procs.data();
  const char* const end = at + procs.size();
  while (at < end) {
    uint32_t pid = 0;
    const auto parsed = std::from_chars(at, end, pid);
    if (parsed.ec == std::errc() && pid != 0) {
      lowest = lowest == 0 ? pid : std::min(lowest, pid);
    }
    const char* const line_end = std::find(parsed.ptr, end, '\n');
    at = line_end == end ? end : line_end + 1;
  }
  return lowest;
}

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

uint32_t lowest_pid(const std::string& folder) {
  return lowest_of(read_beginning(folder + "/cgroup.procs", kMaxProcsBytes).value_or(std::string()));
}

uint64_t group_id(const std::string& folder) {
  struct stat info{};
  return ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) ? info.st_ino : 0;
}

}  // namespace plimsoll::identity
