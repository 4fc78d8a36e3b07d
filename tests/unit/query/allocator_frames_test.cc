// Frames of allocators, which views of a heap hide as pprof does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "query/views/callers.h"
#include "query/views/flame.h"
#include "tests/unit/query/fleet_fixture.h"

namespace plimsoll::query {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class AllocatorFrames : public ::testing::Test {
 protected:
  AllocatorFrames() {
    fleet_.add(
        make_profile({.events = {{.name = "heap-inuse-bytes", .unit = wire::BYTES, .kind = wire::SNAPSHOT},
                                 {.name = "cycles"}},
                      .stacks = "main;load;malloc 10\n"
                                "main;load;tc_malloc;tcmalloc::allocate;tcmalloc::sample 20\n"
                                "main;je_malloc;imalloc;prof_backtrace 5\n"
                                "main;mallocate;free_list 7\n"
                                "malloc 3\n"
                                "event=cycles main;malloc 1\n"}));
  }

  std::string folded(const Parameters& parameters) const {
    const auto request = parse_flame(parameters, 0);
    const auto answer = flame(*request, **Snapshot::load(fleet_.path()));
    return answer ? *to_folded(*answer) : answer.error().text();
  }

  Fleet fleet_;
};

TEST_F(AllocatorFrames, AreHiddenInHeapsAndWhatTheyTookIsTheirCallers) {
  EXPECT_EQ(folded({{"event", "heap-inuse-bytes"}}),
            "[no stack] 3\nmain 5\nmain;load 30\nmain;mallocate;free_list 7\n")
      << "nothing is lost where there is no other frame";
}

TEST_F(AllocatorFrames, AreShownWhereHideSaysWhatToHide) {
  EXPECT_EQ(folded({{"event", "heap-inuse-bytes"}, {"hide", "none"}, {"focus", "load"}}),
            "main;load;malloc 10\nmain;load;tc_malloc;tcmalloc::allocate;tcmalloc::sample 20\n");
}

TEST_F(AllocatorFrames, AreLikeOthersInOtherEvents) {
  EXPECT_EQ(folded({{"event", "cycles"}}), "main;malloc 1\n");
}

TEST_F(AllocatorFrames, ANoteSaysThatTheyAreHidden) {
  const auto notes = [&](const std::string& event) {
    const auto table = fleet_.top({{"event", event}});
    EXPECT_TRUE(table) << table.error().text();
    return table->notes;
  };
  EXPECT_THAT(notes("heap-inuse-bytes"), Contains(HasSubstr("--hide none shows them")));
  EXPECT_THAT(notes("cycles"), Not(Contains(HasSubstr("allocator"))));
}

}  // namespace
}  // namespace plimsoll::query
