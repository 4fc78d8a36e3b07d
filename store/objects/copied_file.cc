#include "store/objects/copied_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/time.h"

namespace plimsoll::store {

int64_t version_of(const struct stat& file) {
  return file.st_mtim.tv_sec * kNsPerSecond + file.st_mtim.tv_nsec;
}

TemporaryCopy::TemporaryCopy(const std::string& data_dir, const std::string& name)
    : path_(fmt::format("{}/copied.{}", data_dir, name)) {
  remove();
}

void TemporaryCopy::remove() const {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace plimsoll::store
