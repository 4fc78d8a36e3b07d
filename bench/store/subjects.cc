#include "bench/store/comparison.h"
#include "bench/store/parts.h"

namespace plimsoll::bench {
namespace {

constexpr uint32_t kOrigins = 250'000;
constexpr uint32_t kQuickOrigins = 10'000;

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
       .least_bits = [&] { return rows.least_bits(); }},
      flags, report);
}

Status measure_worst(const Flags& flags, Report& report) {
  const StackTree tree = generate_stacks(kJobs, kStacksOfJob);
  const IndependentRows rows(tree.first_stack);
  uint64_t count = 0;
  return compare_with_peers(
      {.name = "_worst",
       .origins = origins(flags),
       .generate =
           [&](uint32_t origin, std::vector<store::Row>& out) {
             const size_t before = out.size();
             rows.append(origin, out);
             count += out.size() - before;
           },
       .goal = &Query::goal_worst,
       .tree = &tree,
       .least_bits = [&] { return IndependentRows::least_bits(count, origins(flags)); }},
      flags, report);
}

}  // namespace plimsoll::bench
