#include "objects/folder_store.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/durable_file.h"
#include "base/file.h"
#include "base/stop_scope.h"

namespace plimsoll::objects {
namespace {

std::unexpected<Error> no_key(const std::string& key) {
  return fail(ErrorCode::kInvalid, "\"{}\" is no key of an object", key);
}

}  // namespace

Status FolderStore::put(const std::string& key, Bytes content) {
  if (!is_object_key(key)) {
    return no_key(key);
  }
  if (const Status stopped = check_stop(); !stopped) {
    return stopped;
  }
  const std::string path = fmt::format("{}/{}", folder_, key);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  return error ? Status(fail_errno(error.value(), "creating the folder of {}", path))
               : write_file_durably(path, content);
}

Result<std::string> FolderStore::get(const std::string& key, uint64_t max_bytes) {
  if (!is_object_key(key)) {
    return no_key(key);
  }
  const Status stopped = check_stop();
  return stopped ? read_file(fmt::format("{}/{}", folder_, key), max_bytes) : propagate(stopped);
}

Result<std::vector<ObjectInfo>> FolderStore::list(const std::string& prefix) {
  std::vector<ObjectInfo> objects;
  std::error_code error;
  if (!std::filesystem::exists(folder_, error)) {
    return error ? Result<std::vector<ObjectInfo>>(fail_errno(error.value(), "looking for {}", folder_))
                 : objects;
  }
  for (std::filesystem::recursive_directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string key = entry->path().lexically_relative(folder_).string();
    std::error_code ignored;  // it may be gone
    if (key.starts_with(prefix) && entry->is_regular_file(ignored)) {
      const uint64_t bytes = entry->file_size(ignored);
      objects.push_back({std::move(key), ignored ? 0 : bytes});
    }
  }
  return error ? Result<std::vector<ObjectInfo>>(fail_errno(error.value(), "listing {}", folder_)) : objects;
}

Status FolderStore::remove(const std::string& key) {
  if (!is_object_key(key)) {
    return no_key(key);
  }
  std::error_code error;
  const std::string path = fmt::format("{}/{}", folder_, key);
  std::filesystem::remove(path, error);
  return error ? Status(fail_errno(error.value(), "removing {}", path)) : Status();
}

}  // namespace plimsoll::objects
