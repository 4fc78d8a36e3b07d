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
constexpr uint64_t kWantedPoints = 5'000;

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
  uint64_t cut = 0;  // of these: as far as the copy of the stack goes, which the unwinder says
  // Of these: as far as the copy has what is needed. The frame that a handler interrupted lies on another stack; and the
  // kernel copies up to the first page that is not in memory, such as one in a large frame that was never touched.
  uint64_t outside = 0;
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
    const std::string difference = differs(sample.pid, truth, stack);
    if (difference.empty()) {
      ++compared_.equal;
    } else {
      ++compared_.disagreements[difference];
    }
  }

  const Compared& compared() const { return compared_; }

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

  // Empty where the stack is the recorded one.
  std::string differs(uint32_t pid, std::span<const RecordedFrame> truth, const UserStack& stack) {
    size_t next = 0;
    uint64_t return_address = 0;  // that the next frame must have; 0: any
    for (const uint64_t address : stack.addresses) {
      if (return_address != 0 && address != return_address - 1) {
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
    return ends_badly(truth.size() - next, stack.problem);
  }

  std::string ends_badly(size_t missing, wire::StackProblem problem) {
    if (problem == wire::TRUNCATED_STACK_COPY) {
      ++compared_.cut;
      return {};
    }
    if (problem == wire::OUTSIDE_STACK) {
      ++compared_.outside;
      return {};
    }
    const bool is_whole = missing == 0 && problem == wire::STACK_PROBLEM_UNSPECIFIED;
    return is_whole ? ""
                    : fmt::format("{} frames are missing: {}", missing, wire::StackProblem_Name(problem));
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
  uint64_t may_be_cut = 0;      // of a hundred
  uint64_t may_be_outside = 0;  // likewise
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
  // Other programs fault too, and their samples may push out some of ours.
  for (int i = 0; i < 20 && compared.points < kWantedPoints; ++i) {
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
  }
  std::printf(
      "%s: %lu of %lu points equal, %lu of them as far as the copy goes, %lu as far as the copy has what is "
      "needed; up to %lu deep\n",
      GetParam().name, compared.equal, compared.points, compared.cut, compared.outside, compared.deepest);
  for (const auto& [difference, points] : compared.disagreements) {
    std::printf("  %6lu %s\n", points, difference.c_str());
  }
  ASSERT_GE(compared.points, kWantedPoints);
  EXPECT_GE(static_cast<double>(compared.equal), 0.999 * static_cast<double>(compared.points));
  EXPECT_LE(compared.cut * 100, GetParam().may_be_cut * compared.points);
  EXPECT_LE(compared.outside * 100, GetParam().may_be_outside * compared.points);
}

const std::vector<std::string> kCalls{"calls", "frames", "library", "dlopen", "modern"};
const std::vector<std::string> kControl{"exceptions", "signals", "jumps"};

INSTANTIATE_TEST_SUITE_P(
    Programs, RecordedPathsTest,
    ::testing::Values(Tested{"Calls", "call_paths_recorded", kCalls, 0, 4},
                      Tested{"CallsO0", "call_paths_recorded_o0", kCalls, 0, 4},
                      Tested{"ExceptionsSignalsJumps", "call_paths_recorded", kControl},
                      Tested{"ExceptionsSignalsJumpsO0", "call_paths_recorded_o0", kControl},
                      Tested{"Altstack", "call_paths_recorded", {"altstack", "calls"}, 0, 50},
                      Tested{"DeeperThanTheCopy", "call_paths_recorded", {"deep", "calls"}, 50},
                      Tested{
                          "ThreadsAndProcesses", "call_paths_recorded", {"threads", "processes", "calls"}}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace plimsoll::testing
