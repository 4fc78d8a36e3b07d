#include "store/replica/followed_rows.h"

#include <utility>

#include "base/hex.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/store.h"

namespace plimsoll::store {

FollowedRows::FollowedRows(std::string folder, std::function<int64_t()> monotonic_ns)
    : folder_(std::move(folder)), monotonic_ns_(std::move(monotonic_ns)), source_(open_source(folder_)) {}

Status FollowedRows::settle(const DirectoryIdentity& identity) {
  if (!identity.rows.is_elsewhere()) {
    return with_hint(fail(ErrorCode::kUnsupported,
                          "the rows of the primary server are in its data directory, where no other process "
                          "can read them"),
                     "move them to ClickHouse: plimsoll store copy --to clickhouse://HOST/DATABASE");
  }
  const std::lock_guard lock(settling_);
  const auto known = read_identity(folder_);
  if (!known) {
    return propagate(known);
  }
  if (known->is_there() && known->id != identity.id) {
    return with_hint(fail(ErrorCode::kConflict,
                          "the primary server has the data directory with the ID {}, and {} follows that "
                          "with {}",
                          to_hex(identity.id), folder_, to_hex(known->id)),
                     "give a new folder with --data to follow another directory");
  }
  if (*known == identity) {
    return {};
  }
  const Status written = write_identity(folder_, identity);
  ++settled_;
  return written;
}

Status FollowedRows::check() const {
  const auto identity = read_identity(folder_);
  if (!identity) {
    return propagate(identity);
  }
  if (!identity->is_there()) {
    return with_hint(fail(ErrorCode::kUnavailable, "no copy of the primary server's directory has come yet"),
                     "check primary.server, primary.token_file and the network");
  }
  return clickhouse::expect_owner(identity->rows, identity->id);
}

Result<Contents> FollowedRows::newest(const TimeSpans& times) {
  // They may move while they are checked.
  for (uint64_t settled = settled_; checked_ != settled; settled = settled_) {
    if (const Status checked = check(); !checked) {
      return propagate(checked);
    }
    checked_ = settled;
  }
  auto contents = source_->newest(times);
  if (contents) {
    const int64_t now_ns = monotonic_ns_();
    int64_t before_ns = last_read_ns_;
    while (before_ns < now_ns && !last_read_ns_.compare_exchange_weak(before_ns, now_ns)) {
    }
  }
  return contents;
}

}  // namespace plimsoll::store
