#include "bench/store/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>

#include "base/file.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/store/clock.h"
#include "bench/store/dataset.h"
#include "bench/store/peer.h"
#include "store/aggregation/local_rows.h"

namespace plimsoll::bench {
namespace {

constexpr std::array<const char*, 3> kOrders{"by_time", "by_event", "by_job"};
constexpr uint32_t kMachineGroups = 64;
constexpr double kGoalGroups = 0.5;    // times as fast with machine groups as without
constexpr double kGoalSize = 1 / 0.8;  // times as small as the smallest
constexpr uint64_t kMaxAnswerBytes = uint64_t{1} << 30U;

double process_cpu_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

void write_stacks(const StackTree& tree, const ScratchFolder& folder) {
  std::ofstream leaf(folder / "leaf.csv");
  std::ofstream functions(folder / "functions.csv");
  for (uint32_t stack = tree.first_stack; stack < tree.nodes.size(); ++stack) {
    leaf << fmt::format("{},{}\n", stack, tree.leaf_function(stack));
    for (const uint32_t function : tree.distinct_functions(stack)) {
      functions << fmt::format("{},{}\n", stack, function);
    }
  }
}

// One way to ask a peer.
struct Way {
  Peer* peer = nullptr;
  std::string order;
  std::string sql;
  int sum_column = 0;
};

int key_columns(const Query& query) {
  return query.grouping == Grouping::kJobAndMachine ? 2 : 1;
}

// Times contenders; the first failure of one is kept, and then there are no figures.
class Comparison {
 public:
  Comparison(const Subject& subject, const Flags& flags, Report& report, std::vector<Peer>& peers,
             const store::LocalRows& rows, const ScratchFolder& folder)
      : subject_(subject),
        report_(report),
        peers_(peers),
        rows_(rows),
        folder_(folder),
        asker_(*subject.tree, subject.origins, subject.events),
        rounds_(flags.quick ? 3 : 9) {}

  Status compare(const Query& query) {
    if (const Status checked = check_answers(query); !checked) {
      return checked;
    }
    const store::AggregateRequest plain = asker_.request(query, {});
    const store::AggregateRequest weighted = asker_.request(query, {.has_factors = true});
    const store::AggregateRequest in_groups = asker_.request(
        query, {.has_factors = true, .machine_groups = has_machine_groups(query) ? kMachineGroups : 1});
    double cpu_ms = 0;
    std::vector<std::function<double()>> contenders{
        [&] { return ask_us(query, plain, &cpu_ms); },
        [&] { return ask_us(query, weighted, nullptr); },
        [&] { return ask_us(query, in_groups, nullptr); },
    };
    std::vector<Way> ways;
    for (Peer& peer : peers_) {
      ways.push_back(fastest_way(peer, query));
    }
    for (const Way& way : ways) {
      contenders.emplace_back([this, &way] { return ask(way); });
    }
    const std::vector<double> took_ms = interleaved_medians(rounds_, contenders);
    if (!status_) {
      return status_;
    }
    add(query, took_ms, ways, cpu_ms / rounds_);
    return {};
  }

 private:
  template <typename T>
  void keep_failure(const Result<T>& result) {
    if (!result && status_) {
      status_ = propagate(result);
    }
  }

  double ask_us(const Query& query, const store::AggregateRequest& request, double* cpu_ms) {
    const double start_s = now_s();
    const double start_cpu_ms = process_cpu_ms();
    const auto cells = asker_.ask_for_top(rows_, query, request);
    if (cells) {
      keep(cells->size());
    }
    if (cpu_ms != nullptr) {
      *cpu_ms += process_cpu_ms() - start_cpu_ms;
    }
    const double took_ms = (now_s() - start_s) * 1e3;
    keep_failure(cells);
    return took_ms;
  }

  double ask(const Way& way) {
    const auto took_ms = way.peer->ask_number(fmt::format(
        "time {} order by {} desc limit 20", fmt::format(fmt::runtime(way.sql), way.order), way.sum_column));
    keep_failure(took_ms);
    return took_ms.value_or(0);
  }

