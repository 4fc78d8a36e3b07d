// The model and the local store, for the conformance suite of Sink.
#include "tests/conformance/sinks.h"

namespace plimsoll::testing {

std::vector<SinkImplementation> sink_implementations() {
  return {memory_sink("Memory", UINT64_MAX), memory_sink("MemoryInEpochsOf5", 5),
          local_sink("LocalOnAFullDisk", UINT64_MAX, FileFault::Kind::kNoSpace),
          local_sink("LocalInBlocksOf5OnABrokenDisk", 5, FileFault::Kind::kIoError)};
}

}  // namespace plimsoll::testing
