#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "tests/fuzz/seed.h"
#include "traces/bursts/marks/mark_decoder.h"

namespace plimsoll::traces {
namespace {

// A mark as it was made: when its two calls were.
struct TrueMark {
  Mark mark;
  int64_t end_ns = 0;
  bool is_whole = true;        // neither of its calls was lost
  bool holds_another = false;  // a signal handler's mark came between them
  bool is_found = false;
};

struct Call {
  MarkCall call;
  size_t mark = SIZE_MAX;  // which it is half of
};

// Threads that make marks and natural calls, with the registers that the last call left, and are preempted anywhere.
class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {}

  void run(size_t steps) {
    for (size_t step = 0; step < steps; ++step) {
      make_step(threads_[random_() % threads_.size()]);
    }
    for (Thread& thread : threads_) {
      while (!thread.begun.empty()) {
        end_mark(thread);
      }
    }
  }

  // Loses runs of calls, as a full ring does.
  void lose(unsigned percent) {
    std::vector<Call> kept;
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (random_() % 100 < percent) {
        const size_t end = std::min(calls_.size(), i + 1 + random_() % 8);
        for (; i < end; ++i) {
          if (calls_[i].mark != SIZE_MAX) {
            marks_[calls_[i].mark].is_whole = false;
          }
        }
      }
      if (i < calls_.size()) {
        kept.push_back(calls_[i]);
      }
    }
    calls_ = std::move(kept);
  }

  const std::vector<Call>& calls() const { return calls_; }
  const std::vector<TrueMark>& marks() const { return marks_; }

 private:
  struct Thread {
    uint32_t tid = 0;
    std::array<uint64_t, 2> registers = {};
    std::vector<size_t> begun = {};  // marks, the innermost last
  };

  void call(Thread& thread, uint64_t first, uint64_t second, size_t mark) {
    calls_.push_back({{++now_ns_, thread.tid, first, second}, mark});
    thread.registers = {first, second};
  }

  // Few values, so that the same come again, as 0 and the request that is started and stopped do.
  uint64_t value() {
    const std::array<uint64_t, 6> values{0, 1, 7, 0x7FFE'0000'1234, random_(), kMarkHead};
    return values[random_() % values.size()];
  }

  void begin_mark(Thread& thread) {
    const auto kind = static_cast<MarkKind>(1 + random_() % 6);
    const uint64_t new_value = value();
    if (!thread.begun.empty()) {
      marks_[thread.begun.back()].holds_another = true;
    }
    thread.begun.push_back(marks_.size());
    marks_.push_back({.mark = {now_ns_ + 1, thread.tid, kind, new_value}});
    call(thread, kMarkHead, mark_head(kind, new_value), thread.begun.back());
  }

  void end_mark(Thread& thread) {
    const size_t mark = thread.begun.back();
    thread.begun.pop_back();
    call(thread, kMarkValue, marks_[mark].mark.value, mark);
    marks_[mark].end_ns = now_ns_;
    // A handler returns to the registers of what it interrupted.
    if (!thread.begun.empty()) {
      const TrueMark& outer = marks_[thread.begun.back()];
      thread.registers = {kMarkHead, mark_head(outer.mark.kind, outer.mark.value)};
    }
  }

  void make_step(Thread& thread) {
    const uint64_t choice = random_() % 16;
    if (choice < 3) {  // a natural call: nothing sets the registers
      call(thread, thread.registers[0], thread.registers[1], SIZE_MAX);
    } else if (choice < 5) {  // other code ran before it
      const std::array<uint64_t, 4> values{0, 0x7FFE'0000'1234, random_(), 39};
      call(thread, values[random_() % values.size()], values[random_() % values.size()], SIZE_MAX);
    } else if (!thread.begun.empty() && (choice < 15 || thread.begun.size() == 3)) {
      end_mark(thread);
    } else {
      begin_mark(thread);
    }
  }