  // The better of two runs of each decides.
  Way fastest_way(Peer& peer, const Query& query) {
    Way fastest;
    double fastest_ms = 0;
    for (const std::string& sql : query.sql) {
      for (const std::string order : kOrders) {
        const Way way{&peer, order, sql, key_columns(query) + 1};
        const double first_ms = ask(way);
        const double took_ms = std::min(first_ms, ask(way));
        if (fastest.peer == nullptr || took_ms < fastest_ms) {
          fastest = way;
          fastest_ms = took_ms;
        }
      }
    }
    return fastest;
  }

  // With factors of 1 all must say the same.
  Status check_answers(const Query& query) {
    const auto cells = asker_.ask(rows_, query, asker_.request(query, {}));
    if (!cells) {
      return propagate(cells);
    }
    const std::string ours = answer_text(query, *cells);
    const std::string by = key_columns(query) == 2 ? "1, 2" : "1";
    for (Peer& peer : peers_) {
      for (const std::string& sql : query.sql) {
        const std::string path = folder_ / "answer.csv";
        const auto answered = peer.ask(fmt::format("answer {} {} order by {}", path,
                                                   fmt::format(fmt::runtime(sql), kOrders.front()), by));
        const auto theirs = answered ? read_file(path, kMaxAnswerBytes) : propagate(answered);
        if (!theirs) {
          return propagate(theirs);
        }
        if (*theirs != ours) {
          return fail(ErrorCode::kCorrupt, "{} answers {} otherwise: {}", peer.name(), query.name, sql);
        }
      }
    }
    return {};
  }

  // A machine by itself has no margin that groups of machines could tell, and millions of cells times 64 are refused.
  static bool has_machine_groups(const Query& query) { return query.grouping != Grouping::kJobAndMachine; }

  static bool is_selective(const Query& query) { return !query.filter[store::Column::kEvent].is_all(); }

  // Of the columns that the query reads, as they are stored.
  uint64_t stored_bytes(const Query& query) const {
    uint64_t bytes = 0;
    for (const auto& segment : rows_.segments()) {
      for (size_t chunk = 0; chunk < segment->chunks(); ++chunk) {
        bytes += reads_stacks(query) ? segment->chunk_bytes(chunk) : segment->group_bytes(chunk);
      }
    }
    return bytes;
  }

  std::optional<double> goal(const Query& query) const {
    return subject_.goal == nullptr ? std::nullopt : std::optional(query.*subject_.goal);
  }

  void add(const Query& query, const std::vector<double>& took_ms, const std::vector<Way>& ways,
           double cpu_ms) {
    const auto rows = static_cast<double>(rows_.rows());
    const std::span peers_ms = std::span(took_ms).subspan(3);
    const auto best = static_cast<size_t>(std::ranges::min_element(peers_ms) - peers_ms.begin());
    std::string note =
        fmt::format("{:.0f} million rows/s, {:.0f} a core", rows / took_ms[0] / 1e3, rows / cpu_ms / 1e3);
    if (!is_selective(query)) {
      note += fmt::format(", {:.2f} GB/s", static_cast<double>(stored_bytes(query)) / took_ms[0] / 1e6);
    }
    for (size_t i = 0; i < ways.size(); ++i) {
      note += fmt::format("; {} {:.1f} ms {}", ways[i].peer->name(), peers_ms[i], ways[i].order);
    }
    report_.add({.name = query.name + subject_.name,
                 .value = took_ms[0],
                 .unit = "ms",
                 .peer = ways[best].peer->name(),
                 .peer_value = peers_ms[best],
                 .goal_ratio = goal(query),
                 .note = note});
    report_.add({.name = query.name + "_weighted" + subject_.name,
                 .value = took_ms[1],
                 .unit = "ms",
                 .peer = ways[best].peer->name() + ", unweighted",
                 .peer_value = peers_ms[best],
                 .goal_ratio = goal(query),
                 .note = "each origin and event has a factor of its own"});
    if (!has_machine_groups(query)) {
      return;
    }
    report_.add({.name = query.name + "_groups" + subject_.name,
                 .value = took_ms[2],
                 .unit = "ms",
                 .peer = "without machine groups",
                 .peer_value = took_ms[1],
                 .goal_ratio = subject_.goal == nullptr ? std::nullopt : std::optional(kGoalGroups),
                 .note = fmt::format("{} machine groups, weighted", kMachineGroups)});
  }

