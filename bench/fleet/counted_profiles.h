// When the rows of profiles in ClickHouse count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"

namespace plimsoll::bench {

// Learns which profiles are in committed batches: any question from then on counts their rows. One thread at a time.
class CountedProfiles {
 public:
  explicit CountedProfiles(const store::clickhouse::ConnectionOptions& database) : connection_(database) {}

  // Reads the profiles of batches that were committed since the last look: two or three short statements.
  Status look();
  // When look() found the profile of that ID, in hexadecimal (bench/store/clock.h); nothing: it has not.
  std::optional<double> counted_s(const std::string& id) const;

 private:
  Status read_newer(const store::clickhouse::EpochBatches& epoch, double committed_s);

  store::clickhouse::Connection connection_;
  store::clickhouse::CommittedBatches committed_;
  uint64_t newest_read_ = 0;  // batch
  std::unordered_map<std::string, double> counted_s_;
};

}  // namespace plimsoll::bench
