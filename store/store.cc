#include "store/store.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/time.h"
#include "store/bursts/local_burst_sink.h"
#include "store/bursts/local_burst_source.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/contents/local_source.h"
#include "store/directory/data_directory.h"
#include "store/identity/directory_identity.h"
#include "store/local_fleet.h"
#include "store/local_symbols.h"
#include "store/spans/local_span_sink.h"
#include "store/spans/local_span_source.h"

namespace plimsoll::store {
namespace {

// Where the rows of a directory are is known once it is there, and may be settled by the first server that opens it.
class DirectorySource : public Source {
 public:
  explicit DirectorySource(std::string data_dir) : data_dir_(std::move(data_dir)) {}

  Result<Contents> newest(const TimeSpans& times) override {
    const auto source = current();
    return source ? (*source)->newest(times) : propagate(source);
  }
  void forget_dropped() override {
    if (const auto source = current()) {
      (*source)->forget_dropped();
    }
  }
  std::vector<uint64_t> lineages() const override {
    const std::lock_guard lock(mutex_);
    return source_ == nullptr ? std::vector<uint64_t>() : source_->lineages();
  }

 private:
  Result<std::shared_ptr<Source>> current() {
    const std::lock_guard lock(mutex_);
    const auto identity = read_identity(data_dir_);
    if (!identity) {
      return propagate(identity);
    }
    if (source_ == nullptr || identity->rows != rows_) {
      auto opened = identity->rows.is_elsewhere() ? clickhouse::open_source(identity->rows)
                                                  : std::make_unique<LocalSource>(data_dir_);
      if (!opened) {
        return propagate(opened);
      }
      source_ = std::move(*opened);
      rows_ = identity->rows;
    }
    return source_;
  }

  const std::string data_dir_;
  mutable std::mutex mutex_;
  std::shared_ptr<Source> source_;  // protected by mutex_; null: not opened yet
  RowsAddress rows_;                // protected by mutex_: the rows that source_ reads
};

}  // namespace

Status check_rows(const RowsAddress& rows) {
  if (!rows.is_elsewhere()) {
    return {};
  }
  const auto options = clickhouse::connection_to(rows);
  const auto further = options ? clickhouse::shards_of(rows) : propagate(options);
  return further ? Status() : propagate(further);
}

std::unique_ptr<Source> open_source(const std::string& data_dir) {
  return std::make_unique<DirectorySource>(data_dir);
}

std::unique_ptr<Fleet> open_fleet(const std::string& data_dir) {
  return std::make_unique<LocalFleet>(data_dir);
}

std::unique_ptr<Symbols> symbols_of(Ingest& ingest) {
  return ingest.row_store() != nullptr ? ingest.row_store()->symbols()
                                       : std::make_unique<LocalSymbols>(ingest);
}

Result<std::unique_ptr<SpanSink>> open_span_sink(const DataDirectory& directory, uint64_t max_bytes) {
  constexpr uint64_t kMinSpanBlocks = 8;
  // Below that most of a block is its empty tables, and each batch would begin one.
  constexpr uint64_t kMinSpanBlockBytes = uint64_t{16} << 20;
  SpanBlockLimits limits;
  limits.max_bytes = std::min(limits.max_bytes, std::max(max_bytes / kMinSpanBlocks, kMinSpanBlockBytes));
  const auto identity = read_identity(directory.path());
  auto sink = identity ? LocalSpanSink::open(directory.spans_path(), identity->id, limits, wall_now_ns)
                       : propagate(identity);
  return sink ? Result<std::unique_ptr<SpanSink>>(std::move(*sink)) : propagate(sink, "opening the spans");
}

std::unique_ptr<SpanSource> open_span_source(const std::string& data_dir) {
  return std::make_unique<LocalSpanSource>(spans_path_of(data_dir));
}

Result<std::unique_ptr<BurstSink>> open_burst_sink(const DataDirectory& directory) {
  const auto identity = read_identity(directory.path());
  if (!identity) {
    return propagate(identity, "opening the recordings of bursts");
  }
  return std::make_unique<LocalBurstSink>(directory.bursts_path(), identity->id, wall_now_ns);
}

std::unique_ptr<BurstSource> open_burst_source(const std::string& data_dir) {
  return std::make_unique<LocalBurstSource>(bursts_path_of(data_dir));
}

}  // namespace plimsoll::store
