// What the locations of an epoch are called, as a reader follows it.
//
// Names come in batches of their own (the table `name_batches` has their marks), and with profiles that brought some. Of what a location was
// bound to the largest batch counts.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/clickhouse/batches.h"
#include "store/clickhouse/connection.h"
#include "store/model/bindings.h"

namespace plimsoll::store::clickhouse {

// Of the rows of `bindings` and of `binary_accounts` that count, in SQL.
std::string names_condition(const EpochBatches& epoch);

// One thread.
class EpochNames {
 public:
  // Reads what was committed since. After an error it is of no use.
  Status extend(Queryable& server, const EpochBatches& epoch);

  Bindings bindings() const { return builder_.bindings(); }

 private:
  // `is_ahead`: set where a name is of a location that the epoch does not have yet.
  Status bind(Queryable& server, const EpochBatches& epoch, const ExternalTable& new_batches, bool& is_ahead);
  Status bind_rows(std::string_view rows, const EpochBatches& epoch, bool& is_ahead);
  Status describe(Queryable& server, const EpochBatches& epoch, const ExternalTable& new_batches);
  void bind(uint32_t location, uint64_t batch, const std::vector<Frame>& frames);

  std::set<uint64_t> known_batches_;    // of names
  uint64_t newest_batch_ = 0;           // of profiles, that is known
  std::vector<uint64_t> bound_by_;      // by location: the batch; 0: it was not looked up
  std::vector<uint64_t> described_by_;  // by binary
  BindingsBuilder builder_;
};

}  // namespace plimsoll::store::clickhouse
