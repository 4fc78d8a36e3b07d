// Crash sweeps: a store is stopped at every change that it makes to its files, and opened again.
//
// A run of each phase (crash_scenarios.cc: creating a directory, accepting, building, sealing, merging, rolling up, dropping, rebuilding,
// upgrading from each format, backing up) is recorded: every write, truncation, fsync, rename, creation and removal, SQLite's included
// (file_layer.h). From the record come the files as they are (simulated_disk.h)
//   killed   after each operation
//   torn     with a part of each write: a byte, a quarter, half, three quarters, all but a byte
//   power    after each operation, without what was not synced: all of it lost; file contents lost and names kept; names lost and
//            contents kept; and at random, each write and each folder by itself
// and each of these is opened by itself, profiles are sent again, what is pending is built, and then every acknowledged profile is counted
// once, a check finds no damage, and the phase, begun again, comes to its end. States that are the same are looked at once. Counted are
// distinct states of the disk, by their hash: over 5,000 of the phases that write to a store and upgrade it.
//
// Then runs with a disk that fails: ENOSPC, EIO and short writes at an operation, once, for a while or from then on, and a process that
// ends in the middle of a write. The run must not crash, nor acknowledge what is not kept; where it fails once, all is done in the end; and
// its files, opened again, are judged as above.
//
// PLIMSOLL_TEST_PHASE        only the phases whose name begins like this
// PLIMSOLL_TEST_ONE_OF       one of so many states, chosen by the seed (10); 1: all, which takes minutes
// PLIMSOLL_TEST_POWER_SEEDS  random states after each operation (2)
// PLIMSOLL_TEST_LIVE_RUNS    failing runs of each phase and kind (8); 0: one for each operation
// PLIMSOLL_TEST_FUZZ_SEED    for what is random
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <unordered_set>

#include "base/log.h"
#include "base/unique_fd.h"
#include "tests/store/crash_scenarios.h"
#include "tests/store/file_layer.h"
#include "tests/store/simulated_disk.h"
#include "tests/temporary_directory.h"

namespace plimsoll::testing {
namespace {

constexpr int kWorkers = 2;
constexpr size_t kMaxProblems = 5;  // of one worker and phase
constexpr unsigned int kMaxRunSeconds = 120;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::vector<std::unique_ptr<Scenario>> wanted_scenarios() {
  const char* const phase = std::getenv("PLIMSOLL_TEST_PHASE");
  auto scenarios = all_scenarios();
  std::erase_if(scenarios, [&](const auto& scenario) {
    return phase != nullptr && !scenario->name().starts_with(phase);
  });
  return scenarios;
}

// Of a phase, by kind.
struct Count {
  uint64_t points = 0;
  uint64_t looked_at = 0;
};

struct Findings {
  std::map<std::string, Count> counts;
  Count states;  // of the disk, each once
  std::vector<std::string> problems;