  std::mt19937_64 random_;
  int64_t now_ns_ = 0;
  std::vector<Thread> threads_{{.tid = 100}, {.tid = 101}, {.tid = 102}, {.tid = 4'000'000'000}};
  std::vector<Call> calls_;
  std::vector<TrueMark> marks_;
};

using What = std::tuple<uint32_t, MarkKind, uint64_t>;

What what_of(const Mark& mark) {
  return {mark.tid, mark.kind, mark.value};
}

struct Comparison {
  std::vector<TrueMark> missing;
  size_t repeated = 0;  // decoded once more
};

// Each decoded mark has to be within a true one of the same thread, kind and value.
Comparison compare(const Program& program, MarkDecoder& decoder) {
  std::map<What, std::vector<TrueMark>> truth;
  for (const TrueMark& mark : program.marks()) {
    truth[what_of(mark.mark)].push_back(mark);
  }
  Comparison comparison;
  for (const Call& call : program.calls()) {
    const auto mark = decoder.take(call.call);
    if (!mark) {
      continue;
    }
    TrueMark* found = nullptr;
    for (TrueMark& candidate : truth[what_of(*mark)]) {
      const bool is_within = candidate.mark.time_ns <= mark->time_ns && mark->time_ns <= candidate.end_ns;
      // The innermost: a handler may make the same mark that it interrupts.
      if (is_within && (found == nullptr || found->is_found || !candidate.is_found)) {
        found = &candidate;
      }
    }
    if (found == nullptr) {
      ADD_FAILURE() << "no mark was made at " << mark->time_ns << " by " << mark->tid;
      return comparison;
    }
    comparison.repeated += found->is_found ? 1 : 0;
    found->is_found = true;
  }
  decoder.finish();
  for (const auto& [what, marks] : truth) {
    std::ranges::copy_if(marks, std::back_inserter(comparison.missing), std::logical_not<>(),
                         &TrueMark::is_found);
  }
  return comparison;
}

TEST(FuzzMarks, AllAreFoundWhereNothingIsLost) {
  size_t made = 0;
  for (uint64_t round = 0; round < 300; ++round) {
    Program program(fuzz::seed(1) * 1000 + round);
    program.run(1000);
    MarkDecoder decoder;
    const Comparison comparison = compare(program, decoder);
    ASSERT_EQ(comparison.repeated, 0U);
    for (const TrueMark& missing : comparison.missing) {
      // The same mark within itself counts once.
      ASSERT_TRUE(missing.holds_another) << "round " << round << ", at " << missing.mark.time_ns;
    }
    made += program.marks().size();
    const MarkCounts& counts = decoder.counts();
    ASSERT_EQ(counts.torn, 0U);
    ASSERT_EQ(counts.calls, program.calls().size());
    ASSERT_LE(counts.marks, program.marks().size());
    ASSERT_GT(counts.marks + program.marks().size() / 20, program.marks().size());
  }
  EXPECT_GT(made, 100'000U);
}

TEST(FuzzMarks, NoneAreInventedWhereCallsAreLost) {
  size_t decoded = 0;
  size_t repeated = 0;
  size_t whole = 0;
  for (uint64_t round = 0; round < 300; ++round) {
    Program program(fuzz::seed(2) * 1000 + round);
    program.run(1000);
    program.lose(2);
    MarkDecoder decoder;
    repeated += compare(program, decoder).repeated;
    ASSERT_FALSE(HasFailure()) << "round " << round;
    decoded += decoder.counts().marks;
    whole += static_cast<size_t>(std::ranges::count_if(program.marks(), &TrueMark::is_whole));
  }
  EXPECT_LT(whole, decoded + decoded / 50);
  // By a handler within a mark of the same value whose own head was lost.
  EXPECT_LT(repeated, decoded / 1000);
}

// Whatever the arguments: what comes out has a known kind, and every call is accounted for.
TEST(FuzzMarks, AnyCallsAreAccountedFor) {
  std::mt19937_64 random(fuzz::seed(3));
  MarkDecoder decoder;
  uint64_t marks = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::array<uint64_t, 3> first{kMarkHead, kMarkValue, random()};
    const uint64_t kind = random() % 9 | (random() % 8 == 0 ? 0x200 : 0x100);
    const std::array<uint64_t, 4> second{random() % 4, kind, kind | (random() % 4) << 32U, random()};
    const auto mark =
        decoder.take({i, static_cast<uint32_t>(random() % 3), first[random() % 3], second[random() % 4]});
    if (mark) {
      ++marks;
      ASSERT_TRUE(mark->kind >= MarkKind::kStart && mark->kind <= MarkKind::kPhase);
    }
  }
  decoder.finish();
  const MarkCounts& counts = decoder.counts();
  EXPECT_GT(marks, 1000U);
  EXPECT_EQ(counts.marks, marks);
  EXPECT_EQ(counts.natural + counts.unknown + counts.stray + counts.torn + 2 * counts.marks, counts.calls);
}

}  // namespace
}  // namespace plimsoll::traces
