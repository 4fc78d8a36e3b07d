// A store in ClickHouse, behind a proxy that loses requests and answers, for the conformance suite of Sink.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/clickhouse/clickhouse_rows.h"
#include "store/clickhouse/clickhouse_sink.h"
#include "store/clickhouse/entry_rows.h"
#include "store/clickhouse/row_binary.h"
#include "store/clickhouse/shards.h"
#include "tests/clickhouse/clickhouse_server.h"
#include "tests/clickhouse/faulty_proxy.h"
#include "tests/conformance/sinks.h"

namespace plimsoll::testing {
namespace {

// `further`: databases that rows are split over, behind the same proxy.
class TestedClickHouseSink : public TestedSink {
 public:
  TestedClickHouseSink(uint64_t max_profiles, size_t further)
      : max_profiles_(max_profiles),
        options_(ClickHouseServer::shared().new_database()),
        further_(new_shards(further)),
        connection_(options_),
        proxy_(options_.base_url) {}

  store::Sink& sink() override { return *sink_; }

  Status reopen() override {
    sink_.reset();
    auto through_proxy = options_;
    through_proxy.base_url = proxy_.url();
    auto further = further_;
    for (store::clickhouse::ConnectionOptions& shard : further) {
      shard.base_url = proxy_.url();
    }
    auto opened = store::clickhouse::ClickHouseSink::open(
        through_proxy, {.max_profiles = max_profiles_}, [] { return int64_t{1'700'000'000} * 1'000'000'000; },
        further);
    if (!opened) {
      return propagate(opened);
    }
    sink_ = std::move(*opened);
    return {};
  }

  Result<Shown> shown() override {
    const auto marks = store::clickhouse::read_marks(connection_);
    const auto epochs = marks ? store::clickhouse::committed_among(*marks) : propagate(marks);
    if (!epochs) {
      return propagate(epochs);
    }
    Shown shown;
    for (const auto& [number, epoch] : *epochs) {
      if (const Status added = add_epoch(epoch, shown); !added) {
        return propagate(added);
      }
    }
    return shown;
  }

  void fail_at(uint64_t step) override { proxy_.fail_at(step); }
  void stop_failing() override { proxy_.stop_failing(); }
  // Origins, their events, rows and the mark are of each commit, but of one whose profiles are all set aside; a question is repeated.
  int min_failing_steps() const override { return 6; }

 private:
  using Epoch = store::clickhouse::EpochBatches;

  static std::vector<store::clickhouse::ConnectionOptions> new_shards(size_t further) {
    std::vector<store::clickhouse::ConnectionOptions> shards;
    while (shards.size() < further) {
      shards.push_back(ClickHouseServer::shared().new_database());
      shards.back().shard = shards.size();
    }
    return shards;
  }

  Status add_epoch(const Epoch& epoch, Shown& shown) {
    store::Dictionaries entries;
    Status read = store::clickhouse::extend(entries, connection_, epoch);
    read = read ? store::clickhouse::extend_origin_events(entries, connection_, epoch) : read;
    std::map<uint32_t, std::vector<std::string>> frames;
    read = read ? read_frames(epoch, frames) : read;
    read = read ? add_facts(epoch, entries, shown) : read;
    if (!read) {
      return read;
    }
    store::Contents contents;
    contents.dictionaries = entries;
    contents.rows = std::make_shared<store::clickhouse::ClickHouseRows>(
        pool_of(options_), epoch, store::clickhouse::pools_of(further_));
    const auto frames_of = [&](uint32_t location) { return frames[location]; };
    return ContentsInWords(contents, frames_of).add_to(shown);
  }

  static std::shared_ptr<store::clickhouse::ConnectionPool> pool_of(
      const store::clickhouse::ConnectionOptions& options) {
    return std::make_shared<store::clickhouse::ConnectionPool>(options);
  }

  template <typename Read>
  Status for_each(std::string_view columns, std::string_view table, const Epoch& epoch,
                  std::string_view order, Read read) {
    const auto answer = connection_.query(fmt::format(
        "SELECT {} FROM {} WHERE {} ORDER BY {} FORMAT RowBinary", columns, table, epoch.condition(), order));
    return answer ? store::clickhouse::for_each_row(*answer, table, read) : propagate(answer);
  }

  // A later batch binds in the place of an earlier one.
  Status read_frames(const Epoch& epoch, std::map<uint32_t, std::vector<std::string>>& frames) {
    return for_each("location, frames, depth, function, linkage_name, file, line", "bindings", epoch,
                    "batch, location, depth", [&](ByteReader& reader) -> Status {
                      std::vector<std::string>& texts = frames[reader.read<uint32_t>()];
                      const auto count = reader.read<uint16_t>();
                      if (reader.read<uint16_t>() == 0) {
                        texts.clear();
                      }
                      store::Frame frame;
                      frame.function = store::clickhouse::read_text(reader);
                      frame.linkage_name = store::clickhouse::read_text(reader);
                      frame.file = store::clickhouse::read_text(reader);
                      frame.line = reader.read<uint32_t>();
                      if (count > 0) {
                        texts.push_back(text_of(frame));
                      }
                      return {};
                    });
  }

  // What no question is about. Of what comes again, the first counts.
  Status add_facts(const Epoch& epoch, const store::Dictionaries& entries, Shown& shown) {
    std::set<uint32_t> known;
    Status read = for_each("binary, content", "kernel_symbols", epoch, "batch", [&](ByteReader& reader) {
      const auto binary = reader.read<uint32_t>();
      const std::string content(store::clickhouse::read_text(reader));
      if (known.insert(binary).second) {
        shown.facts.insert(fact_of_symbols(entries.binaries.at(binary), content));
      }
      return Status();
    });
    read = read ? for_each("binary, machine_id", "binary_machines", epoch, "batch",
                           [&](ByteReader& reader) {
                             const auto binary = reader.read<uint32_t>();
                             const std::string machine(store::clickhouse::read_text(reader));
                             add_machine_fact(entries.binaries.at(binary), machine, shown);
                             return Status();
                           })
                : read;
    return read ? for_each("archive_sequence, reason", "set_aside", epoch, "batch",
                           [&](ByteReader& reader) {
                             const auto sequence = reader.read<int64_t>();
                             const std::string reason(store::clickhouse::read_text(reader));
                             shown.facts.insert(fact_of(store::SetAside{sequence, reason}));
                             return Status();
                           })
                : read;
  }

  const uint64_t max_profiles_;
  const store::clickhouse::ConnectionOptions options_;
  const std::vector<store::clickhouse::ConnectionOptions> further_;
  store::clickhouse::Connection connection_;  // for reading, past the proxy
  FaultyProxy proxy_;
  std::unique_ptr<store::clickhouse::ClickHouseSink> sink_;
};

SinkImplementation clickhouse_sink(const std::string& name, uint64_t max_profiles, size_t further = 0) {
  return {
      .name = name,
      .max_profiles = max_profiles,
      .make =
          [=](const std::string&) { return std::make_unique<TestedClickHouseSink>(max_profiles, further); },
      .why_missing = [] { return ClickHouseServer::why_missing(); }};
}

}  // namespace

std::vector<SinkImplementation> sink_implementations() {
  return {clickhouse_sink("ClickHouse", UINT64_MAX), clickhouse_sink("ClickHouseInEpochsOf5", 5),
          clickhouse_sink("ClickHouseOf2Shards", UINT64_MAX, 1),
          clickhouse_sink("ClickHouseOf3ShardsInEpochsOf5", 5, 2)};
}

}  // namespace plimsoll::testing
