// Programs that record their own call path, and stacks of the same moments: a page fault is raised at each recorded point,
// and every page fault is sampled. Function by function, and return address by return address, the unwound stack must be
// the recorded one; functions of the system's libraries lie between, and are left out. Needs the privileges to sample the
// machine.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <set>

#include "base/unique_fd.h"
#include "tests/e2e/live_unwinder.h"
#include "tests/e2e/program.h"
#include "tests/workloads/call_recorder.h"

namespace plimsoll::testing {
namespace {

constexpr uint32_t kStackBytes = 16384;
constexpr size_t kRdi = 5;  // in SampleRecord::user_registers
constexpr size_t kRsp = 7;
constexpr uint64_t kLargestStackBytes = uint64_t{8} << 20;  // what lies further away is another one
constexpr uint64_t kWantedPoints = 5'000;
constexpr int kMostRuns = 60;

// The file that a program writes.
class RecordedFile {
 public:
  explicit RecordedFile(std::string path) : path_(std::move(path)) {}
  RecordedFile(const RecordedFile&) = delete;
  RecordedFile& operator=(const RecordedFile&) = delete;
  ~RecordedFile() { close(); }

  // Null until the program has made it.
  const RecordedPaths* get() {
    const UniqueFd fd(mapped_ == nullptr ? ::open(path_.c_str(), O_RDONLY | O_CLOEXEC) : -1);
    if (fd.get() >= 0 && ::lseek(fd.get(), 0, SEEK_END) == static_cast<off_t>(kRecordBytes)) {
      void* const mapped = ::mmap(nullptr, kRecordBytes, PROT_READ, MAP_SHARED, fd.get(), 0);
      mapped_ = mapped == MAP_FAILED ? nullptr : static_cast<const RecordedPaths*>(mapped);
    }
    return mapped_;
  }

  void close() {
    if (mapped_ != nullptr) {
      ::munmap(const_cast<RecordedPaths*>(mapped_), kRecordBytes);
    }
    mapped_ = nullptr;
  }

 private:
  std::string path_;
  const RecordedPaths* mapped_ = nullptr;
};

struct Compared {
  uint64_t points = 0;
  uint64_t equal = 0;
  // Of these: right as far as they go, where the next recorded frame lies
  uint64_t behind_full_copy = 0;
  // The kernel copies up to the first page that is not in memory, such as one in a large frame that was never touched.
  uint64_t behind_short_copy = 0;
  uint64_t on_other_stack = 0;  // that a handler interrupted
  uint64_t deepest = 0;
  std::map<std::string, uint64_t> disagreements;
};

class Comparison {
 public:
  explicit Comparison(LiveUnwinder& unwinder) : unwinder_(unwinder) {}

  // Compares if the sample is of a recorded point.
  void add(const perf::SampleRecord& sample, const RecordedPaths& recorded) {
    const uint64_t point = (sample.user_registers[kRdi] - recorded.pages) / kPageBytes;
    if (sample.user_registers[kRdi] < recorded.pages || point >= recorded.points ||
        name_of(sample.pid, sample.ip) != "plimsoll::testing::sample_here()") {
      return;
    }
    const UserStack& stack = unwinder_.unwind(sample);
    const auto& path = recorded.paths[point];
    const std::span<const RecordedFrame> truth(recorded.frames() + path.first_frame, path.depth);
    ++compared_.points;
    compared_.deepest = std::max(compared_.deepest, path.depth);
    const std::string difference = differs(sample, truth, stack);
    if (difference.empty()) {
      ++compared_.equal;
    } else {
      ++compared_.disagreements[difference];
    }
  }

  const Compared& compared() const { return compared_; }
  // Goes back to what compared() was then.
  void go_back_to(const Compared& earlier) { compared_ = earlier; }

