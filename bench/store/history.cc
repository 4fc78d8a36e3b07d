#include <fmt/format.h>
#include <malloc.h>

#include <charconv>
#include <filesystem>

#include "base/file.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"
#include "bench/store/clock.h"
#include "bench/store/generator.h"
#include "bench/store/parts.h"
#include "bench/store/raw_profiles.h"
#include "query/selection/sides.h"
#include "query/snapshot/snapshot.h"
#include "query/views/top.h"
#include "server/server.h"
#include "store/directory/disk_usage.h"
#include "store/frames/binding_writer.h"
#include "store/model/bindings.h"
#include "store/rollup/roll_up.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kDaysOfHistory = 30;
constexpr uint32_t kHoursOfHistory = kDaysOfHistory * 24;
// A machine that is drawn for an hour sends its time in so many windows.
constexpr uint32_t kWindowsOfDraw = 7;
constexpr uint32_t kSamplesOfWindow = 50;
constexpr int64_t kWindowOfHistoryNs = 10'000'000'000;
constexpr int64_t kHourOfHistoryNs = 3'600'000'000'000;
// A whole hour, of 2026: the end.
constexpr int64_t kEndNs = 497'222 * kHourOfHistoryNs;
constexpr int64_t kBeginNs = kEndNs - kHoursOfHistory * kHourOfHistoryNs;

constexpr double kGoalReadyS = 2;
constexpr double kGoalReadyMib = 300;
constexpr double kGoalTopS = 1;

// Memory of this process that is not of mapped files, without what it could give back.
double own_mib() {
  ::malloc_trim(0);
  const std::string status = read_file("/proc/self/status", 1 << 16).value_or(std::string());
  const size_t at = status.find("RssAnon:");
  const size_t digits = at == std::string::npos ? at : status.find_first_of("0123456789", at);
  uint64_t kibibytes = 0;
  if (digits != std::string::npos) {
    std::from_chars(status.data() + digits, status.data() + status.size(), kibibytes);
  }
  return static_cast<double>(kibibytes) / 1024;
}

// Thirty days of 5,000 machines, some of which are drawn each hour, a block for each day. All but the newest block are rolled up.
class History {
 public:
  explicit History(std::string data_dir) : data_dir_(std::move(data_dir)) {}

  Status make(uint32_t profiles) {
    auto ingest = store::Ingest::open(data_dir_, {.now_ns = [this] { return now_ns_; }});
    if (!ingest) {
      return propagate(ingest);
    }
    const uint32_t drawn = std::max<uint32_t>(1, profiles / kHoursOfHistory / kWindowsOfDraw);
    for (uint32_t hour = 0; hour < kHoursOfHistory; ++hour) {
      Status added;
      for (uint32_t i = 0; i < drawn && added; ++i) {
        added = add_draw(**ingest, hour, (hour * drawn + i) % kMachines, drawn);
      }
      now_ns_ = kBeginNs + (hour + 1) * kHourOfHistoryNs;
      added = added ? build(**ingest) : added;
      added = added && hour % 24 == 23 ? bind_new((*ingest)->blocks()->back(), **ingest) : added;
      if (!added) {
        return added;
      }
    }
    return {};
  }

  // Of blocks, before and after.
  struct Sizes {
    int64_t full_bytes = 0;
    int64_t bytes = 0;
    double took_s = 0;
  };
  Result<Sizes> roll_up() {
    auto ingest = store::Ingest::open(data_dir_, {.now_ns = [this] { return now_ns_; }});
    if (!ingest) {
      return propagate(ingest);
    }
    Sizes sizes;
    const double start_s = now_s();
    store::RollUp rolled(**ingest, {.keep_replaced = std::chrono::seconds(0)});
    while (true) {
      const auto report = rolled.run_once_before(INT64_MAX);
      if (!report) {
        return propagate(report);
      }
      if (report->block == 0) {
        break;
      }
      sizes.full_bytes += report->bytes_before;
      sizes.bytes += report->bytes;
    }
    sizes.took_s = now_s() - start_s;
    return sizes;
  }

  uint64_t profiles() const { return sent_; }

 private:
  Status add_draw(store::Ingest& ingest, uint32_t hour, uint32_t machine, uint32_t drawn) {
    for (uint32_t window = 0; window < kWindowsOfDraw; ++window) {
      wire::RawProfile profile = profiles_.generate(machine, window, kSamplesOfWindow);
      profile.set_profile_id(fmt::format("{:016x}", ++sent_));
      const int64_t from_ns =
          kBeginNs + hour * kHourOfHistoryNs + (machine % 60) * kWindowOfHistoryNs + window * 400'000'000'000;
      wire::Window& of = *profile.mutable_window();
      of.mutable_start()->set_wall_ns(from_ns);
      of.mutable_end()->set_wall_ns(from_ns + kWindowOfHistoryNs);
      of.mutable_end()->set_monotonic_ns(of.start().monotonic_ns() + kWindowOfHistoryNs);
      wire::Draw& draw = *profile.mutable_assignment()->mutable_draw();
      draw.set_id(fmt::format("hour{}", hour));
      draw.set_inclusion_probability(static_cast<double>(drawn) / kMachines);
      draw.set_interval_ns(kHourOfHistoryNs);
      const auto accepted = ingest.accept(as_bytes(wire::encode(profile)), {});
      if (!accepted) {
        return propagate(accepted);
      }
    }
    return {};
  }

