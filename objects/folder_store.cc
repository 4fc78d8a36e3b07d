#include "objects/folder_store.h"

#include <sys/stat.h>

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

// Makes the folders of a key below `folder`, durably.
Status make_folders(const std::string& folder, const std::string& key) {
  std::string parent = folder;
  for (size_t end = key.find('/'); end != std::string::npos; end = key.find('/', end + 1)) {
    const std::string path = fmt::format("{}/{}", folder, key.substr(0, end));
    const bool is_made = ::mkdir(path.c_str(), 0700) == 0;
    if (!is_made && errno != EEXIST) {
      return fail_errno(errno, "creating {}", path);
    }
    if (const Status synced = is_made ? sync_folder(parent) : Status(); !synced) {
      return synced;
    }
    parent = path;
  }
  return {};
}

}  // namespace

// A file system that is not mounted has neither objects nor a place for them.
Status FolderStore::expect_folder() const {
  if (const Status stopped = check_stop(); !stopped) {
    return stopped;
  }
  std::error_code error;
  if (std::filesystem::is_directory(folder_, error)) {
    return {};
  }
  const bool is_missing = !error || error == std::errc::no_such_file_or_directory;
  return is_missing ? Status(with_hint(fail(ErrorCode::kUnavailable,
                                            "there is no folder {}, which the object store is", folder_),
                                       "mount its file system, or create the folder"))
                    : Status(fail_errno(error.value(), "looking for {}", folder_));
}

Status FolderStore::put(const std::string& key, Bytes content) {
  if (!is_object_key(key)) {
    return no_key(key);
  }
  if (content.size() > kMaxObjectBytes) {
    return fail(ErrorCode::kTooLarge, "putting the object {}: it has {} bytes", key, content.size());
  }
  Status made = expect_folder();
  made = made ? make_folders(folder_, key) : made;
  return made ? write_file_durably(fmt::format("{}/{}", folder_, key), content) : made;
}

Result<std::string> FolderStore::get(const std::string& key, uint64_t max_bytes) {
  if (!is_object_key(key)) {
    return no_key(key);
  }
  const Status is_there = expect_folder();
  return is_there ? read_file(fmt::format("{}/{}", folder_, key), max_bytes) : propagate(is_there);
}

Result<std::vector<ObjectInfo>> FolderStore::list(const std::string& prefix) {
  if (const Status is_there = expect_folder(); !is_there) {
    return propagate(is_there);
  }
  std::vector<ObjectInfo> objects;
  std::error_code error;
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
  if (const Status is_there = expect_folder(); !is_there) {
    return is_there;
  }
  std::error_code error;
  const std::string path = fmt::format("{}/{}", folder_, key);
  std::filesystem::remove(path, error);
  return error ? Status(fail_errno(error.value(), "removing {}", path)) : Status();
}

}  // namespace plimsoll::objects
