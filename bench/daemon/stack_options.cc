#include <array>

#include "bench/daemon/agent_run.h"
#include "bench/daemon/load.h"
#include "bench/daemon/parts.h"
#include "bench/harness/statistics.h"

namespace plimsoll::bench {
namespace {

struct Variant {
  std::string name;
  std::vector<std::string> options;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (const int kib : {8, 16, 32, 64}) {
    all.push_back(
        {fmt::format("{}-kib", kib), {"--rate", "999", "--stack-bytes", fmt::format("{}", kib * 1024)}});
  }
  for (const int rate : {500, 250, 100}) {
    all.push_back(
        {fmt::format("16-kib-{}-of-999", rate), {"--rate", "999", "--stack-rate", fmt::format("{}", rate)}});
  }
  return all;
}

// What the runs of one variant came to.
struct Outcome {
  std::vector<double> slopes_us;
  std::vector<double> whole_shares;
  std::vector<double> lost_shares;

  Status add(const Variant& variant, double short_s, double long_s, const ScratchFolder& folder) {
    const auto first = run_agent(short_s, variant.options, folder);
    const auto second = first ? run_agent(long_s, variant.options, folder) : propagate(first);
    if (!second) {
      return propagate(second, "sampling with {}", variant.name);
    }
    const Line line =
        line_through({first->samples(), first->usage.cpu_s}, {second->samples(), second->usage.cpu_s});
    slopes_us.push_back(line.slope * 1e6);
    whole_shares.push_back(second->whole_share());
    const auto lost = static_cast<double>(second->profile.events(0).lost());
    lost_shares.push_back(lost / (lost + second->samples()));
    return {};
  }
};

}  // namespace

Status measure_stack_options(const Flags& flags, Report& report) {
  const auto folder = ScratchFolder::create();
  const auto load = folder ? Load::start(*folder) : propagate(folder);
  if (!load) {
    return propagate(load);
  }
  const std::vector<Variant> all = variants();
  std::vector<Outcome> outcomes(all.size());
  const int rounds = flags.quick ? 1 : 3;
  const double short_s = flags.quick ? 0.25 : 3;
  const double long_s = flags.quick ? 0.6 : 13;
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (auto added = outcomes[i].add(all[i], short_s, long_s, *folder); !added) {
        return added;
      }
    }
  }
  for (size_t i = 0; i < all.size(); ++i) {
    report.add(
        {.name = "agent-cpu-per-sample-us-" + all[i].name,
         .value = median(outcomes[i].slopes_us),
         .unit = "us",
         .note = fmt::format("of its stacks {:.1f} % are whole; {:.1f} % of the samples were lost",
                             median(outcomes[i].whole_shares) * 100, median(outcomes[i].lost_shares) * 100)});
  }
  return {};
}

}  // namespace plimsoll::bench
