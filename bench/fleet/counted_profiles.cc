#include "bench/fleet/counted_profiles.h"

#include <fmt/format.h>

#include <sstream>

#include "bench/store/clock.h"

namespace plimsoll::bench {

Status CountedProfiles::look() {
  const auto epochs = committed_.newest(connection_);
  if (!epochs) {
    return propagate(epochs);
  }
  const store::clickhouse::CommittedBatches::Epochs& committed = **epochs;
  const double committed_s = now_s();
  for (const auto& [number, epoch] : committed) {
    const Status read = epoch.newest.batch > newest_read_ ? read_newer(epoch, committed_s) : Status();
    if (!read) {
      return propagate(read, "reading epoch {}", number);
    }
  }
  // Of later epochs the numbers of batches are larger.
  newest_read_ = committed.empty() ? 0 : committed.rbegin()->second.newest.batch;
  return {};
}

Status CountedProfiles::read_newer(const store::clickhouse::EpochBatches& epoch, double committed_s) {
  const auto answer = connection_.query(fmt::format(
      "SELECT lower(hex(profile_id)) FROM origins WHERE {} AND batch > {}", epoch.condition(), newest_read_));
  if (!answer) {
    return propagate(answer);
  }
  std::istringstream lines(*answer);
  for (std::string id; std::getline(lines, id);) {
    counted_s_.emplace(id, committed_s);
  }
  return {};
}

std::optional<double> CountedProfiles::counted_s(const std::string& id) const {
  const auto found = counted_s_.find(id);
  return found == counted_s_.end() ? std::nullopt : std::optional<double>(found->second);
}

}  // namespace plimsoll::bench
