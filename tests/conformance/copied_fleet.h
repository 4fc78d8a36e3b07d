// A fleet as a query server has it (store/replica), with a new copy for each call that finds something new.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "store/directory/data_directory.h"
#include "store/replica/copied_directory.h"
#include "store/replica/copied_fleet.h"
#include "store/replica/directory_copies.h"
#include "tests/conformance/fleets.h"

namespace plimsoll::testing {

// What a server says of a copy, and a query server has of it once all files have come.
inline Result<std::shared_ptr<store::CopiedDirectory>> put_copy(const store::DirectoryCopy& copy,
                                                                const std::string& folder) {
  wire::DirectoryCopy facts;
  facts.set_id(copy.id);
  facts.set_taken_ns(copy.taken_ns);
  facts.set_directory_format(copy.directory_format);
  facts.set_directory_id(copy.directory_id);
  facts.set_rows_address(copy.rows_address);
  facts.set_rows_insert_quorum(copy.rows_insert_quorum);
  for (const std::string& shard : copy.rows_shards) {
    facts.add_rows_shards(shard);
  }
  facts.set_format_version(store::copy_version_of(facts));
  std::filesystem::create_directories(folder);
  for (const store::DirectoryCopy::File& file : copy.files) {
    const auto bytes = read_at(*file.fd, file.name, 0, file.bytes);
    if (!bytes) {
      return propagate(bytes);
    }
    std::ofstream(folder + "/" + file.name, std::ios::binary) << *bytes;
    wire::DirectoryCopy::File& described = *facts.add_files();
    described.set_name(file.name);
    described.set_size_bytes(file.bytes);
    described.set_content_hash(file.content_hash);
  }
  const Status checked = store::check_copy(facts);
  return checked ? store::CopiedDirectory::make(folder, std::move(facts)) : propagate(checked);
}

class CopyingFollower : public store::DirectoryFollower {
 public:
  CopyingFollower(const std::string& data_dir, std::string folder)
      : copies_(data_dir), folder_(std::move(folder)) {}

  std::shared_ptr<const store::CopiedDirectory> current() const override {
    const std::lock_guard lock(mutex_);
    const auto found = copies_.get(store::DirectoryCopies::Wanted::kNewest);
    if (found && (current_ == nullptr || current_->facts().id() != found->copy->id)) {
      auto copy = put_copy(*found->copy, folder_ + "/" + found->copy->id);
      current_ = copy ? *std::move(copy) : nullptr;
    }
    return current_;
  }
  Status catch_up(int64_t /*since_ns*/) override { return {}; }

 private:
  mutable std::mutex mutex_;
  mutable store::DirectoryCopies copies_;
  const std::string folder_;
  mutable std::shared_ptr<store::CopiedDirectory> current_;
};

class TestedCopiedFleet : public TestedFleet {
 public:
  explicit TestedCopiedFleet(const std::string& folder)
      : directory_(*store::DataDirectory::open_for_writing(folder + "/primary")),
        made_(directory_.open_draws()),
        follower_(directory_.path(), folder + "/copies"),
        fleet_(follower_, [] { return int64_t{0}; }, directory_.access_path()) {}

  const store::Fleet& fleet() const override { return fleet_; }

  Status hear(const wire::Machine& machine, const store::Census& census, int64_t now_ns) override {
    auto live = directory_.open_machines();
    const Status registered =
        live ? live->register_machine(machine, now_ns, kFleetHeartbeatNs) : propagate(live);
    const auto seen =
        registered ? live->machine_seen(machine.id(), machine.boot_id(), now_ns, kFleetHeartbeatNs, &census)
                   : propagate(registered);
    return seen ? Status() : propagate(seen);
  }
  Status add(const store::DrawWithMachines& draw) override {
    auto draws = directory_.open_draws();
    return draws ? draws->add(draw) : propagate(draws);
  }
  Status replace_stops(const std::vector<store::Stop>& stops) override {
    auto draws = directory_.open_draws();
    return draws ? draws->replace_stops(stops, 1, "by hand") : propagate(draws);
  }
  Status keep(const store::ExperimentDefinition& experiment) override {
    auto draws = directory_.open_draws();
    return draws ? draws->keep_experiment(experiment) : propagate(draws);
  }
  Status add(const store::AskedFor& asked) override {
    auto access = directory_.open_access();
    return access ? access->add({asked}, {.now_ns = asked.last_ns, .passed_ns = 0},
                                {INT64_MAX, INT64_MAX, INT64_MAX})
                  : propagate(access);
  }

 private:
  const store::DataDirectory directory_;
  const Result<store::DrawStore> made_;  // draws.db is there
  CopyingFollower follower_;
  const store::CopiedFleet fleet_;
};

}  // namespace plimsoll::testing
