#include "store/catalogue/file_version.h"

#include <sys/stat.h>

#include <boost/container_hash/hash.hpp>
#include <cerrno>

namespace plimsoll::store {

Result<int64_t> file_version(const std::string& catalogue_path) {
  size_t version = 0;
  for (const char* suffix : {"", "-wal"}) {
    const std::string path = catalogue_path + suffix;
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0) {
      if (errno != ENOENT || *suffix == '\0') {
        return fail_errno(errno, "looking at {}", path);
      }
      continue;
    }
    // An empty log comes and goes with those who read.
    if (*suffix == '\0' || file.st_size > 0) {
      boost::hash_combine(version, file.st_ino);
      boost::hash_combine(version, file.st_size);
      boost::hash_combine(version, file.st_mtim.tv_sec);
      boost::hash_combine(version, file.st_mtim.tv_nsec);
    }
  }
  return static_cast<int64_t>(version);
}

}  // namespace plimsoll::store
