#include <cstdlib>
#include <iostream>

#include "bench/harness/scratch_folder.h"
#include "bench/store/comparison.h"
#include "bench/store/parts.h"
#include "bench/store/replay.h"

namespace plimsoll::bench {
namespace {

constexpr uint64_t kReplayedRows = 10'000'000;
constexpr uint64_t kQuickReplayedRows = 300'000;

uint32_t origins(const Flags& flags) {
  return flags.quick ? kQuickOrigins : kOrigins;
}

}  // namespace

Status measure_profiles(const Flags& flags, Report& report) {
  const StackTree tree = generate_stacks(kJobs, kStacksOfJob);
  ProfileRows rows(tree.first_stack);
  return compare_with_peers(
      {.name = "_profiles",
       .origins = origins(flags),
       .generate = [&](uint32_t origin, std::vector<store::Row>& out) { rows.append(origin, out); },
       .goal = &Query::goal_profiles,
       .tree = &tree,
       .min_bits = [&] { return rows.min_bits(); }},
      flags, report);
}

Status measure_worst(const Flags& flags, Report& report) {
  const StackTree tree = generate_stacks(kJobs, kStacksOfJob);
  const IndependentRows rows(tree.first_stack);
  uint64_t count = 0;
  return compare_with_peers({.name = "_worst",
                             .origins = origins(flags),
                             .generate =
                                 [&](uint32_t origin, std::vector<store::Row>& out) {
                                   const size_t before = out.size();
                                   rows.append(origin, out);
                                   count += out.size() - before;
                                 },
                             .goal = &Query::goal_worst,
                             .tree = &tree,
                             .min_bits = [&] { return IndependentRows::min_bits(count, origins(flags)); }},
                            flags, report);
}

Status measure_replayed(const Flags& flags, Report& report) {
  const char* const corpus = std::getenv("PLIMSOLL_CORPUS");
  if (corpus == nullptr) {
    std::cerr << "replayed: skipped: PLIMSOLL_CORPUS names no folder with recordings\n";
    return {};
  }
  const auto folder = ScratchFolder::create();
  const auto recorded = folder ? import_recordings(corpus, *folder / "") : propagate(folder);
  if (!recorded) {
    return propagate(recorded);
  }
  const uint64_t rows = flags.quick ? kQuickReplayedRows : kReplayedRows;
  return compare_with_peers(
      {.name = "_replayed",
       .origins = static_cast<uint32_t>(rows * recorded->origins.size() / recorded->rows),
       .events = recorded->events,
       .jobs = recorded->workloads,
       .hits_bits = 64,
       .generate = [&](uint32_t origin, std::vector<store::Row>& out) { replay(*recorded, origin, out); },
       .tree = &recorded->stacks},
      flags, report);
}

}  // namespace plimsoll::bench
