// What a recording tells of its machine and of the time when it was made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/claimed_time.h"
#include "base/result.h"
#include "formats/perf_data/metadata.h"
#include "proto/profile.pb.h"

namespace plimsoll::perf_data {

// As wire::validate() permits: in the year 2096.
inline constexpr int64_t kLatestNs = 4'000'000'000LL * 1'000'000'000LL;

// Of the samples that have a time, on the recording's clock.
struct SampleTimes {
  uint64_t first_ns = UINT64_MAX;
  uint64_t last_ns = 0;

  void add(uint64_t time_ns) {
    if (time_ns != 0) {
      first_ns = std::min(first_ns, time_ns);
      last_ns = std::max(last_ns, time_ns);
    }
  }
  bool known() const { return last_ns != 0; }
};

// Known by its host name, or by `label` where the recording has none.
void describe_machine(const Metadata& metadata, const std::string& label, const std::string& kernel_build_id,
                      wire::Machine& machine);

// From the first sample to the last. In wall-clock time by the pair of clocks in the recording (perf record -k), where those are
// times that can be, else so that it ends at another of `claimed`; a note says which. kCorrupt for times that no machine has.
Status set_window(const Metadata& metadata, const SampleTimes& times, ClaimedTimes claimed,
                  wire::RawProfile& profile);

}  // namespace plimsoll::perf_data
