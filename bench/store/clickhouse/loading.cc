#include "bench/store/clickhouse/loading.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bench/store/clickhouse/statements.h"
#include "bench/store/clock.h"
#include "proto/profile.pb.h"
#include "store/clickhouse/clickhouse_sink.h"
#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/schema.h"
#include "store/door/sink.h"
#include "store/model/batch.h"

namespace plimsoll::bench {
namespace {

constexpr auto kBatchProfiles =
    static_cast<uint32_t>(store::clickhouse::ClickHouseSink::kClickHouseBatchProfiles);
constexpr int64_t kFirstWindowNs = 1'700'000'000 * kNsPerSecond;
constexpr int64_t kWindowNs = 10 * kNsPerMinute;
constexpr uint64_t kBytesOfLocation = 64;

store::OriginEntry origin_entry(uint32_t origin) {
  store::OriginEntry entry;
  entry.machine = machine_of(origin) + 1;
  entry.from_ns = kFirstWindowNs + window_of(origin) * kWindowNs;
  entry.to_ns = entry.from_ns + kWindowNs;
  return entry;
}

store::ProfileRecord profile_record(uint32_t origin, std::span<const store::Row> rows) {
  store::ProfileRecord record;
  record.id = fmt::format("{:016}", origin);
  record.sequence = origin;
  store::EventRecord& event = record.events.emplace_back();
  event.event = rows.front()[store::Column::kEvent];
  event.scale = 1;
  for (const store::Row& row : rows) {
    event.hits += row.hits;
  }
  event.samples = ProfileRows::kSamples;
  event.time_enabled_ns = event.time_running_ns = kWindowNs;
  return record;
}

// Makes batches of the fleet's profiles. They borrow their entries from it.
class BatchMaker {
 public:
  BatchMaker(const RowGenerator& generate, const StackTree& tree) : generate_(generate), tree_(tree) {
    add_machines();
    add_jobs();
    add_locations();
  }

  // Of the origins `first` to `last`; borrows until the next call.
  store::Batch make(uint32_t first, uint32_t last) {
    store::Batch batch;
    batch.last = last;
    batch.entries = first == 1 ? shared_entries() : store::NewEntries();
    origins_.clear();
    for (uint32_t origin = first; origin <= last; ++origin) {
      const size_t first_row = batch.rows.size();
      generate_(origin, batch.rows);
      origins_.push_back(origin_entry(origin));
      batch.profiles.push_back(profile_record(origin, std::span(batch.rows).subspan(first_row)));
    }
    batch.entries.origins = origins_;
    return batch;
  }

 private:
  void add_machines() {
    for (uint32_t number = 0; number < kMachines; ++number) {
      store::MachineEntry& machine = machines_.emplace_back();
      machine.machine_id = fmt::format("machine-{}", number);
      machine.platform = number % 2 == 0 ? "EPYC 7763" : "Xeon 8375C";
      machine.cores = 64;
    }
  }

  void add_jobs() {
    for (uint32_t number = 1; number <= kEvents; ++number) {
      store::EventEntry& event = events_.emplace_back();
      event.name = fmt::format("event-{}", number);
      event.unit = wire::COUNT;
      event.kind = wire::DELTA;
    }
    for (uint32_t job = 0; job < kJobs; ++job) {
      workloads_.emplace_back().job = fmt::format("job-{}", job);
    }
  }

  void add_locations() {
    store::BinaryEntry& binary = binaries_.emplace_back();
    binary.identity_kind = wire::GNU_BUILD_ID;
    binary.identity = std::string(20, '1');
    for (size_t id = 1; id + 1 < tree_.first_frame.size(); ++id) {
      store::LocationEntry& location = locations_.emplace_back();
      location.kind = wire::ELF;
      location.owner = 1;
      location.address = id * kBytesOfLocation;
    }
  }

  // What rows refer to, origins aside.
  store::NewEntries shared_entries() const {
    store::NewEntries entries;
    entries.machines = machines_;
    entries.events = events_;
    entries.workloads = workloads_;
    entries.threads = threads_;
    entries.binaries = binaries_;
    entries.locations = locations_;
    entries.stacks = std::span(tree_.nodes).subspan(1);
    return entries;
  }

  const RowGenerator& generate_;
  const StackTree& tree_;
  std::vector<store::MachineEntry> machines_;
  std::vector<store::EventEntry> events_;
  std::vector<store::WorkloadEntry> workloads_;
  const std::vector<std::string> threads_{"worker"};
  std::vector<store::BinaryEntry> binaries_;
  std::vector<store::LocationEntry> locations_;
  std::vector<store::OriginEntry> origins_;  // of the batch at hand
};

// As the server does, wherever the sink says.
Status commit(store::Sink& sink, store::Batch batch) {
  const auto place = sink.begin(true);
  if (!place) {
    return propagate(place);
  }
  batch.epoch = place->epoch;
  batch.after = place->after;
  batch.entries.before = place->entries;
  return sink.commit(std::move(batch));
}

}  // namespace

Result<Loaded> load_into_clickhouse(const RowGenerator& generate, uint32_t origins, const StackTree& tree,
                                    const store::clickhouse::ConnectionOptions& options) {
  const auto sink = store::clickhouse::ClickHouseSink::open(options, {}, wall_now_ns);
  if (!sink) {
    return propagate(sink);
  }
  store::clickhouse::Connection connection(options);
  if (const Status created = run_statements(connection, {"CREATE TABLE by_hand AS rows"}); !created) {
    return propagate(created);
  }
  const std::string columns = store::clickhouse::table_called("rows").columns();
  BatchMaker maker(generate, tree);
  Loaded loaded;
  for (uint32_t first = 1; first <= origins; first += kBatchProfiles) {
    store::Batch batch = maker.make(first, std::min(origins, first + kBatchProfiles - 1));
    const size_t rows = batch.rows.size();
    const std::string encoded = store::clickhouse::encode_rows(batch.rows, {.epoch = 1, .batch = first});
    const double start_s = now_s();
    const Status committed = commit(**sink, std::move(batch));
    const double committed_s = now_s();
    const Status inserted = committed ? connection.insert("by_hand", columns, encoded) : committed;
    const double inserted_s = now_s();
    if (!inserted) {
      return propagate(inserted);
    }
    if (first > 1) {
      loaded.rows += rows;
      loaded.sink_s += committed_s - start_s;
      loaded.by_hand_s += inserted_s - committed_s;
    }
  }
  const Status merged = run_statements(
      connection, {"DROP TABLE by_hand", "OPTIMIZE TABLE rows FINAL", "OPTIMIZE TABLE origins FINAL"});
  return merged ? Result<Loaded>(loaded) : propagate(merged);
}

}  // namespace plimsoll::bench
