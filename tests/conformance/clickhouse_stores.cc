// A store in ClickHouse, for the conformance suite of Source and Symbols.
#include <memory>
#include <string>
#include <vector>

#include "store/clickhouse/clickhouse_sink.h"
#include "store/clickhouse/clickhouse_source.h"
#include "store/clickhouse/clickhouse_symbols.h"
#include "store/clickhouse/shards.h"
#include "tests/clickhouse/clickhouse_server.h"
#include "tests/conformance/stores.h"

namespace plimsoll::testing {
namespace {

int64_t always_now_ns() {
  return int64_t{1'700'000'000} * 1'000'000'000;
}

std::vector<store::clickhouse::ConnectionOptions> new_shards(ClickHouseEngine engine, size_t further) {
  std::vector<store::clickhouse::ConnectionOptions> shards;
  while (shards.size() < further) {
    shards.push_back(ClickHouseServer::shared(engine).new_database());
    shards.back().shard = shards.size();
  }
  return shards;
}

// `further`: databases that rows are split over, beside the one that has all else.
class TestedClickHouseStore : public TestedStore {
 public:
  TestedClickHouseStore(ClickHouseEngine engine, uint64_t max_profiles, size_t further)
      : options_(ClickHouseServer::shared(engine).new_database()),
        further_options_(new_shards(engine, further)),
        sink_(*store::clickhouse::ClickHouseSink::open(options_, {.max_profiles = max_profiles},
                                                       &always_now_ns, further_options_)) {}

  Status add(const wire::RawProfile& profile) override { return adder_.add(profile); }
  store::Source& source() override { return source_; }
  store::Symbols& symbols() override { return symbols_; }

  Status damage_first() override {
    const auto epoch = first_epoch();
    const auto damaged =
        epoch ? connections_->query(fmt::format("ALTER TABLE stacks DROP PARTITION {}", *epoch))
              : propagate(epoch);
    return damaged ? Status() : propagate(damaged);
  }
  Status drop_first() override {
    const auto epoch = first_epoch();
    return epoch ? store::clickhouse::drop_epoch_of_all(*connections_, further_, *epoch) : propagate(epoch);
  }

 private:
  Result<uint32_t> first_epoch() {
    store::clickhouse::CommittedBatches committed;
    const auto epochs = committed.newest(*connections_);
    return epochs ? Result<uint32_t>((*epochs)->begin()->first) : propagate(epochs);
  }

  const store::clickhouse::ConnectionOptions options_;
  const std::vector<store::clickhouse::ConnectionOptions> further_options_;
  const std::unique_ptr<store::clickhouse::ClickHouseSink> sink_;
  const std::shared_ptr<store::clickhouse::ConnectionPool> connections_ =
      std::make_shared<store::clickhouse::ConnectionPool>(options_);
  const store::clickhouse::ShardPools further_ = store::clickhouse::pools_of(further_options_);
  store::clickhouse::ClickHouseSource source_{connections_, further_};
  store::clickhouse::ClickHouseSymbols symbols_{connections_, sink_->session(), &always_now_ns};
  ProfileAdder adder_{*sink_};
};

template <ClickHouseEngine kEngine>
StoreImplementation clickhouse_store(const std::string& name, uint64_t max_profiles, size_t further = 0) {
  return {.name = name,
          .max_profiles = max_profiles,
          .make =
              [=](const std::string&) {
                return std::make_unique<TestedClickHouseStore>(kEngine, max_profiles, further);
              },
          .why_missing = [] { return ClickHouseServer::why_missing(kEngine); },
          .keeps_dropped_rows = false};
}

}  // namespace

std::vector<StoreImplementation> store_implementations() {
  return {clickhouse_store<ClickHouseEngine::kDebian>("ClickHouse", UINT64_MAX),
          clickhouse_store<ClickHouseEngine::kDebian>("ClickHouseInEpochsOf5", 5),
          clickhouse_store<ClickHouseEngine::kDebian>("ClickHouseOf2Shards", UINT64_MAX, 1),
          clickhouse_store<ClickHouseEngine::kDebian>("ClickHouseOf3ShardsInEpochsOf5", 5, 2),
          clickhouse_store<ClickHouseEngine::kToday>("ClickHouseOfToday", UINT64_MAX),
          clickhouse_store<ClickHouseEngine::kToday>("ClickHouseOfTodayOf3Shards", UINT64_MAX, 2),
          clickhouse_store<ClickHouseEngine::kToday>("ClickHouseOfTodayInEpochsOf5", 5)};
}

}  // namespace plimsoll::testing
