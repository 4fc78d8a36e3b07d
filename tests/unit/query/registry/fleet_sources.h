// A fleet's data directory as views are given it, read afresh for each question.
#pragma once

#include "query/registry/view.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {

class FleetSources : public ViewSources {
 public:
  explicit FleetSources(const std::string& data_dir)
      : data_dir_(data_dir), fleet_(store::open_fleet(data_dir)) {}
  Result<std::shared_ptr<const Snapshot>> snapshot(const store::TimeSpans& times) override {
    return Snapshot::load(data_dir_, times);
  }
  const std::string& data_dir() const override { return data_dir_; }
  const store::Fleet& fleet() const override { return *fleet_; }
  KnownDraws::DrawAgain draw_again() const override { return {}; }

 private:
  const std::string data_dir_;
  const std::unique_ptr<const store::Fleet> fleet_;
};

}  // namespace plimsoll::query
