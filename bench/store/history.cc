#include <fmt/format.h>
#include <malloc.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "bench/harness/child.h"
#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/store/clock.h"
#include "bench/store/generator.h"
#include "bench/store/parts.h"
#include "bench/store/raw_profiles.h"
#include "query/selection/sides.h"
#include "query/snapshot/snapshot.h"
#include "query/views/flame.h"
#include "query/views/top.h"
#include "server/server.h"
#include "store/directory/disk_usage.h"
#include "store/frames/binding_writer.h"
#include "store/merging/block_merger.h"
#include "store/model/bindings.h"
#include "store/packed/block_packs.h"
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

// Of this process, by its name in /proc/self/status.
double status_mib(std::string_view name) {
  const std::string status = read_file("/proc/self/status", 1 << 16).value_or(std::string());
  const size_t at = status.find(name);
  const size_t digits = at == std::string::npos ? at : status.find_first_of("0123456789", at);
  uint64_t kibibytes = 0;
  if (digits != std::string::npos) {
    std::from_chars(status.data() + digits, status.data() + status.size(), kibibytes);
  }
  return static_cast<double>(kibibytes) / 1024;
}

// Memory of this process that is not of mapped files, without what it could give back.
double own_mib() {
  ::malloc_trim(0);
  return status_mib("RssAnon:");
}

// The most that is resident from here on, until peak_mib() says it.
void reset_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";
}
double peak_mib() {
  return status_mib("VmHWM:");
}

// Thirty days of 5,000 machines, some of which are drawn each hour, a block for each day. All but the newest block are rolled up, and merged.
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

Status measure_ready(const std::string& data_dir, Report& report) {
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
  report.add({.name = "history_ready",
              .value = ready_s,
              .unit = "s",
              .goal = kGoalReadyS,
              .note = "until a server answers"});
  report.add({.name = "history_ready_memory",
              .value = own_mib() - before_mib,
              .unit = "MiB",
              .goal = kGoalReadyMib,
              .note = "before the first question"});
  return {};
}

// As the server does in time. Reports what it came to, if there was anything to merge.
Status merge_blocks(const std::string& data_dir, Report& report) {
  const auto ingest = store::Ingest::open(data_dir);
  if (!ingest) {
    return propagate(ingest);
  }
  const auto blocks_before = (*ingest)->blocks();
  const auto bytes_before = store::allocated_bytes(data_dir + "/blocks");
  if (!blocks_before || !bytes_before) {
    return !blocks_before ? propagate(blocks_before) : propagate(bytes_before);
  }
  const double start_s = now_s();
  int64_t merges = 0;
  {
    store::BlockMerger merger(**ingest, {.keep_replaced = std::chrono::seconds(0)});
    while (true) {
      const auto merged = merger.run_once();
      if (!merged) {
        return propagate(merged);
      }
      if (merged->blocks == 0) {
        break;
      }
      ++merges;
    }
  }
  const double took_s = now_s() - start_s;
  const auto blocks = (*ingest)->blocks();
  const auto bytes = store::allocated_bytes(data_dir + "/blocks");
  if (merges == 0 || !blocks || !bytes) {
    return !blocks ? propagate(blocks) : !bytes ? propagate(bytes) : Status();
  }
  report.add({.name = "history_merged_size",
              .value = static_cast<double>(*bytes) / static_cast<double>(*bytes_before),
              .unit = "of rolled up",
              .note = fmt::format("{} blocks of {:.0f} MiB became {} of {:.0f} MiB by {} merges in {:.1f} s",
                                  blocks_before->size(), static_cast<double>(*bytes_before) / (1 << 20),
                                  blocks->size(), static_cast<double>(*bytes) / (1 << 20), merges, took_s)});
  return {};
}

// As the server does in time.
Status pack(const std::string& data_dir) {
  store::BlockPacker packer;
  while (true) {
    const auto blocks = store::list_blocks(data_dir + "/blocks");
    const auto packed = blocks ? packer.run_once(*blocks) : propagate(blocks);
    if (!packed || *packed == 0) {
      return packed ? Status() : propagate(packed);
    }
  }
}

// About all of the times.
struct HistoryQuestion {
  std::string_view name;
  std::string_view what;
  std::function<Status(const query::Snapshot&)> ask;
};

