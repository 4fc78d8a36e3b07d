// Objects as files below a folder, on a file system of another machine say.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "objects/object_store.h"

namespace plimsoll::objects {

class FolderStore : public ObjectStore {
 public:
  // The folder is made by the first put().
  explicit FolderStore(std::string folder) : folder_(std::move(folder)) {}

  Status put(const std::string& key, Bytes content) override;
  Result<std::string> get(const std::string& key, uint64_t max_bytes) override;
  Result<std::vector<ObjectInfo>> list(const std::string& prefix) override;
  Status remove(const std::string& key) override;

 private:
  std::string folder_;
};

}  // namespace plimsoll::objects
