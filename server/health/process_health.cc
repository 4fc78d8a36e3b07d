#include "server/health/process_health.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"

namespace plimsoll::server {
namespace {

constexpr uint64_t kMaxProcBytes = uint64_t{16} << 20;  // /proc/stat has a number for each interrupt

// The fields of /proc/self/stat behind the command's name, which may hold spaces: [0] is the state, field 3 of proc(5).
std::vector<std::string> stat_fields() {
  const auto text = read_file("/proc/self/stat", kMaxProcBytes);
  const size_t name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) {
    return {};
  }
  std::istringstream stream(text->substr(name_end + 1));
  return {std::istream_iterator<std::string>(stream), {}};
}

// When the machine started, in seconds since 1970.
double boot_time_s() {
  const auto text = read_file("/proc/stat", kMaxProcBytes);
  const size_t line = text ? text->find("\nbtime ") : std::string::npos;
  return line == std::string::npos ? 0 : std::stod(text->substr(line + 7, 20));
}

int64_t open_files() {
  std::error_code error;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  int64_t count = 0;
  for (const std::filesystem::directory_iterator end; !error && entry != end; entry.increment(error)) {
    ++count;
  }
  return count > 0 ? count - 1 : 0;  // without the one that lists them
}

}  // namespace

ProcessHealth process_health() {
  ProcessHealth health;
  const std::vector<std::string> fields = stat_fields();
  // Fields 14 and 15 (CPU time), 22 (start), 23 (virtual memory), 24 (resident pages) of proc(5).
  if (fields.size() > 21) {
    const auto ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
    health.cpu_s = (std::stod(fields[11]) + std::stod(fields[12])) / ticks_per_s;
    health.start_s = boot_time_s() + std::stod(fields[19]) / ticks_per_s;
    health.virtual_bytes = std::stoll(fields[20]);
    health.resident_bytes = std::stoll(fields[21]) * ::sysconf(_SC_PAGESIZE);
  }
  health.open_fds = open_files();
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    health.max_fds = static_cast<int64_t>(files.rlim_cur);
  }
  return health;
}

}  // namespace plimsoll::server
