#include "base/file_modes.h"

#include <sys/stat.h>

#include "base/log.h"

namespace plimsoll {

bool others_may_read(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && (found.st_mode & S_IROTH) != 0;
}

void warn_if_others_may_read(const std::string& path, std::string_view what) {
  if (others_may_read(path)) {
    log_warning("{} ({}) is readable by other users: chmod 600 {}", what, path, path);
  }
}

}  // namespace plimsoll
