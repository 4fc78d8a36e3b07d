// Names for the code of JIT compilers, which only the machine knows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "capture/identity/processes.h"
#include "proto/profile.pb.h"

namespace plimsoll {

// JIT locations of processes that have a perf map become NAMED ones, where the map has a name for them; others stay as
// they are. A map that is refused is noted in the profile. Call at the end of the window, while the processes are there: of
// one that is gone, or whose PID is another program's or process's by now, nothing is taken. Costs a read of each map (2 to 5 ms for each MiB), until
// `budget_bytes` of them have been read; a note says that there were more. `processes` are the profile's, in their order.
void name_jit_locations(const identity::ProcFs& proc_fs,
                        std::span<const std::shared_ptr<identity::ProcessIdentity>> processes,
                        wire::RawProfile& profile, uint64_t budget_bytes = uint64_t{128} << 20);

}  // namespace plimsoll
