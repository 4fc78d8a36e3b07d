// What the store knows beside its profiles: machines, draws, and who may do what. For reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/access/access_log.h"
#include "store/draws/draw.h"
#include "store/draws/experiment.h"
#include "store/draws/stop.h"
#include "store/live/live_machine.h"
#include "store/live/past_fleet.h"

namespace plimsoll::store {

// The machines of now, and the newest census of each; both by machine ID.
struct CurrentFleet {
  std::vector<LiveMachine> machines;
  std::vector<Census> censuses;
};

// Beside the process that writes, or in it. What no server has kept yet is empty. Each call sees what was written before it, and may see
// what is written meanwhile. Any thread; calls do not wait for each other.
class Fleet {
 public:
  Fleet() = default;
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;
  virtual ~Fleet() = default;

  // Machines that have registered: how many. Asked for with each question.
  virtual Result<int64_t> count_machines() const = 0;
  // These, and those that the inventory names, by ID.
  virtual Result<std::vector<LiveMachine>> machines() const = 0;
  virtual Result<CurrentFleet> current() const = 0;
  // The fleet as it was then. Nothing: no server has kept one; kNotFound: what it was then is not known (any more).
  virtual Result<std::optional<PastFleet>> at(int64_t time_ns) const = 0;

  // With its method, which the list leaves out.
  virtual Result<std::optional<DrawWithMachines>> draw(std::string_view id) const = 0;
  // By when they were made, the newest first; `limit` at most.
  virtual Result<std::vector<DrawWithMachines>> newest_draws(size_t limit) const = 0;
  virtual Result<int64_t> count_draws() const = 0;
  // Of a draw's strata, in their order; none where there is no such draw.
  virtual Result<std::vector<DrawnWeight>> drawn_weights(std::string_view draw) const = 0;
  // What is not measured for now, or was not and is by now.
  virtual Result<std::vector<Stop>> stops() const = 0;
  // By name.
  virtual Result<std::vector<ExperimentDefinition>> experiments() const = 0;

  // Requests that last came at `since_ns` or later, the newest first; `limit` at most.
  virtual Result<std::vector<AskedFor>> newest_requests(size_t limit, int64_t since_ns) const = 0;
  // Those that asked last first, of these requests.
  virtual Result<std::vector<CallerUse>> callers(size_t limit, int64_t since_ns) const = 0;
};

// Of a data directory, which may come later: it is opened when something of it is asked for.
std::unique_ptr<Fleet> open_fleet(const std::string& data_dir);

}  // namespace plimsoll::store
