// What a child process that parses came to, in words.
#pragma once

#include "base/result.h"
#include "proto/symbol_table.pb.h"
#include "symbolizer/process/child_run.h"
#include "symbolizer/process/confinement.h"

namespace plimsoll::symbolizer {

// It ended by itself, without a crash, after it had said what there was to say.
bool has_ended_well(const ChildEnd& end);

// What it said last; else why there is no reply: kTooLarge where it went beyond a limit, kUnavailable where it did not come to an end or
// was stopped, kCorrupt where it crashed or said what makes no sense, and the error that it replied with.
Result<wire::TableEvent> reply_of(const ChildEnd& end, const ProcessLimits& limits);

}  // namespace plimsoll::symbolizer
