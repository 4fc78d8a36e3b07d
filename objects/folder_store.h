// Objects as files below a folder, on a file system of another machine say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "objects/object_store.h"

namespace plimsoll::objects {

// The folder must be there, or each request is kUnavailable: the path of a file system that is not mounted would look like an empty store, and
// take objects on the wrong disk. Folders below it are made with the mode 0700.
class FolderStore : public ObjectStore {
 public:
  explicit FolderStore(std::string folder) : folder_(std::move(folder)) {}

  Status put(const std::string& key, Bytes content) override;
  Result<std::string> get(const std::string& key, uint64_t max_bytes) override;
  Result<std::vector<ObjectInfo>> list(const std::string& prefix) override;
  Status remove(const std::string& key) override;

 private:
  Status expect_folder() const;

  std::string folder_;
};

}  // namespace plimsoll::objects
