#include "bench/query/parts.h"
#include "tests/fleets/simulated_use.h"

namespace plimsoll::bench {

Status measure_pooling(const Flags& flags, Report& report) {
  constexpr uint64_t kUseSeed = 20261129;
  const size_t pairs = flags.quick ? 100 : 1000;
  const auto share = [](size_t of, size_t all) { return static_cast<double>(of) / static_cast<double>(all); };
  for (const fleets::UseSpec& spec : fleets::independent_use()) {
    const fleets::Recognized found = fleets::recognize(spec, pairs, kUseSeed);
    report.add({.name = fmt::format("pooling-{}-independent-false-alarms", spec.name),
                .value = share(found.dependent, found.pairs),
                .unit = "share",
                .goal = 0.065,  // 5 %, and what 1,000 pairs scatter by
                .note = fmt::format("nominally 0.05, of {} pairs", found.pairs)});
  }
  for (const fleets::UseSpec& spec : fleets::shifted_use()) {
    const fleets::Recognized found = fleets::recognize(spec, pairs, kUseSeed);
    report.add({.name = fmt::format("pooling-{}-shifted-recognized", spec.name),
                .value = share(found.dependent, found.pairs),
                .unit = "share",
                .better = Better::kHigher,
                .goal = 0.95,
                .note = fmt::format("at the true lag {:.3f}, of {} pairs", share(found.at_delay, found.pairs),
                                    found.pairs)});
  }
  for (const fleets::UseSpec& spec : fleets::hardly_shifted_use()) {
    const fleets::Recognized found = fleets::recognize(spec, pairs, kUseSeed);
    report.add({.name = fmt::format("pooling-{}-one-in-ten-recognized", spec.name),
                .value = share(found.dependent, found.pairs),
                .unit = "share",
                .better = Better::kHigher,
                .goal = 0.4,
                .note = fmt::format("one burst in ten is followed; at the true lag {:.3f}, of {} pairs",
                                    share(found.at_delay, found.pairs), found.pairs)});
  }
  return {};
}

}  // namespace plimsoll::bench