  static Status build(store::Ingest& ingest) {
    while (true) {
      const auto built = ingest.build_pending();
      if (!built || built->profiles == 0) {
        return built ? Status() : propagate(built);
      }
    }
  }

  static Status bind_new(const store::BlockFolder& block, store::Ingest& ingest) {
    return ingest.write_catalogue(block, [](sqlite::Database& catalogue) -> Status {
      std::vector<store::Binding> bindings;
      const Status listed = sqlite::for_each_row(
          catalogue.query("SELECT id, address FROM location WHERE id NOT IN (SELECT location FROM binding)"),
          [&](const sqlite::Statement& row) {
            bindings.push_back({static_cast<uint32_t>(row.integer(0)),
                                {{.function = fmt::format("function_{}", row.integer(1) / 64 % 5000)}}});
          });
      return listed ? store::BindingWriter(catalogue).bind(bindings, 1) : listed;
    });
  }

  std::string data_dir_;
  int64_t now_ns_ = kBeginNs;
  StackTree tree_ = generate_stacks(kJobs, kStacksOfJob);
  RawProfiles profiles_{tree_};
  uint64_t sent_ = 0;
};

Status measure_ready(const std::string& data_dir, const std::string& name, uint64_t profiles,
                     Report& report) {
  config::ServerConfig config;
  config.data_dir = data_dir;
  config.listen = config.fleet_listen = "127.0.0.1:0";
  config.retention_max_upload_age_ns = config.retention_rows_max_age_ns = INT64_MAX / 2;
  config.retention_full_max_age_ns = 0;
  const double before_mib = own_mib();
  const double start_s = now_s();
  const auto server =
      server::Server::start(config, {{sibling_program("plimsoll"), "symtab", "worker", "--zygote"}, true});
  if (!server) {
    return propagate(server);
  }
  const double ready_s = now_s() - start_s;
  report.add(
      {.name = name + "_ready",
       .value = ready_s,
       .unit = "s",
       .goal = kGoalReadyS,
       .note = fmt::format("until a server answers; {} profiles of {} days", profiles, kDaysOfHistory)});
  report.add({.name = name + "_ready_memory",
              .value = own_mib() - before_mib,
              .unit = "MiB",
              .goal = kGoalReadyMib,
              .note = "before the first question"});
  return {};
}

Status measure_top(const std::string& data_dir, const std::string& name, std::optional<double> goal,
                   Report& report) {
  const query::Parameters parameters{{"limit", "20"}, {"event", "cycles"}};
  const auto request = query::parse_top(parameters, kEndNs);
  query::SnapshotCache cache(data_dir);
  for (const char* which : {"first", "again"}) {
    const double before_mib = own_mib();
    const double start_s = now_s();
    const auto snapshot = cache.newest(query::times_of(parameters, kEndNs));
    const double loaded_s = now_s();
    const auto table = snapshot && request ? query::top(*request, **snapshot) : propagate(snapshot);
    if (!table) {
      return propagate(table);
    }
    const double end_s = now_s();
    report.add(
        {.name = fmt::format("{}_top_{}", name, which),
         .value = end_s - start_s,
         .unit = "s",
         .goal = goal,
         .note = fmt::format("by function, with margins; {:.2f} s of it loading {} origins, {:.0f} MiB",
                             loaded_s - start_s, (*snapshot)->dictionaries.origins.size() - 1,
                             own_mib() - before_mib)});
  }
  return {};
}

}  // namespace

Status measure_history(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  if (!folder) {
    return propagate(folder);
  }
  const std::string data_dir = *folder / "data";
  const uint32_t profiles = flags.quick ? 20'000 : flags.full ? 1'000'000 : 200'000;
  History history(data_dir);
  Status done = history.make(profiles);
  done = done ? measure_top(data_dir, "history_full", std::nullopt, report) : done;
  const auto sizes = done ? history.roll_up() : propagate(done);
  if (!sizes) {
    return propagate(sizes);
  }
  report.add({.name = "history_rolled_up_size",
              .value = static_cast<double>(sizes->bytes) / static_cast<double>(sizes->full_bytes),
              .unit = "of full",
              .note = fmt::format("{:.0f} MiB became {:.0f} MiB in {:.1f} s",
                                  static_cast<double>(sizes->full_bytes) / (1 << 20),
                                  static_cast<double>(sizes->bytes) / (1 << 20), sizes->took_s)});
  done = measure_ready(data_dir, "history", history.profiles(), report);
  return done ? measure_top(data_dir, "history", kGoalTopS, report) : done;
}

}  // namespace plimsoll::bench
