#include "store/fleet.h"

#include "store/directory/data_directory.h"

namespace plimsoll::store {

Result<std::optional<LiveMachines>> Fleet::machines() const {
  const auto directory = DataDirectory::open_for_reading(data_dir_);
  return directory ? LiveMachines::open_if_there(directory->live_path()) : propagate(directory);
}

Result<std::optional<DrawStore>> Fleet::draws() const {
  const auto directory = DataDirectory::open_for_reading(data_dir_);
  return directory ? DrawStore::open_if_there(directory->draws_path()) : propagate(directory);
}

Result<std::optional<AccessStore>> Fleet::access() const {
  const auto directory = DataDirectory::open_for_reading(data_dir_);
  return directory ? AccessStore::open_if_there(directory->access_path()) : propagate(directory);
}

}  // namespace plimsoll::store