  void add(const Findings& other) {
    states.points += other.states.points;
    states.looked_at += other.states.looked_at;
    for (const auto& [kind, count] : other.counts) {
      counts[kind].points += count.points;
      counts[kind].looked_at += count.looked_at;
    }
    problems.insert(problems.end(), other.problems.begin(), other.problems.end());
  }
};

// Lines, for a pipe.
std::string text_of(const Findings& findings) {
  std::string text = fmt::format("states\t\t{}\t{}\n", findings.states.points, findings.states.looked_at);
  for (const auto& [kind, count] : findings.counts) {
    text += fmt::format("count\t{}\t{}\t{}\n", kind, count.points, count.looked_at);
  }
  for (std::string problem : findings.problems) {
    std::ranges::replace(problem, '\n', ' ');
    text += fmt::format("problem\t{}\n", problem);
  }
  return text + "end\n";
}

Findings findings_of(const std::string& text) {
  Findings findings;
  std::istringstream lines(text);
  bool is_whole = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string what;
    std::string kind;
    std::getline(fields, what, '\t');
    std::getline(fields, kind, '\t');
    if (what == "count") {
      Count& count = findings.counts[kind];
      fields >> count.points >> count.looked_at;
    } else if (what == "states") {
      fields >> findings.states.points >> findings.states.looked_at;
    } else if (what == "problem") {
      findings.problems.push_back(kind);
    }
    is_whole = what == "end";
  }
  if (!is_whole) {
    findings.problems.emplace_back("a worker ended before it was done");
  }
  return findings;
}

// Each in a process of its own.
template <typename Work>
Findings in_workers(Work work) {
  std::vector<UniqueFd> ends;
  std::vector<pid_t> processes;
  for (int worker = 0; worker < kWorkers; ++worker) {
    std::array<int, 2> pipe{};
    EXPECT_EQ(::pipe(pipe.data()), 0);
    const pid_t process = ::fork();
    if (process == 0) {
      // What the store logs of the failures that are made here.
      ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
      const std::string text = text_of(work(worker));
      for (size_t written = 0; written < text.size();) {
        const ssize_t more = ::write(pipe[1], text.data() + written, text.size() - written);
        if (more < 0) {
          ::_exit(1);
        }
        written += static_cast<size_t>(more);
      }
      ::_exit(0);
    }
    ::close(pipe[1]);
    ends.emplace_back(pipe[0]);
    processes.push_back(process);
  }
  Findings all;
  for (size_t i = 0; i < ends.size(); ++i) {
    std::string text;
    std::array<char, 4096> piece{};
    ssize_t size = 0;
    while ((size = ::read(ends[i].get(), piece.data(), piece.size())) > 0) {
      text.append(piece.data(), static_cast<size_t>(size));
    }
    ::waitpid(processes[i], nullptr, 0);
    all.add(findings_of(text));
  }
  return all;
}

struct Recorded {
  FileTree base;
  Profiles acknowledged;  // before the run
  std::vector<FileOperation> operations;
};

constexpr std::string_view kAcknowledged = "acknowledged ";

Recorded record(const Scenario& scenario, const std::string& folder) {
  Recorded recorded;
  recorded.acknowledged = scenario.prepare(folder);
  recorded.base = read_tree(folder);
  FileLayer::record(folder);
  Witness witness([](uint64_t profile) { FileLayer::mark(fmt::format("{}{}", kAcknowledged, profile)); });
  scenario.run(folder, witness);
  recorded.operations = FileLayer::take();
  EXPECT_EQ(witness.failure(), "");
  EXPECT_TRUE(std::ranges::any_of(recorded.operations, &FileOperation::is_point))
      << scenario.name() << " changes no file";
  return recorded;
}

void add_acknowledged(const FileOperation& mark, Profiles& acknowledged) {
  uint64_t profile = 0;
  const std::string_view number = std::string_view(mark.path).substr(kAcknowledged.size());
  std::from_chars(number.data(), number.data() + number.size(), profile);
  acknowledged.insert(profile);
}

// Looks at one share of the states after crashes in a recorded run.
class Sweep {
 public:
  Sweep(const Scenario& scenario, const Recorded& recorded, std::string folder, int worker, uint64_t seed)
      : scenario_(scenario), recorded_(recorded), folder_(std::move(folder)), worker_(worker), seed_(seed) {}

  Findings run() {
    using Unsynced = SimulatedDisk::Unsynced;
    SimulatedDisk disk(recorded_.base);
    acknowledged_ = recorded_.acknowledged;
    std::map<uint32_t, std::string> paths;
    for (size_t i = 0; i < recorded_.operations.size() && findings_.problems.size() < kMaxProblems; ++i) {
      const FileOperation& operation = recorded_.operations[i];
      if (operation.action == FileAction::kMark) {
        add_acknowledged(operation, acknowledged_);
        continue;
      }
      if (!operation.path.empty()) {
        paths[operation.handle] = operation.path;
      }
      at_ = fmt::format("operation {} ({} {})", i, name_of(operation.action),
                        operation.path.empty() ? paths[operation.handle] : operation.path);
      if (operation.action == FileAction::kWrite) {
        for (const size_t bytes : cuts_of(operation.bytes.size())) {
          look_at("torn", disk.torn(operation, bytes));
        }
      }
      disk.apply(operation);
      if (!operation.is_point()) {
        continue;
      }
      std::mt19937_64 random(seed_ + i);
      look_at("killed", disk.now());
      look_at("power, all lost", disk.after_power_failure(Unsynced::kLost, Unsynced::kLost, random));
      look_at("power, contents lost", disk.after_power_failure(Unsynced::kLost, Unsynced::kKept, random));
      look_at("power, names lost", disk.after_power_failure(Unsynced::kKept, Unsynced::kLost, random));
      for (uint64_t state = 0; state < random_states_; ++state) {
        look_at("power, at random", disk.after_power_failure(Unsynced::kRandom, Unsynced::kRandom, random));
      }
    }
    return std::move(findings_);
  }

 private:
  // Lengths of a write that was torn.
  static std::set<size_t> cuts_of(size_t bytes) {
    std::set<size_t> cuts;
    for (const size_t cut : {size_t{1}, bytes / 4, bytes / 2, bytes / 4 * 3, bytes - 1}) {
      if (cut > 0 && cut < bytes) {
        cuts.insert(cut);
      }
    }
    return cuts;
  }

