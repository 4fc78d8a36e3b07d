#include "store/clickhouse/replicas.h"

#include <random>

#include "base/random.h"
#include "base/retry_pause.h"
#include "store/clickhouse/row_binary.h"

namespace plimsoll::store::clickhouse {
namespace {

Result<bool> has_marks(Connection& connection, uint32_t epoch) {
  const auto answer =
      connection.query(fmt::format("SELECT count() FROM batches WHERE epoch = {} FORMAT RowBinary", epoch));
  if (!answer) {
    return propagate(answer);
  }
  ByteReader reader(as_bytes(*answer));
  const auto marks = reader.read<uint64_t>();
  return reader.ok()
             ? Result<bool>(marks > 0)
             : fail(ErrorCode::kCorrupt, "counting the marks of epoch {}: the answer is empty", epoch);
}

Status expect_marks_gone_from(const ConnectionOptions& host, uint32_t epoch) {
  constexpr int kMaxLooks = 6;
  Connection connection(host);
  std::mt19937_64 random(random_seed());
  for (int look = 1;; ++look) {
    const auto has = has_marks(connection, epoch);
    if (!has) {
      return has.error().code == ErrorCode::kUnavailable ? Status() : propagate(has);
    }
    if (!*has) {
      return {};
    }
    if (look == kMaxLooks) {
      return fail(ErrorCode::kUnavailable, "{} has not dropped the marks of epoch {} yet", host.base_url,
                  epoch);
    }
    if (const Status paused = pause_before_retry(look, host.first_pause_ns, random); !paused) {
      return paused;
    }
  }
}

}  // namespace

// No database has a '-' in its name.
std::string replica_path(const ConnectionOptions& options, std::string_view table) {
  const std::string shard = options.shard == 0 ? "" : fmt::format("-shard-{}", options.shard);
  return fmt::format("/plimsoll/tables/{}{}/{}", options.database, shard, table);
}

Status expect_quorum(Connection& connection) {
  const ConnectionOptions& options = connection.options();
  if (!options.is_replicated()) {
    return {};
  }
  const auto version = connection.version();
  if (!version) {
    return propagate(version);
  }
  if (version->has_sequential_reads()) {
    return {};
  }
  const auto answer = connection.query(
      fmt::format("SELECT count() FROM system.zookeeper WHERE path = '{}/quorum' AND name = 'status' FORMAT "
                  "RowBinary",
                  replica_path(options, "batches")));
  if (!answer) {
    return propagate(answer);
  }
  ByteReader reader(as_bytes(*answer));
  const auto waiting = reader.read<uint64_t>();
  if (!reader.ok()) {
    return fail(ErrorCode::kCorrupt, "looking for a batch without a quorum: the answer is empty");
  }
  return waiting == 0
             ? Status()
             : with_hint(fail(ErrorCode::kUnavailable, "a batch waits until {} replicas of {} have it",
                              options.insert_quorum, options.database),
                         "check that all replicas run");
}

Status expect_marks_gone(const ConnectionOptions& options, uint32_t epoch) {
  for (const ConnectionOptions& host : each_host(options)) {
    if (const Status gone = expect_marks_gone_from(host, epoch); !gone) {
      return gone;
    }
  }
  return {};
}

}  // namespace plimsoll::store::clickhouse