  const Subject& subject_;
  Report& report_;
  std::vector<Peer>& peers_;
  const store::LocalRows& rows_;
  const ScratchFolder& folder_;
  Asker asker_;
  int rounds_;
  Status status_;
};

// Bytes a row of ours, beside the smallest that a peer takes in any order.
Status compare_sizes(const Subject& subject, const Segments& segments, std::vector<Peer>& peers,
                     Report& report) {
  const auto rows = static_cast<double>(segments.rows);
  std::string smallest;
  double smallest_bytes = 0;
  std::string note;
  const auto look_at = [&](const std::string& who, double bytes) {
    note += fmt::format("{}{} {:.2f}", note.empty() ? "" : ", ", who, bytes);
    if (smallest.empty() || bytes < smallest_bytes) {
      smallest = who;
      smallest_bytes = bytes;
    }
  };
  struct Stored {
    std::string what;
    Peer& peer;
    std::string command;
  };
  Peer& duckdb = peers.front();
  for (const Stored& stored : {Stored{duckdb.name(), duckdb, "bytes"}, Stored{"Parquet", duckdb, "parquet"},
                               Stored{peers.back().name(), peers.back(), "bytes"}}) {
    for (const std::string order : kOrders) {
      const auto bytes = stored.peer.ask_number(stored.command + " " + order);
      if (!bytes) {
        return propagate(bytes);
      }
      look_at(stored.what + " " + order, *bytes);
    }
  }
  if (subject.min_bits) {
    note += fmt::format("; the least possible is {:.2f}", subject.min_bits() / 8 / rows);
  }
  report.add({.name = "bytes_per_row" + subject.name,
              .value = static_cast<double>(segments.bytes) / rows,
              .unit = "bytes",
              .peer = smallest,
              .peer_value = smallest_bytes,
              .goal_ratio = subject.goal == nullptr ? std::nullopt : std::optional(kGoalSize),
              .note = fmt::format("{} rows; {}", segments.rows, note)});
  return {};
}

Result<std::vector<Peer>> start_peers(const ScratchFolder& folder, unsigned hits_bits) {
  std::vector<Peer> peers;
  for (const std::string name : {"duckdb", "clickhouse"}) {
    auto peer = Peer::start(name, folder / "");
    const auto loaded = peer ? peer->ask(fmt::format("load {}", hits_bits)) : propagate(peer);
    if (!loaded) {
      return propagate(loaded);
    }
    peers.push_back(std::move(*peer));
  }
  return peers;
}

}  // namespace

Status compare_with_peers(const Subject& subject, const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  const auto segments =
      folder ? write_rows(subject.generate, subject.origins, *folder / "", *folder / "rows.csv")
             : propagate(folder);
  if (!segments) {
    return propagate(segments);
  }
  write_stacks(*subject.tree, *folder);
  auto peers = start_peers(*folder, subject.hits_bits);
  const auto rows = peers ? store::LocalRows::open(segments->paths) : propagate(peers);
  if (!rows) {
    return propagate(rows);
  }
  if (const Status compared = compare_sizes(subject, *segments, *peers, report); !compared) {
    return compared;
  }
  Comparison comparison(subject, flags, report, *peers, *rows, *folder);
  for (const Query& query : timed_queries()) {
    if (const Status compared = comparison.compare(query); !compared) {
      return compared;
    }
  }
  return {};
}

}  // namespace plimsoll::bench
