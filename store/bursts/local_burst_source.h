// What recordings of bursts a data directory has, for reading beside the process that writes it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/door/bursts.h"

namespace plimsoll::store {

// Opens the catalogue for each call.
class LocalBurstSource : public BurstSource {
 public:
  explicit LocalBurstSource(std::string bursts_path) : bursts_path_(std::move(bursts_path)) {}

  Result<std::vector<StoredBursts>> list(const BurstQuestion& question) override;
  Result<std::string> read(std::string_view id) override;

 private:
  const std::string bursts_path_;
};

}  // namespace plimsoll::store