 private:
  // In the program and its own libraries; empty elsewhere, and in the code that starts programs.
  const std::string& name_of(uint32_t pid, uint64_t address) {
    auto [name, is_new] = names_.try_emplace({pid, address});
    const auto place = is_new ? unwinder_.place(pid, address) : std::nullopt;
    if (place && place->path.find("call_paths") != std::string::npos) {
      std::string found = functions_.find(*place).name;
      // Parts of a function that a compiler has set apart: a partial copy, the seldom executed.
      for (const char* suffix : {".cold", ".part.0", ".constprop.0", ".isra.0"}) {
        if (const size_t at = found.find(suffix); at != std::string::npos) {
          found.erase(at, std::string_view(suffix).size());
        }
      }
      name->second = found == "_start"      ? ""
                     : found == kSampleHere ? "plimsoll::testing::sample_here()"
                                            : found;
    }
    return name->second;
  }

  static bool is_handler(const std::string& function) {
    return function.find("on_signal") != std::string::npos || function.find("on_fault") != std::string::npos;
  }

  // Empty where the stack is the recorded one.
  std::string differs(const perf::SampleRecord& sample, std::span<const RecordedFrame> truth,
                      const UserStack& stack) {
    const uint32_t pid = sample.pid;
    size_t next = 0;
    uint64_t return_address = 0;  // that the next frame must have; 0: any
    for (const uint64_t address : stack.addresses) {
      // A handler was not called: it returns to the first byte of the code behind it.
      const bool was_called = next == 0 || !is_handler(name_of(pid, truth[next - 1].function));
      if (return_address != 0 && address != return_address - (was_called ? 1 : 0)) {
        return fmt::format("returns from {} to {:#x}, not {:#x}", name_of(pid, truth[next - 1].function),
                           address, return_address);
      }
      return_address = 0;
      const std::string& name = name_of(pid, address);
      if (name.empty()) {
        continue;
      }
      if (next == truth.size() || name_of(pid, truth[next].function) != name) {
        return fmt::format("{} where {} is recorded", name,
                           next == truth.size() ? "nothing" : name_of(pid, truth[next].function));
      }
      return_address = truth[next].return_address;
      ++next;
    }
    const bool is_whole = next == truth.size() && stack.problem == wire::STACK_PROBLEM_UNSPECIFIED;
    const bool ends_with_copy =
        next < truth.size() && ends_where_the_copy_does(sample, truth[next], stack.problem);
    return is_whole || ends_with_copy ? ""
                                      : fmt::format("{} frames are missing: {}", truth.size() - next,
                                                    wire::StackProblem_Name(stack.problem));
  }

  // Whether the frame that comes next is not in the copy, and the stack says why.
  bool ends_where_the_copy_does(const perf::SampleRecord& sample, const RecordedFrame& missing,
                                wire::StackProblem problem) {
    const uint64_t copy_start = sample.user_registers[kRsp];
    const uint64_t distance = missing.stack_pointer - copy_start;  // huge where it lies below
    const bool is_elsewhere = distance > kLargestStackBytes;
    const bool is_behind = !is_elsewhere && distance > sample.user_stack.size();
    const bool is_full = sample.user_stack.size() == kStackBytes;
    const bool cut = problem == wire::TRUNCATED_STACK_COPY && is_full && is_behind;
    const bool cut_short = problem == wire::OUTSIDE_STACK && !is_full && is_behind;
    const bool elsewhere = problem == wire::OUTSIDE_STACK && missing.stack_pointer != 0 && is_elsewhere;
    compared_.behind_full_copy += cut ? 1 : 0;
    compared_.behind_short_copy += cut_short ? 1 : 0;
    compared_.on_other_stack += elsewhere ? 1 : 0;
    return cut || cut_short || elsewhere;
  }

  static constexpr std::string_view kSampleHere = "_ZN8plimsoll7testing11sample_hereEv";

