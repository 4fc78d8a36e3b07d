// What views of a server are answered from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "query/registry/view.h"
#include "scheduler/assignments/draw_method.h"
#include "server/query_api.h"

namespace plimsoll::server {

// The server's newest snapshot, and its data directory. Borrows the cache. Any thread.
class ServerSources : public query::ViewSources {
 public:
  ServerSources(query::SnapshotCache& snapshots, QueryHooks hooks)
      : snapshots_(snapshots), hooks_(std::move(hooks)) {}

  Result<std::shared_ptr<const query::Snapshot>> snapshot(const store::TimeSpans& times) override {
    return snapshots_.newest(times);
  }
  const std::string& data_dir() const override { return snapshots_.data_dir(); }
  query::KnownDraws::DrawAgain draw_again() const override { return scheduler::draw_again; }
  Status write_audit_log() override { return hooks_.write_audit_log(); }
  std::optional<query::RunningServer> running_server() override { return hooks_.running_server(); }
  Result<store::RetentionLimits> retention_limits() override {
    return hooks_.retention_limits ? hooks_.retention_limits() : ViewSources::retention_limits();
  }

  void answered(const query::View& view, int64_t duration_ns) const {
    hooks_.answered(view.name, duration_ns);
  }

 private:
  query::SnapshotCache& snapshots_;
  const QueryHooks hooks_;
};

}  // namespace plimsoll::server
