#include "store/ingest.h"

#include <fmt/format.h>

#include <filesystem>

#include "bench/harness/scratch_folder.h"
#include "bench/harness/statistics.h"
#include "bench/store/clock.h"
#include "bench/store/generator.h"
#include "bench/store/parts.h"
#include "bench/store/raw_profiles.h"
#include "store/dictionaries/dictionary_reader.h"

namespace plimsoll::bench {
namespace {

constexpr double kGoalSamplesPerS = 1e6;

struct Built {
  uint64_t profiles = 0;
  uint64_t rows = 0;
  double seconds = 0;      // wall clock, syncing included
  double cpu_seconds = 0;  // of this thread, which does it all
};

Status accept(store::Ingest& ingest, const RawProfiles& profiles, uint32_t machines, uint32_t window) {
  for (uint32_t machine = 0; machine < machines; ++machine) {
    const std::string encoded = wire::encode(profiles.generate(machine, window));
    if (const auto accepted = ingest.accept(as_bytes(encoded), {}); !accepted) {
      return propagate(accepted);
    }
  }
  return {};
}

// Until all that was accepted is visible.
Result<Built> build(store::Ingest& ingest) {
  Built built;
  const int64_t start_cpu_ns = thread_cpu_ns();
  const double start_s = now_s();
  while (true) {
    const auto batch = ingest.build_pending();
    if (!batch) {
      return propagate(batch);
    }
    if (batch->unbuildable > 0) {
      return fail(ErrorCode::kInvalid, "{} profiles are no good", batch->unbuildable);
    }
    if (batch->profiles == 0) {
      break;
    }
    built.profiles += batch->profiles;
    built.rows += batch->rows;
  }
  built.seconds = now_s() - start_s;
  built.cpu_seconds = static_cast<double>(thread_cpu_ns() - start_cpu_ns) / 1e9;
  return built;
}

void add(const Built& built, const std::string& name, const std::string& what, Report& report) {
  const auto samples = static_cast<double>(built.profiles * kProfileSamples);
  report.add({.name = name,
              .value = samples / built.seconds,
              .unit = "samples/s",
              .better = Better::kHigher,
              .goal = kGoalSamplesPerS,
              .note = fmt::format("{}: {} profiles of {} samples, {} rows; {:.1f} us of CPU time a profile",
                                  what, built.profiles, kProfileSamples, built.rows,
                                  built.cpu_seconds * 1e6 / static_cast<double>(built.profiles))});
}

Status add_dictionaries(const std::string& path, Report& report) {
  auto catalogue = store::Catalogue::open(path, sqlite::OpenMode::kRead);
  const auto entries = catalogue ? store::load_dictionaries(catalogue->database()) : propagate(catalogue);
  if (!entries) {
    return propagate(entries);
  }
  std::error_code error;
  const auto bytes = static_cast<double>(std::filesystem::file_size(path, error));
  report.add({.name = "dictionary_bytes",
              .value = bytes / static_cast<double>(entries->stacks.size()),
              .unit = "bytes/stack node",
              .note = fmt::format("{:.1f} MB for {} stack nodes, {} locations, {} workloads, {} origins",
                                  bytes / 1e6, entries->stacks.size(), entries->locations.size(),
                                  entries->workloads.size(), entries->origins.size())});
  return {};
}

}  // namespace

Status measure_ingest(const Flags& flags, Report& report) {
  const uint32_t machines = flags.quick ? 250 : 1000;
  const uint32_t windows = flags.quick ? 3 : 6;
  const StackTree tree = generate_stacks(kJobs, kStacksOfJob);
  const RawProfiles profiles(tree);
  const auto folder = ScratchFolder::create();
  auto ingest = folder ? store::Ingest::open(*folder / "data") : propagate(folder);
  if (!ingest) {
    return propagate(ingest);
  }
  Built known;  // windows after the first
  for (uint32_t window = 0; window < windows; ++window) {
    const Status accepted = accept(**ingest, profiles, machines, window);
    const auto built = accepted ? build(**ingest) : propagate(accepted);
    if (!built) {
      return propagate(built);
    }
    if (window == 0) {
      add(*built, "ingest_first_samples", "into an empty store", report);
      continue;
    }
    known.profiles += built->profiles;
    known.rows += built->rows;
    known.seconds += built->seconds;
    known.cpu_seconds += built->cpu_seconds;
  }
  add(known, "ingest_samples", "later windows, whose stacks are mostly known", report);
  const auto blocks = (*ingest)->blocks();
  if (!blocks) {
    return propagate(blocks);
  }
  const std::string catalogue = blocks->back().catalogue_path();
  ingest->reset();  // writes its log into the file
  return add_dictionaries(catalogue, report);
}

}  // namespace plimsoll::bench
