// A heap profile in a file when memory runs out.
//
// tcmalloc calls the program's new handler when it cannot get memory, in the thread that asked and without its locks: ours writes the
// profile, puts back the handler of before, and returns, so that the allocation fails as it would have. malloc()
// that fails asks no handler, and has no dump. Once in a process: a handler does not know how much was asked for, so a
// request that could never be met uses it up. Other threads that find no memory wait for it, up to 5 s. A process that the
// kernel kills has no such moment.
#pragma once

#include <string>

#include "appprof/labels.h"

namespace plimsoll::appprof {

// Into FOLDER/PID-START_TICKS.heap, as tcmalloc's text, which needs memory for a copy of the samples alone; and where there is memory for that
// into .pb.gz beside it, which has build IDs and labels. 16 MiB of addresses are mapped for it until then. Returns why not; empty: it is armed.
// A program that sets a handler of its own afterwards has no dump.
std::string start_oom_dump(const std::string& folder, const Labels& labels);
void stop_oom_dump() noexcept;
// In a child that has just been forked: off. The file is the parent's.
void reset_oom_dump_in_child() noexcept;

}  // namespace plimsoll::appprof
