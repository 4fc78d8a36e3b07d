#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_reader.h"
#include "bench/clickhouse/clickhouse_server.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/store/clickhouse/hand_written.h"
#include "bench/store/clickhouse/loading.h"
#include "bench/store/clock.h"
#include "bench/store/dataset.h"
#include "bench/store/generator.h"
#include "bench/store/parts.h"
#include "bench/store/queries.h"
#include "store/aggregation/local_rows.h"
#include "store/clickhouse/clickhouse_rows.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalRowsPerS = 1e6;
constexpr double kGoalBytesPerRow = 2.3;
constexpr double kGoalRatio = 1 / 1.3;  // of the time of hand-written SQL
constexpr uint32_t kCrossover = 10;     // times as few rows

uint32_t origins_in_all(const Flags& flags) {
  return flags.quick ? kQuickOrigins : kOrigins;
}

// The same rows in segments and in ClickHouse.
struct BothStores {
  ScratchFolder folder;
  ClickHouseServer server;
  Segments segments;
  store::LocalRows local;
  Loaded loaded;
  std::shared_ptr<store::clickhouse::ConnectionPool> connections;
  store::clickhouse::EpochBatches epoch;
};

Result<BothStores> fill_both(const StackTree& tree, uint32_t origins) {
  auto folder = ScratchFolder::create();
  auto server = folder ? ClickHouseServer::start_chdb(*folder / "clickhouse") : propagate(folder);
  ProfileRows profiles(tree.first_stack);
  const RowGenerator generate = [&](uint32_t origin, std::vector<store::Row>& rows) {
    profiles.append(origin, rows);
  };
  auto segments = server ? write_rows(generate, origins, *folder / "") : propagate(server);
  auto local = segments ? store::LocalRows::open(segments->paths) : propagate(segments);
  const auto loaded =
      local ? load_into_clickhouse(generate, origins, tree, server->options()) : propagate(local);
  if (!loaded) {
    return propagate(loaded);
  }
  auto connections = std::make_shared<store::clickhouse::ConnectionPool>(server->options());
  store::clickhouse::CommittedBatches committed;
  const auto epochs = committed.newest(*connections);
  if (!epochs) {
    return propagate(epochs);
  }
  return BothStores{
      std::move(*folder),     std::move(*server),         std::move(*segments), std::move(*local), *loaded,
      std::move(connections), (*epochs)->rbegin()->second};
}

struct Question {
  Query query;
  uint32_t machine_groups = 1;

  std::string name() const { return query.name + (machine_groups > 1 ? "_groups" : ""); }
};

// Those of all rows, by job, stack and function.
std::vector<Question> questions() {
  std::vector<Question> asked;
  for (const Query& query : timed_queries()) {
    if (query.grouping != Grouping::kJobAndMachine && query.filter[store::Column::kEvent].is_all()) {
      asked.push_back({query, 1});
      asked.push_back({query, kMachineGroupsInSql});
    }
  }
  return asked;
}

// A line for each cell and machine group, as hand_written_by_machine_group() has them.
std::string text_by_machine_group(const Query& query, const store::Cells& cells) {
  const auto column = query.grouping == Grouping::kJob ? store::Column::kWorkload : store::Column::kStack;
  std::string text;
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    const auto sums = cells.by_machine_group(cell);
    for (size_t group = 0; group < sums.size(); ++group) {
      if (sums[group] != 0) {
        text += fmt::format("{},{},{:.0f}\n", cells.keys[cell][column], group, sums[group]);
      }
    }
  }
  return text;
}

struct Times {
  double clickhouse_ms = 0;
  double local_ms = 0;
  double by_hand_ms = 0;  // of the fastest statement; 0: there is none
};

// Times contenders whose answers are alike.
class QuestionTimer {
 public:
  QuestionTimer(const BothStores& stores, const StackTree& tree, uint32_t origins)
      : stores_(stores), clickhouse_(stores.connections, stores.epoch), asker_(tree, origins, kEvents) {}

