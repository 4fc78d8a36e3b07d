// The model and the local store, for the conformance suite of RowSource.
#include "tests/conformance/row_sources.h"

namespace plimsoll::testing {

std::vector<Implementation> row_source_implementations() {
  return {memory_rows(),
          local_rows("LocalInOneSegment", SIZE_MAX),
          local_rows("LocalInSegmentsOf70000", 70'000),
          local_rows("LocalInSegmentsOf700", 700),
          joined_rows("JoinedOf3BlocksOn2Threads", 3, 2),
          joined_rows("JoinedOf20BlocksOn3Threads", 20, 3)};
}

}  // namespace plimsoll::testing
