// The fleet as the databases of a data directory have it: live.db, draws.db and access.db.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/access/access_store.h"
#include "store/directory/data_directory.h"
#include "store/draws/draw_store.h"
#include "store/fleet.h"
#include "store/live/live_machines.h"

namespace plimsoll::store {

class LocalFleet : public Fleet {
 public:
  explicit LocalFleet(const std::string& data_dir)
      : machines_(data_dir, &DataDirectory::live_path),
        draws_(data_dir, &DataDirectory::draws_path),
        access_(data_dir, &DataDirectory::access_path) {}

  Result<int64_t> count_machines() const override;
  Result<std::vector<LiveMachine>> machines() const override;
  Result<CurrentFleet> current() const override;
  Result<std::optional<PastFleet>> at(int64_t time_ns) const override;
  Result<std::optional<DrawWithMachines>> draw(std::string_view id) const override;
  Result<std::vector<DrawWithMachines>> newest_draws(size_t limit) const override;
  Result<int64_t> count_draws() const override;
  Result<std::vector<DrawnWeight>> drawn_weights(std::string_view draw) const override;
  Result<std::vector<Stop>> stops() const override;
  Result<std::vector<ExperimentDefinition>> experiments() const override;
  Result<std::vector<AskedFor>> newest_requests(size_t limit, int64_t since_ns) const override;
  Result<std::vector<CallerUse>> callers(size_t limit, int64_t since_ns) const override;

 private:
  // A connection is for one thread at a time: each call has its own. Some are kept for the next calls, since opening costs more than most
  // answers, of which each question takes one.
  template <typename Store>
  class Connections {
   public:
    Connections(std::string data_dir, std::string (DataDirectory::*path)() const)
        : data_dir_(std::move(data_dir)), path_(path) {}

    // What `read` gives of the store; an empty value where it is not there.
    template <typename Value, typename Read>
    Result<Value> ask(const Read& read) const {
      auto taken = take();
      if (!taken) {
        return propagate(taken);
      }
      std::optional<Store>& store = *taken;
      if (!store) {
        return Value();
      }
      Result<Value> value = read(*store);
      if (value) {
        const std::lock_guard lock(mutex_);
        if (kept_.size() < kMaxKept) {
          kept_.push_back(std::move(*store));
        }
      }
      return value;
    }

   private:
    static constexpr size_t kMaxKept = 4;

    Result<std::optional<Store>> take() const {
      {
        const std::lock_guard lock(mutex_);
        if (!kept_.empty()) {
          std::optional<Store> last(std::move(kept_.back()));
          kept_.pop_back();
          return last;
        }
      }
      const auto directory = DataDirectory::open_for_reading(data_dir_);
      return directory ? Store::open_if_there(((*directory).*path_)()) : propagate(directory);
    }

    const std::string data_dir_;
    std::string (DataDirectory::* const path_)() const;
    mutable std::mutex mutex_;
    mutable std::vector<Store> kept_;  // protected by mutex_
  };

  const Connections<LiveMachines> machines_;
  const Connections<DrawStore> draws_;
  const Connections<AccessStore> access_;
};

}  // namespace plimsoll::store