  // Without statements the two stores alone.
  Result<Times> time(const Question& question, const std::vector<HandWritten>& statements) {
    const store::AggregateRequest request =
        asker_.request(question.query, {.machine_groups = question.machine_groups});
    if (const Status checked = check_answers(question, request, statements); !checked) {
      return propagate(checked);
    }
    std::vector<std::function<double()>> contenders{
        [&] { return ask_ms(clickhouse_, question, request); },
        [&] { return ask_ms(stores_.local, question, request); },
    };
    const std::string by_hand = fastest(statements);
    if (!by_hand.empty()) {
      contenders.emplace_back([&] { return ask_ms(by_hand); });
    }
    const std::vector<double> took_ms = interleaved_medians(kRounds, contenders);
    if (!status_) {
      return propagate(status_);
    }
    return Times{
        .clickhouse_ms = took_ms[0], .local_ms = took_ms[1], .by_hand_ms = by_hand.empty() ? 0 : took_ms[2]};
  }

 private:
  // The first failure of a contender; then there are no times.
  template <typename T>
  void keep_failure(const Result<T>& result) {
    if (!result && status_) {
      status_ = propagate(result);
    }
  }

  double ask_ms(const store::RowSource& rows, const Question& question,
                const store::AggregateRequest& request) {
    const double start_s = now_s();
    const auto cells = asker_.ask_for_top(rows, question.query, request);
    const double took_ms = (now_s() - start_s) * 1e3;
    keep_failure(cells);
    return took_ms;
  }

  double ask_ms(const std::string& sql) {
    const double start_s = now_s();
    const auto answer = stores_.connections->query(sql + " FORMAT CSV");
    const double took_ms = (now_s() - start_s) * 1e3;
    keep_failure(answer);
    return took_ms;
  }

  // The better of two runs of each decides.
  std::string fastest(const std::vector<HandWritten>& statements) {
    std::string best;
    double best_ms = 0;
    for (const HandWritten& statement : statements) {
      const double first_ms = ask_ms(statement.timed);
      const double took_ms = std::min(first_ms, ask_ms(statement.timed));
      if (best.empty() || took_ms < best_ms) {
        best = statement.timed;
        best_ms = took_ms;
      }
    }
    return best;
  }

  // All cells; with machine groups the largest ones.
  Result<std::string> answer(const store::RowSource& rows, const Question& question,
                             const store::AggregateRequest& request) const {
    const bool is_whole = question.machine_groups == 1;
    const auto cells = is_whole ? asker_.ask(rows, question.query, request)
                                : asker_.ask_for_top(rows, question.query, request);
    if (!cells) {
      return propagate(cells);
    }
    return is_whole ? answer_text(question.query, *cells) : text_by_machine_group(question.query, *cells);
  }

  Status check_answers(const Question& question, const store::AggregateRequest& request,
                       const std::vector<HandWritten>& statements) const {
    const auto expected = answer(stores_.local, question, request);
    const auto ours = expected ? answer(clickhouse_, question, request) : propagate(expected);
    if (!ours) {
      return propagate(ours);
    }
    if (*ours != *expected) {
      return fail(ErrorCode::kCorrupt, "{}: ClickHouse and the local store answer differently",
                  question.name());
    }
    for (const HandWritten& statement : statements) {
      const auto theirs = stores_.connections->query(statement.checked + " FORMAT CSV");
      if (!theirs) {
        return propagate(theirs);
      }
      if (*theirs != *expected) {
        return fail(ErrorCode::kCorrupt, "{}: hand-written SQL answers differently: {}", question.name(),
                    statement.checked);
      }
    }
    return {};
  }

  const BothStores& stores_;
  const store::clickhouse::ClickHouseRows clickhouse_;
  const Asker asker_;
  Status status_;
};