  void look_at(const char* kind, const FileTree& tree) {
    const uint64_t state = hash_of(tree);
    const uint64_t draw = (state ^ seed_) % (one_of_ * kWorkers);
    if (draw % kWorkers != static_cast<uint64_t>(worker_)) {
      return;
    }
    const bool is_new = states_.insert(state).second;
    findings_.states.points += is_new ? 1 : 0;
    if (draw != static_cast<uint64_t>(worker_)) {
      return;
    }
    findings_.states.looked_at += is_new ? 1 : 0;
    // More may have been acknowledged since the disk was first like this.
    const uint64_t key = state ^ acknowledged_.size();
    Count& count = findings_.counts[kind];
    ++count.points;
    if (!seen_.insert(key).second) {
      return;
    }
    ++count.looked_at;
    write_tree(tree, folder_);
    const std::string wrong = scenario_.check(folder_, acknowledged_);
    if (!wrong.empty()) {
      findings_.problems.push_back(fmt::format("{}, {} at {}: {}", scenario_.name(), kind, at_, wrong));
    }
  }

  const Scenario& scenario_;
  const Recorded& recorded_;
  const std::string folder_;
  const int worker_;
  const uint64_t seed_;
  const uint64_t one_of_ = setting("PLIMSOLL_TEST_ONE_OF", 10);
  const uint64_t random_states_ = setting("PLIMSOLL_TEST_POWER_SEEDS", 2);
  std::string at_;
  Profiles acknowledged_;
  std::unordered_set<uint64_t> states_;
  std::unordered_set<uint64_t> seen_;
  Findings findings_;
};

uint64_t report(const Scenario& scenario, const Findings& findings,
                std::chrono::steady_clock::time_point started) {
  uint64_t points = 0;
  std::string kinds;
  for (const auto& [kind, count] : findings.counts) {
    points += count.points;
    kinds += fmt::format("; {}: {} ({})", kind, count.points, count.looked_at);
  }
  const auto elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started);
  const std::string states =
      findings.states.points == 0
          ? ""
          : fmt::format(", {} of {} states of the disk", findings.states.looked_at, findings.states.points);
  std::printf("%s: %lu points%s in %.1f s%s\n", scenario.name().c_str(), points, states.c_str(),
              elapsed.count(), kinds.c_str());
  std::fflush(stdout);
  for (const std::string& problem : findings.problems) {
    ADD_FAILURE() << problem;
  }
  return points;
}

class CrashSweep : public ::testing::Test {
 protected:
  CrashSweep() {
    set_log_level(LogLevel::kError);
    FileLayer::only_skip_syncs();
  }

  const uint64_t seed_ = setting("PLIMSOLL_TEST_FUZZ_SEED", 20'261'128);
  TemporaryDirectory folder_;
};

// Of a store, as against those that make, mend and copy one.
bool is_of_running(const std::string& phase) {
  constexpr std::array kPhases{"accepting",  "building", "sealing",  "merging",
                               "rolling up", "dropping", "upgrading"};
  return std::ranges::any_of(kPhases, [&](const char* name) { return phase.starts_with(name); });
}

TEST_F(CrashSweep, KilledTornOrWithoutPower) {
  uint64_t points = 0;
  Count all;
  Count of_running;
  const auto scenarios = wanted_scenarios();
  for (const auto& scenario : scenarios) {
    const auto started = std::chrono::steady_clock::now();
    const std::string run = folder_ / "run";
    const Recorded recorded = record(*scenario, run);
    SimulatedDisk disk(recorded.base);
    for (const FileOperation& operation : recorded.operations) {
      disk.apply(operation);
    }
    ASSERT_EQ(hash_of(disk.now()), hash_of(read_tree(run))) << "the record has not all changes";
    std::filesystem::remove_all(run);
    const Findings findings = in_workers([&](int worker) {
      return Sweep(*scenario, recorded, folder_ / fmt::format("worker-{}", worker), worker, seed_).run();
    });
    points += report(*scenario, findings, started);
    Count& states = is_of_running(scenario->name()) ? of_running : all;
    states.points += findings.states.points;
    states.looked_at += findings.states.looked_at;
  }
  all.points += of_running.points;
  all.looked_at += of_running.looked_at;
  std::printf(
      "crash sweep: %lu points in %lu phases, %lu of %lu distinct states of the disk; of these %lu of %lu of "
      "accepting, building, sealing, merging, rolling up, dropping and upgrading\n",
      points, scenarios.size(), all.looked_at, all.points, of_running.looked_at, of_running.points);
  if (std::getenv("PLIMSOLL_TEST_PHASE") == nullptr) {
    EXPECT_GE(of_running.points, 5000);
  }
}

// Of a run in another process.
struct Outcome {
  std::array<bool, 64> is_acknowledged{};
  std::array<char, 512> failure{};
};

