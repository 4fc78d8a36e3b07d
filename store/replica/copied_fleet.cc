#include "store/replica/copied_fleet.h"

#include <utility>

#include "store/access/access_store.h"

namespace plimsoll::store {
namespace {

std::unexpected<Error> no_copy() {
  return with_hint(
      fail(ErrorCode::kUnavailable, "no copy of the primary server's machines and draws has come yet"),
      "check primary.server, primary.token_file and the network");
}

// The copy stays while it is asked.
template <typename Value, typename Ask>
Result<Value> ask_copy(const DirectoryFollower& follower, const Ask& ask) {
  const std::shared_ptr<const CopiedDirectory> copy = follower.current();
  return copy == nullptr ? Result<Value>(no_copy()) : Result<Value>(ask(copy->fleet()));
}

}  // namespace

CopiedFleet::CopiedFleet(DirectoryFollower& follower, std::function<int64_t()> rows_read_ns,
                         std::string access_path)
    : follower_(follower), rows_read_ns_(std::move(rows_read_ns)), access_path_(std::move(access_path)) {}

Result<int64_t> CopiedFleet::count_machines() const {
  return ask_copy<int64_t>(follower_, [](const Fleet& fleet) { return fleet.count_machines(); });
}

Result<std::vector<LiveMachine>> CopiedFleet::machines() const {
  return ask_copy<std::vector<LiveMachine>>(follower_, [](const Fleet& fleet) { return fleet.machines(); });
}

Result<CurrentFleet> CopiedFleet::current() const {
  return ask_copy<CurrentFleet>(follower_, [](const Fleet& fleet) { return fleet.current(); });
}

Result<std::optional<PastFleet>> CopiedFleet::at(int64_t time_ns) const {
  return ask_copy<std::optional<PastFleet>>(follower_,
                                            [time_ns](const Fleet& fleet) { return fleet.at(time_ns); });
}

Result<std::optional<DrawWithMachines>> CopiedFleet::draw(std::string_view id) const {
  return ask_copy<std::optional<DrawWithMachines>>(follower_,
                                                   [id](const Fleet& fleet) { return fleet.draw(id); });
}

Result<std::vector<DrawWithMachines>> CopiedFleet::newest_draws(size_t limit) const {
  return ask_copy<std::vector<DrawWithMachines>>(
      follower_, [limit](const Fleet& fleet) { return fleet.newest_draws(limit); });
}

Result<int64_t> CopiedFleet::count_draws() const {
  return ask_copy<int64_t>(follower_, [](const Fleet& fleet) { return fleet.count_draws(); });
}

Result<std::vector<DrawnWeight>> CopiedFleet::drawn_weights(std::string_view draw) const {
  const auto ask = [&] {
    return ask_copy<std::vector<DrawnWeight>>(
        follower_, [draw](const Fleet& fleet) { return fleet.drawn_weights(draw); });
  };
  auto weights = ask();
  if (!weights || !weights->empty()) {
    return weights;
  }
  if (const Status caught_up = follower_.catch_up(rows_read_ns_()); !caught_up) {
    return with_hint(
        propagate(caught_up, "rows have come of the draw {}, which the copy of the draws lacks", draw),
        "ask again once the primary server answers, or about an earlier time (--until)");
  }
  return ask();
}

Result<std::vector<Stop>> CopiedFleet::stops() const {
  return ask_copy<std::vector<Stop>>(follower_, [](const Fleet& fleet) { return fleet.stops(); });
}

Result<std::vector<ExperimentDefinition>> CopiedFleet::experiments() const {
  return ask_copy<std::vector<ExperimentDefinition>>(follower_,
                                                     [](const Fleet& fleet) { return fleet.experiments(); });
}

Result<std::vector<AskedFor>> CopiedFleet::newest_requests(size_t limit, int64_t since_ns) const {
  auto access = AccessStore::open_if_there(access_path_);
  if (!access) {
    return propagate(access);
  }
  std::optional<AccessStore> store = *std::move(access);
  return store.has_value() ? store->newest(limit, since_ns) : Result<std::vector<AskedFor>>();
}

Result<std::vector<CallerUse>> CopiedFleet::callers(size_t limit, int64_t since_ns) const {
  auto access = AccessStore::open_if_there(access_path_);
  if (!access) {
    return propagate(access);
  }
  std::optional<AccessStore> store = *std::move(access);
  return store.has_value() ? store->callers(limit, since_ns) : Result<std::vector<CallerUse>>();
}

}  // namespace plimsoll::store