void add_inserts(const Loaded& loaded, Report& report) {
  const auto rows = static_cast<double>(loaded.rows);
  report.add({.name = "clickhouse_insert_rows",
              .value = rows / loaded.sink_s,
              .unit = "rows/s",
              .better = Better::kHigher,
              .peer = "INSERT by hand",
              .peer_value = rows / loaded.by_hand_s,
              .goal = kGoalRowsPerS,
              .note = fmt::format("{} rows in batches after the first", loaded.rows)});
}

Status add_size(const BothStores& stores, Report& report) {
  const auto answer = stores.connections->query(
      fmt::format("SELECT sum(bytes_on_disk) / sum(rows) FROM system.parts WHERE database = '{}' AND table = "
                  "'rows' AND active FORMAT RowBinary",
                  stores.connections->options().database));
  if (!answer) {
    return propagate(answer);
  }
  ByteReader reader(as_bytes(*answer));
  const auto bytes_per_row = reader.read<double>();
  if (!reader.ok()) {
    return fail(ErrorCode::kCorrupt, "reading the size of the table rows: the answer is empty");
  }
  report.add(
      {.name = "clickhouse_bytes_per_row",
       .value = bytes_per_row,
       .unit = "bytes",
       .peer = "local segments",
       .peer_value = static_cast<double>(stores.segments.bytes) / static_cast<double>(stores.segments.rows),
       .goal = kGoalBytesPerRow,
       .note = fmt::format("{} rows", stores.segments.rows)});
  return {};
}

void add_times(const Question& question, const Times& times, size_t statements, Report& report) {
  report.add({.name = "clickhouse_" + question.name(),
              .value = times.clickhouse_ms,
              .unit = "ms",
              .peer = "hand-written SQL",
              .peer_value = times.by_hand_ms,
              .goal_ratio = kGoalRatio,
              .note = fmt::format("the fastest of {} statements", statements)});
  report.add({.name = "local_" + question.name(),
              .value = times.local_ms,
              .unit = "ms",
              .peer = "our store in ClickHouse",
              .peer_value = times.clickhouse_ms});
}

}  // namespace

Status measure_clickhouse(const Flags& flags, Report& report) {
  const StackTree tree = generate_stacks(kJobs, kStacksOfJob);
  const auto stores = fill_both(tree, origins_in_all(flags));
  if (!stores) {
    return propagate(stores);
  }
  add_inserts(stores->loaded, report);
  if (const Status added = add_size(*stores, report); !added) {
    return added;
  }
  const store::clickhouse::ConnectionOptions options = stores->server.options();
  store::clickhouse::Connection connection(options);
  if (const Status prepared = prepare_hand_written(connection, tree, stores->epoch); !prepared) {
    return prepared;
  }
  QuestionTimer timer(*stores, tree, origins_in_all(flags));
  for (const Question& question : questions()) {
    const std::vector<HandWritten> statements = question.machine_groups == 1
                                                    ? hand_written(question.query, options.database)
                                                    : hand_written_by_machine_group(question.query);
    const auto times = timer.time(question, statements);
    if (!times) {
      return propagate(times);
    }
    add_times(question, *times, statements.size(), report);
  }
  return {};
}

Status measure_clickhouse_crossover(const Flags& flags, Report& report) {
  const StackTree tree = generate_stacks(kJobs, kStacksOfJob);
  const uint32_t origins = origins_in_all(flags) / kCrossover;
  const auto stores = fill_both(tree, origins);
  if (!stores) {
    return propagate(stores);
  }
  QuestionTimer timer(*stores, tree, origins);
  for (const Question& question : questions()) {
    const auto times = timer.time(question, {});
    if (!times) {
      return propagate(times);
    }
    report.add({.name = "clickhouse_crossover_" + question.name(),
                .value = times->clickhouse_ms,
                .unit = "ms",
                .peer = "the local store",
                .peer_value = times->local_ms,
                .note = fmt::format("{} rows", stores->segments.rows)});
  }
  return {};
}

}  // namespace plimsoll::bench
