// What a data directory knows beside its profiles: machines, draws, and who may do what. For reading.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/access/access_store.h"
#include "store/draws/draw_store.h"
#include "store/live/live_machines.h"

namespace plimsoll::store {

// Beside the process that writes, or in it. Each call opens a connection of the caller's own, which is for one thread at a time; nothing
// where the directory has had no server that keeps it. Any thread.
class Fleet {
 public:
  explicit Fleet(std::string data_dir) : data_dir_(std::move(data_dir)) {}

  Result<std::optional<LiveMachines>> machines() const;
  Result<std::optional<DrawStore>> draws() const;
  Result<std::optional<AccessStore>> access() const;

  const std::string& data_dir() const { return data_dir_; }

 private:
  std::string data_dir_;
};

}  // namespace plimsoll::store