class LiveRuns {
 public:
  LiveRuns(const Scenario& scenario, const Recorded& recorded, std::string folder)
      : scenario_(scenario),
        recorded_(recorded),
        folder_(std::move(folder)),
        outcome_(static_cast<Outcome*>(
            ::mmap(nullptr, sizeof(Outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  LiveRuns(const LiveRuns&) = delete;
  LiveRuns& operator=(const LiveRuns&) = delete;
  ~LiveRuns() { ::munmap(outcome_, sizeof(Outcome)); }

  // What is wrong; nothing.
  std::string run(const FileFault& fault) {
    *outcome_ = {};
    write_tree(recorded_.base, folder_);
    const pid_t process = ::fork();
    if (process == 0) {
      run_and_end(fault);
    }
    int status = 0;
    ::waitpid(process, &status, 0);
    if (!WIFEXITED(status)) {
      return fmt::format("the run was ended by signal {}", WTERMSIG(status));
    }
    const bool is_once = fault.count == 1 && fault.kind != FileFault::Kind::kEnd;
    if (is_once && outcome_->failure[0] != '\0') {
      return fmt::format("it failed once, and then: {}", outcome_->failure.data());
    }
    Profiles acknowledged = recorded_.acknowledged;
    for (uint64_t profile = 0; profile < outcome_->is_acknowledged.size(); ++profile) {
      if (outcome_->is_acknowledged[profile]) {
        acknowledged.insert(profile);
      }
    }
    return scenario_.check(folder_, acknowledged);
  }

 private:
  [[noreturn]] void run_and_end(const FileFault& fault) {
    ::alarm(kMaxRunSeconds);
    Witness witness([&](uint64_t profile) { outcome_->is_acknowledged.at(profile) = true; });
    FileLayer::fail(folder_, fault);
    scenario_.run(folder_, witness);
    witness.failure().copy(outcome_->failure.data(), outcome_->failure.size() - 1);
    ::_exit(0);
  }

  const Scenario& scenario_;
  const Recorded& recorded_;
  const std::string folder_;
  Outcome* const outcome_;
};

struct LiveKind {
  const char* name;
  FileFault::Kind kind;
  uint64_t count;
};
constexpr uint64_t kForAWhile = 25;
constexpr std::array kLiveKinds{
    LiveKind{"ENOSPC once", FileFault::Kind::kNoSpace, 1},
    LiveKind{"ENOSPC for a while", FileFault::Kind::kNoSpace, kForAWhile},
    LiveKind{"ENOSPC from then on", FileFault::Kind::kNoSpace, UINT64_MAX},
    LiveKind{"EIO once", FileFault::Kind::kIoError, 1},
    LiveKind{"EIO for a while", FileFault::Kind::kIoError, kForAWhile},
    LiveKind{"EIO from then on", FileFault::Kind::kIoError, UINT64_MAX},
    LiveKind{"short write", FileFault::Kind::kShort, 1},
    LiveKind{"short write, then ENOSPC for a while", FileFault::Kind::kShort, kForAWhile},
    LiveKind{"torn write and end", FileFault::Kind::kEnd, 1},
};

TEST_F(CrashSweep, OfADiskThatFails) {
  const auto begun = std::chrono::steady_clock::now();
  uint64_t points = 0;
  uint64_t all_operations = 0;
  const uint64_t runs = setting("PLIMSOLL_TEST_LIVE_RUNS", 8);
  const auto scenarios = wanted_scenarios();
  for (const auto& scenario : scenarios) {
    const auto started = std::chrono::steady_clock::now();
    const std::string folder = folder_ / "run";
    const Recorded recorded = record(*scenario, folder);
    std::filesystem::remove_all(folder);
    const auto operations =
        static_cast<uint64_t>(std::ranges::count_if(recorded.operations, &FileOperation::is_point));
    all_operations += operations;
    const Findings findings = in_workers([&](int worker) {
      Findings own;
      LiveRuns live(*scenario, recorded, folder_ / fmt::format("worker-{}", worker));
      std::mt19937_64 random(seed_ + static_cast<uint64_t>(worker));
      const uint64_t rounds = runs == 0 ? operations : std::min(runs, operations);
      for (const LiveKind& kind : kLiveKinds) {
        for (uint64_t i = static_cast<uint64_t>(worker); i < rounds; i += kWorkers) {
          const uint64_t first = runs == 0 ? i : random() % operations;
          const std::string wrong = live.run({kind.kind, first, kind.count});
          ++own.counts[kind.name].points;
          ++own.counts[kind.name].looked_at;
          if (!wrong.empty()) {
            own.problems.push_back(
                fmt::format("{}, {} at operation {}: {}", scenario->name(), kind.name, first, wrong));
          }
          if (own.problems.size() >= kMaxProblems) {
            return own;
          }
        }
      }
      return own;
    });
    points += report(*scenario, findings, started);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begun;
  std::printf("failing disk: %lu runs in %.0f s, of %zu kinds at %s of the %lu operations of %lu phases\n",
              points, elapsed.count(), kLiveKinds.size(), runs == 0 ? "each" : "some", all_operations,
              scenarios.size());
}

}  // namespace
}  // namespace plimsoll::testing