  LiveUnwinder& unwinder_;
  FunctionNames functions_;
  std::map<std::pair<uint32_t, uint64_t>, std::string> names_;
  Compared compared_;
};

struct Tested {
  const char* name;
  const char* program;
  std::vector<std::string> parts;
  // Of a hundred points, at most so many end with the copy (Compared).
  double behind_full_copy = 0;
  double behind_short_copy = 0;
  double on_other_stack = 0;
};

class RecordedPathsTest : public ::testing::TestWithParam<Tested> {
 protected:
  void SetUp() override {
    if (!may_sample_machine()) {
      GTEST_SKIP() << "this user may not sample the machine";
    }
  }
};

TEST_P(RecordedPathsTest, AreTheUnwoundOnes) {
  const TemporaryFolder folder;
  LiveUnwinder unwinder;
  Comparison comparison(unwinder);
  const Compared& compared = comparison.compared();
  const perf::SampledEvent every_fault{*perf::find_event("page-faults"), 1, false};
  uint64_t lost = 0;
  uint64_t runs_without_mappings = 0;
  // Other programs fault too, and their samples may push out some of ours.
  for (int i = 0; i < kMostRuns && compared.points < kWantedPoints; ++i) {
    const Compared before = compared;
    RecordedFile file(folder / std::to_string(i));
    std::vector<std::string> argv{GetParam().program, "40", folder / std::to_string(i)};
    argv.insert(argv.end(), GetParam().parts.begin(), GetParam().parts.end());
    const auto run =
        sample_program(argv, every_fault, kStackBytes, unwinder, [&](const perf::SampleRecord& sample) {
          if (const RecordedPaths* const recorded = file.get()) {
            comparison.add(sample, *recorded);
          }
        });
    ASSERT_TRUE(run.has_value()) << run.error().text();
    ASSERT_EQ(run->status, 0);
    lost += run->lost;
    if (run->side_band_lost > 0) {
      comparison.go_back_to(before);
      ++runs_without_mappings;
    }
  }
  std::printf(
      "%s: %lu of %lu points equal, %lu of them up to the end of the copy, %lu up to that of a short one, "
      "%lu up to another stack; up to %lu deep\n",
      GetParam().name, compared.equal, compared.points, compared.behind_full_copy, compared.behind_short_copy,
      compared.on_other_stack, compared.deepest);
  std::printf("%lu samples lost; %lu runs not compared, since records of mappings were lost\n", lost,
              runs_without_mappings);
  for (const auto& [difference, points] : compared.disagreements) {
    std::printf("  %6lu %s\n", points, difference.c_str());
  }
  ASSERT_GE(compared.points, kWantedPoints);
  EXPECT_GE(static_cast<double>(compared.equal), 0.999 * static_cast<double>(compared.points));
  const auto share = [&](uint64_t points) {
    return 100 * static_cast<double>(points) / static_cast<double>(compared.points);
  };
  const Tested& tested = GetParam();
  EXPECT_LE(share(compared.behind_full_copy), tested.behind_full_copy);
  EXPECT_LE(share(compared.behind_short_copy), tested.behind_short_copy);
  EXPECT_LE(share(compared.on_other_stack), tested.on_other_stack);
  // Which pages are in memory differs from run to run; what the program does is always the same.
  EXPECT_EQ(compared.behind_full_copy > 0, tested.behind_full_copy > 0);
  EXPECT_EQ(compared.on_other_stack > 0, tested.on_other_stack > 0);
}

const std::vector<std::string> kCalls{"calls", "frames", "library", "dlopen", "modern"};
const std::vector<std::string> kControl{"exceptions", "signals", "jumps"};

INSTANTIATE_TEST_SUITE_P(
    Programs, RecordedPathsTest,
    ::testing::Values(
        Tested{.name = "Calls", .program = "call_paths_recorded", .parts = kCalls, .behind_short_copy = 3},
        Tested{
            .name = "CallsO0", .program = "call_paths_recorded_o0", .parts = kCalls, .behind_short_copy = 3},
        Tested{.name = "ExceptionsSignalsJumps", .program = "call_paths_recorded", .parts = kControl},
        Tested{.name = "ExceptionsSignalsJumpsO0", .program = "call_paths_recorded_o0", .parts = kControl},
        Tested{.name = "Altstack",
               .program = "call_paths_recorded",
               .parts = {"altstack", "calls"},
               .on_other_stack = 7},
        Tested{.name = "DeeperThanTheCopy",
               .program = "call_paths_recorded",
               .parts = {"deep", "calls"},
               .behind_full_copy = 7},
        Tested{.name = "ThreadsAndProcesses",
               .program = "call_paths_recorded",
               .parts = {"threads", "processes", "calls"}}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace plimsoll::testing
