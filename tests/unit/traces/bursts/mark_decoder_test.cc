#include "traces/bursts/marks/mark_decoder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

namespace plimsoll::traces {
namespace {

// Calls as "thread:what", at 1, 2, 3, ... ns: "H1.7" is the head of a mark of kind 1 with value 7, "V7" its value, "N" a natural
// call. Answers "time thread kind value" of each mark.
std::string decoded(const std::string& calls, MarkCounts* counts = nullptr) {
  MarkDecoder decoder;
  std::istringstream words(calls);
  std::string text;
  int64_t time_ns = 0;
  for (std::string word; words >> word;) {
    const size_t colon = word.find(':');
    MarkCall call{.time_ns = ++time_ns, .tid = static_cast<uint32_t>(std::stoul(word.substr(0, colon)))};
    const std::string what = word.substr(colon + 1);
    if (what[0] == 'H') {
      call.first = kMarkHead;
      call.second = mark_head(static_cast<MarkKind>(what[1] - '0'), std::stoull(what.substr(3)));
    } else if (what[0] == 'V') {
      call.first = kMarkValue;
      call.second = std::stoull(what.substr(1));
    } else {
      call.first = 0x7FFE'0000'1234;
      call.second = kMarkHead;
    }
    if (const auto mark = decoder.take(call)) {
      text += fmt::format("{}{} {} {} {}", text.empty() ? "" : ", ", mark->time_ns, mark->tid,
                          static_cast<int>(mark->kind), mark->value);
    }
  }
  decoder.finish();
  if (counts != nullptr) {
    *counts = decoder.counts();
  }
  return text;
}

std::string counted(const std::string& calls) {
  MarkCounts counts;
  (void)decoded(calls, &counts);
  return fmt::format("calls {} marks {} natural {} torn {} stray {} unknown {}", counts.calls, counts.marks,
                     counts.natural, counts.torn, counts.stray, counts.unknown);
}

TEST(MarkDecoder, PutsTwoCallsTogether) {
  EXPECT_EQ(decoded("5:H1.7 5:V7 5:H2.7 5:V7 5:H3.0 5:V0"), "1 5 1 7, 3 5 2 7, 5 5 3 0");
  EXPECT_EQ(decoded("5:H1.18446744073709551615 5:V18446744073709551615"), "1 5 1 18446744073709551615");
}

TEST(MarkDecoder, KeepsThreadsApart) {
  EXPECT_EQ(decoded("5:H1.7 6:H1.8 6:V8 5:V7"), "2 6 1 8, 1 5 1 7");
  EXPECT_EQ(decoded("5:H1.7 6:V7"), "");
  EXPECT_EQ(counted("5:H1.7 6:V7"), "calls 2 marks 0 natural 0 torn 1 stray 1 unknown 0");
}

TEST(MarkDecoder, PassesOverNaturalCalls) {
  EXPECT_EQ(decoded("5:N 5:H1.7 5:N 5:N 5:V7 5:N"), "2 5 1 7");
  // Registers that still hold the last call's arguments: behind a mark, and within one.
  EXPECT_EQ(decoded("5:H1.7 5:V7 5:V7 5:V7 5:H2.7 5:H2.7 5:V7"), "1 5 1 7, 6 5 2 7");
  EXPECT_EQ(counted("5:H1.7 5:V7 5:V7"), "calls 3 marks 1 natural 0 torn 0 stray 1 unknown 0");
}

TEST(MarkDecoder, FindsMarksOfSignalHandlersWithinOthers) {
  EXPECT_EQ(decoded("5:H1.7 5:H6.9 5:V9 5:V7"), "2 5 6 9, 1 5 1 7");
  EXPECT_EQ(decoded("5:H1.7 5:H1.7 5:V7 5:V7"), "2 5 1 7");
}

TEST(MarkDecoder, InventsNothingWhereCallsWereLost) {
  EXPECT_EQ(decoded("5:V7 5:H1.8 5:V8"), "2 5 1 8");
  // The value of 7 and the head of 8 are lost.
  EXPECT_EQ(decoded("5:H1.7 5:V8"), "");
  EXPECT_EQ(counted("5:H1.7 5:H2.8 5:V8"), "calls 3 marks 1 natural 0 torn 1 stray 0 unknown 0");
  // Heads without values do not pile up.
  EXPECT_EQ(counted("5:H1.1 5:H1.2 5:H1.3 5:H1.4 5:H1.5 5:H1.6"),
            "calls 6 marks 0 natural 0 torn 6 stray 0 unknown 0");
  EXPECT_EQ(decoded("5:H1.1 5:H1.2 5:H1.3 5:H1.4 5:H1.5 5:H1.6 5:V6"), "6 5 1 6");
}

TEST(MarkDecoder, LeavesOutWhatItDoesNotKnow) {
  EXPECT_EQ(decoded("5:H7.7 5:V7 5:H0.7 5:V7"), "");
  EXPECT_EQ(counted("5:H7.7 5:V7"), "calls 2 marks 0 natural 0 torn 0 stray 1 unknown 1");
  EXPECT_FALSE(kind_of_head(mark_head(MarkKind::kStart, 7) + 0x100));  // the next version
}

TEST(MarkDecoder, IsBoundedWhateverItsInput) {
  MarkDecoder decoder;
  for (uint32_t tid = 0; tid < 2 * MarkDecoder::kMaxThreads + 10; ++tid) {
    (void)decoder.take(
        {.time_ns = tid, .tid = tid, .first = kMarkHead, .second = mark_head(MarkKind::kStart, 1)});
  }
  EXPECT_EQ(decoder.counts().torn, 2 * MarkDecoder::kMaxThreads);
}

TEST(PhaseName, IsTheBytesOfTheValue) {
  EXPECT_EQ(phase_name(0), "");
  EXPECT_EQ(phase_name('p' | 'q' << 8U), "pq");
}

}  // namespace
}  // namespace plimsoll::traces
