#include <fmt/format.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/store/clock.h"
#include "bench/store/dataset.h"
#include "bench/store/parts.h"
#include "bench/store/queries.h"
#include "store/aggregation/local_rows.h"

namespace plimsoll::bench {
namespace {

constexpr double kRowsOfProfile = 154;
constexpr double kGoalCost = 0.8;  // of a tenth of the rows, over the cost of a row
constexpr double kMebibyte = 1 << 20;
// What LocalRows::aggregate states: for each thread a decoded block and sums; and the answer, of cells of 28 bytes.
constexpr double kThreadMib = 3 + 128;
constexpr double kCellMib = 28 / kMebibyte;

// Memory of this process that is not of mapped files.
double anonymous_mib() {
  const std::string status = read_file("/proc/self/status", 1 << 16).value_or(std::string());
  const size_t at = status.find("RssAnon:");
  const size_t digits = at == std::string::npos ? at : status.find_first_of("0123456789", at);
  uint64_t kibibytes = 0;
  if (digits != std::string::npos) {
    std::from_chars(status.data() + digits, status.data() + status.size(), kibibytes);
  }
  return static_cast<double>(kibibytes) / 1024;
}

// The most that was resident at once above what was at the start, looked at each millisecond.
class PeakMemory {
 public:
  PeakMemory() : start_mib_((::malloc_trim(0), anonymous_mib())), thread_([this] { watch(); }) {}
  ~PeakMemory() {
    if (thread_.joinable()) {
      stop();
    }
  }
  PeakMemory(const PeakMemory&) = delete;
  PeakMemory& operator=(const PeakMemory&) = delete;

  double stop() {
    is_over_ = true;
    thread_.join();
    return peak_mib_ - start_mib_;
  }

 private:
  void watch() {
    while (!is_over_) {
      peak_mib_ = std::max(peak_mib_, anonymous_mib());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  double start_mib_;
  double peak_mib_ = start_mib_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

struct Cost {
  double ns_per_row = 0;
  double peak_mib = 0;
  size_t cells = 0;
};

Result<Cost> measure(const store::LocalRows& rows, const store::AggregateRequest& request) {
  PeakMemory memory;
  std::vector<double> took_s;
  Cost cost;
  for (int round = 0; round <= kRounds; ++round) {
    const double start_s = now_s();
    const auto cells = rows.aggregate(request);
    if (!cells) {
      return propagate(cells);
    }
    cost.cells = cells->size();
    if (round > 0) {
      took_s.push_back(now_s() - start_s);
    }
  }
  cost.peak_mib = memory.stop();
  cost.ns_per_row = median(took_s) * 1e9 / static_cast<double>(rows.rows());
  return cost;
}

std::string name_of_size(uint64_t rows) {
  return rows >= 1'000'000 ? fmt::format("{}m", rows / 1'000'000) : fmt::format("{}k", rows / 1000);
}

struct Measured {
  uint64_t rows = 0;
  std::vector<Cost> costs;  // by query
};

Result<Measured> measure_size(uint64_t rows_wanted, const std::vector<Query>& queries,
                              const StackTree& tree) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  ProfileRows generator(tree.first_stack);
  const auto origins = static_cast<uint32_t>(static_cast<double>(rows_wanted) / kRowsOfProfile);
  const auto segments =
      write_rows([&](uint32_t origin, std::vector<store::Row>& rows) { generator.append(origin, rows); },
                 origins, *folder / "");
  const auto rows = segments ? store::LocalRows::open(segments->paths) : propagate(segments);
  if (!rows) {
    return propagate(rows);
  }
  const Asker asker(tree, origins, kEvents);
  Measured measured{.rows = rows->rows(), .costs = {}};
  for (const Query& query : queries) {
    const auto cost = measure(*rows, asker.request(query, {.has_factors = true}));
    if (!cost) {
      return propagate(cost);
    }
    measured.costs.push_back(*cost);
  }
  return measured;
}

void add(const std::string& name, uint64_t rows, uint64_t rows_wanted, const Cost& cost, const Cost* smaller,
         Report& report) {
  const double bound_mib =
      kThreadMib * std::thread::hardware_concurrency() + kCellMib * static_cast<double>(cost.cells);
  report.add({.name = fmt::format("growth_{}_{}", name, name_of_size(rows_wanted)),
              .value = cost.ns_per_row,
              .unit = "ns/row",
              .peer = smaller == nullptr ? "" : "a tenth of the rows",
              .peer_value = smaller == nullptr ? 0 : smaller->ns_per_row,
              .goal_ratio = smaller == nullptr ? std::nullopt : std::optional(kGoalCost),
              .note = fmt::format("{} rows", rows)});
  report.add({.name = fmt::format("growth_{}_{}_memory", name, name_of_size(rows_wanted)),
              .value = cost.peak_mib,
              .unit = "MiB",
              .goal = bound_mib,
              .note = fmt::format("the most above what was there before; {} cells", cost.cells)});
}

}  // namespace

Status measure_growth(const Flags& flags, Report& report) {
  std::vector<uint64_t> sizes{1'000'000, 10'000'000, 100'000'000};
  if (flags.quick) {
    sizes = {100'000, 1'000'000};
  }
  if (flags.full) {
    sizes.push_back(500'000'000);
  }
  const StackTree tree = generate_stacks(kJobs, kStacksOfJob);
  std::vector<Query> queries = timed_queries();
  std::erase_if(queries, [](const Query& query) {
    return query.name != "group_job" && query.name != "group_stack" && query.name != "group_job_machine";
  });
  std::vector<Cost> smaller;
  for (const uint64_t size : sizes) {
    const auto measured = measure_size(size, queries, tree);
    if (!measured) {
      return propagate(measured);
    }
    for (size_t i = 0; i < queries.size(); ++i) {
      add(queries[i].name, measured->rows, size, measured->costs[i], smaller.empty() ? nullptr : &smaller[i],
          report);
    }
    smaller = measured->costs;
  }
  return {};
}

}  // namespace plimsoll::bench
