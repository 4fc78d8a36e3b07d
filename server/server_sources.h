// What views of a server are answered from.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"
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
  const store::Fleet& fleet() const override { return snapshots_.fleet(); }
  query::KnownDraws::DrawAgain draw_again() const override { return scheduler::draw_again; }
  Status write_audit_log() override { return hooks_.write_audit_log(); }
  std::optional<query::RunningServer> running_server() override { return hooks_.running_server(); }
  Result<store::RetentionLimits> retention_limits() override {
    return hooks_.retention_limits ? hooks_.retention_limits() : ViewSources::retention_limits();
  }
  // One look, which opens each block, for all questions of ten seconds: those that come meanwhile wait for it.
  Result<store::StoreAccount> store_account(int64_t now_ns) override {
    const std::lock_guard lock(account_mutex_);
    if (!account_ || std::abs(now_ns - account_ns_) >= kAccountAgeNs) {
      auto account = ViewSources::store_account(now_ns);
      if (!account) {
        return account;
      }
      account_ = std::move(*account);
      account_ns_ = now_ns;
    }
    return *account_;
  }

  std::optional<std::string> note() const { return hooks_.note ? hooks_.note() : std::nullopt; }

  void answered(const query::View& view, int64_t duration_ns) const {
    hooks_.answered(view.name, duration_ns);
  }

 private:
  static constexpr int64_t kAccountAgeNs = 10 * kNsPerSecond;

  query::SnapshotCache& snapshots_;
  const QueryHooks hooks_;
  std::mutex account_mutex_;
  std::optional<store::StoreAccount> account_;
  int64_t account_ns_ = 0;  // when it was looked at
};

}  // namespace plimsoll::server
