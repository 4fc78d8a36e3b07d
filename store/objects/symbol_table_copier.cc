#include "store/objects/symbol_table_copier.h"

#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <system_error>

#include "base/file.h"
#include "objects/object_store.h"
#include "store/objects/copied_file.h"
#include "store/objects/manifest.h"

namespace plimsoll::store {
namespace {

bool has_folder(const std::string& path) {
  struct stat folder{};
  return ::stat(path.c_str(), &folder) == 0;
}

}  // namespace

Status copy_symbol_tables(const std::string& data_dir, CopyDraft& draft) {
  const std::string folder = data_dir + "/symtab";
  std::set<std::string> there;
  std::error_code error;
  const bool has_tables = has_folder(folder);
  for (std::filesystem::recursive_directory_iterator entry =
           has_tables ? std::filesystem::recursive_directory_iterator(folder, error)
                      : std::filesystem::recursive_directory_iterator();
       !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    struct stat file{};
    const std::string path = entry->path().string();
    if (entry->path().extension() != ".symtab" || ::stat(path.c_str(), &file) != 0) {
      continue;
    }
    const std::string name = "symtab/" + entry->path().lexically_relative(folder).string();
    there.insert(name);
    const auto known = draft.manifest().files.find(name);
    const bool is_known = known != draft.manifest().files.end() &&
                          known->second.version == version_of(file) &&
                          known->second.bytes == static_cast<uint64_t>(file.st_size);
    if (is_known || !objects::is_object_key(name) || draft.is_over_budget()) {
      continue;
    }
    const auto content = MappedFile::open(path, kMaxStoredBytes);
    if (!content && content.error().code == ErrorCode::kNotFound) {
      continue;
    }
    if (const Status stored =
            content ? draft.put(name, content->bytes(), version_of(file)) : propagate(content);
        !stored) {
      return stored;
    }
  }
  if (error) {
    return fail_errno(error.value(), "listing {}", folder);
  }
  for (const std::string& path : draft.manifest().paths_below("symtab/")) {
    if (!there.contains(path)) {
      draft.drop(path);
    }
  }
  return {};
}

}  // namespace plimsoll::store