std::vector<HistoryQuestion> history_questions() {
  const auto top_by = [](const std::string& by) {
    return [by](const query::Snapshot& snapshot) -> Status {
      const auto request = query::parse_top({{"limit", "20"}, {"event", "cycles"}, {"by", by}}, kEndNs);
      const auto table = request ? query::top(*request, snapshot) : propagate(request);
      return table ? Status() : propagate(table);
    };
  };
  const auto flame = [](const query::Snapshot& snapshot) -> Status {
    const auto request = query::parse_flame({{"limit", "2000"}, {"event", "cycles"}}, kEndNs);
    const auto tree = request ? query::flame(*request, snapshot) : propagate(request);
    return tree ? Status() : propagate(tree);
  };
  return {{"top", "by function, with margins", top_by("function")},
          {"jobs", "by job, with margins", top_by("job")},
          {"flame", "2,000 nodes, with margins", flame}};
}

// Each with nothing in memory first, then once more.
Status measure_question(const std::string& data_dir, const std::string& name, std::optional<double> goal,
                        int rounds, const HistoryQuestion& question, Report& report) {
  struct Times {
    std::vector<double> first_s, loading_s, again_s;
    double peak_mib = 0;
    double kept_mib = 0;
    size_t origins = 0;
  } times;
  for (int round = 0; round < rounds; ++round) {
    const double before_mib = own_mib();
    const double rss_before_mib = status_mib("VmRSS:");
    reset_peak();
    query::SnapshotCache cache(data_dir);
    for (const bool is_first : {true, false}) {
      const double start_s = now_s();
      const auto snapshot = cache.newest(query::times_of({}, kEndNs));
      const double loaded_s = now_s();
      const Status asked = snapshot ? question.ask(**snapshot) : propagate(snapshot);
      if (!asked) {
        return asked;
      }
      (is_first ? times.first_s : times.again_s).push_back(now_s() - start_s);
      if (is_first) {
        times.loading_s.push_back(loaded_s - start_s);
        times.peak_mib = std::max(times.peak_mib, peak_mib() - rss_before_mib);
        times.kept_mib = std::max(times.kept_mib, own_mib() - before_mib);
        times.origins = (*snapshot)->dictionaries.origins.size() - 1;
      }
    }
  }
  report.add({.name = fmt::format("{}_{}_first", name, question.name),
              .value = median(times.first_s),
              .unit = "s",
              .goal = goal,
              .note = fmt::format(
                  "{}; {:.2f} s of it loading {} origins; {:.0f} MiB at most, {:.0f} MiB kept", question.what,
                  median(times.loading_s), times.origins, times.peak_mib, times.kept_mib)});
  report.add({.name = fmt::format("{}_{}_again", name, question.name),
              .value = median(times.again_s),
              .unit = "s",
              .goal = goal,
              .note = std::string(question.what)});
  return {};
}

Status measure_questions(const std::string& data_dir, const std::string& name, std::optional<double> goal,
                         int rounds, Report& report) {
  Status done;
  for (const HistoryQuestion& question : history_questions()) {
    done = done ? measure_question(data_dir, name, goal, rounds, question, report) : done;
  }
  return done;
}

Status make_history(const std::string& data_dir, uint32_t profiles, Report& report) {
  History history(data_dir);
  Status done = history.make(profiles);
  done = done ? measure_questions(data_dir, "history_full", std::nullopt, 1, report) : done;
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
  return {};
}

}  // namespace

Status measure_history(const Flags& flags, Report& report) {
  const auto scratch = ScratchFolder::create();
  if (!scratch) {
    return propagate(scratch);
  }
  const std::string data_dir = flags.directory.empty() ? *scratch / "data" : std::string(flags.directory);
  const uint32_t profiles = flags.quick ? 20'000 : flags.full ? 1'000'000 : 200'000;
  Status done;
  if (!std::filesystem::exists(data_dir) || std::filesystem::is_empty(data_dir)) {
    // One that takes long to make, and was not finished, is not measured the next time.
    const std::string unfinished = data_dir + ".unfinished";
    std::filesystem::remove_all(unfinished);
    done = make_history(unfinished, profiles, report);
    done = done ? merge_blocks(unfinished, report) : done;
    done = done ? pack(unfinished) : done;
    if (done) {
      std::filesystem::rename(unfinished, data_dir);
    }
  } else {
    // One that was made before blocks were merged.
    done = merge_blocks(data_dir, report);
    done = done ? pack(data_dir) : done;
  }
  done = done ? measure_ready(data_dir, report) : done;
  return done ? measure_questions(data_dir, "history", kGoalTopS, kRounds, report) : done;
}

}  // namespace plimsoll::bench
