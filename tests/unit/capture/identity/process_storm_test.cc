// Processes that come and go faster than records are read, against a machine that knows the truth of each moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>

#include "base/time.h"
#include "capture/identity/processes.h"
#include "tests/unit/capture/identity/no_images.h"

namespace plimsoll::identity {
namespace {

// A machine of few PIDs, which are reused at once. What it tells as /proc is its present, while its records are read
// later; what it tells of a sample is the truth of that moment.
class Machine : public ProcessSource {
 public:
  struct Program {
    std::string executable;
    uint64_t at = 0;  // where its code is mapped; each exec changes it
    uint64_t inode = 0;
  };
  struct Truth {
    Program program;
    std::string library;
    uint64_t group = 0;
    std::string thread;
  };

  explicit Machine(uint64_t seed) : random_(seed) {
    processes_[1].threads = {{1, "init"}};
    processes_[1].started_ns = now_ns_;
    exec(1);
    records_.clear();
  }

  void step() {
    now_ns_ += std::uniform_int_distribution<int64_t>(1, 4 * kNsPerMs)(random_);
    const uint32_t pid = any_pid();
    switch (random_() % 8) {
      case 0:
      case 1:
        fork(pid);
        break;
      case 2:
        exec(pid);
        break;
      case 3:
        exit(pid);
        break;
      case 4:
        rename(pid);
        break;
      case 5:
        start_thread(pid);
        break;
      case 6:
        processes_[pid].group = 1 + random_() % kGroups;
        break;
      default:
        replace_library(pid);
        break;
    }
  }

  // A sample of any thread, and what is true of it.
  std::pair<perf::Record, Truth> sample() {
    now_ns_ += 1;
    const uint32_t pid = any_pid();
    const Running& running = processes_.at(pid);
    auto thread = running.threads.begin();
    std::advance(thread, random_() % running.threads.size());
    perf::SampleRecord sample{.event_id = 1, .pid = pid, .tid = thread->first, .cgroup = running.group};
    return {{now_ns_, sample}, {running.program, running.library, running.group, thread->second}};
  }

  // Those since the last call.
  std::vector<perf::Record> take_records() { return std::exchange(records_, {}); }

  static std::string path_of_group(uint64_t id) { return "/group" + std::to_string(id); }
  static constexpr uint64_t kGroups = 3;
  static constexpr uint64_t kLibraryAt = 0x7f0000000000;  // of each, whichever it is

  std::vector<uint32_t> pids() const override {
    std::vector<uint32_t> pids;
    for (const auto& [pid, running] : processes_) {
      pids.push_back(pid);
    }
    return pids;
  }
  std::string comm(uint32_t pid) const override {
    const Running* running = find(pid);
    return running != nullptr && running->threads.contains(pid) ? running->threads.at(pid) : std::string();
  }
  std::vector<NamedThread> threads(uint32_t pid) const override {
    std::vector<NamedThread> threads;
    if (const Running* running = find(pid)) {
      for (const auto& [tid, name] : running->threads) {
        if (tid != pid) {
          threads.push_back({tid, name});
        }
      }
    }
    return threads;
  }
  std::string executable(uint32_t pid) const override {
    const Running* running = find(pid);
    return running == nullptr ? std::string() : running->program.executable;
  }
  std::optional<ProcessStat> stat(uint32_t pid) const override {
    const Running* running = find(pid);
    return running == nullptr
               ? std::nullopt
               : std::optional(ProcessStat{running->started_ns / (10 * kNsPerMs) * (10 * kNsPerMs),
                                           static_cast<uint32_t>(running->threads.size()), false});
  }
  std::string cgroup(uint32_t /*pid*/) const override { return "0::/elsewhere\n"; }
  Result<std::vector<MapsEntry>> maps(uint32_t pid) const override {
    const Running* running = find(pid);
    if (running == nullptr) {
      return fail(ErrorCode::kNotFound, "no process {}", pid);
    }
    const Program& program = running->program;
    std::vector<MapsEntry> entries{
        {program.at, program.at + 0x1000, true, 0, {1, 1, program.inode}, program.executable, false}};
    if (!running->library.empty()) {
      entries.push_back({kLibraryAt, kLibraryAt + 0x1000, true, 0, {1, 1, 200}, running->library, false});
    }
    return entries;
  }
  int64_t now_ns() const override { return now_ns_; }

 private:
  struct Running {
    Program program;
    std::string library = {};  // path; empty: none yet
    std::map<uint32_t, std::string> threads;
    uint64_t group = 1;
    int64_t started_ns = 0;
  };

  const Running* find(uint32_t pid) const {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? nullptr : &found->second;
  }
  uint32_t any_pid() {
    auto at = processes_.begin();
    std::advance(at, random_() % processes_.size());
    return at->first;
  }
  void record(auto body) { records_.push_back({now_ns_, std::move(body)}); }

  // The lowest free one, so that what has just ended is used again; but not so soon that /proc's times of starts would not
  // tell the two from each other.
  uint32_t free_pid() const {
    uint32_t pid = 2;
    const auto is_used = [&](uint32_t candidate) {
      return std::ranges::any_of(processes_, [&](const auto& entry) {
        return entry.first == candidate || entry.second.threads.contains(candidate);
      });
    };
    const auto is_too_soon = [&](uint32_t candidate) {
      const auto last = last_start_ns_.find(candidate);
      return last != last_start_ns_.end() && now_ns_ - last->second < 30 * kNsPerMs;
    };
    while (is_used(pid) || is_too_soon(pid)) {
      ++pid;
    }
    return pid;
  }

  void fork(uint32_t parent) {
    if (processes_.size() >= 12) {
      return;
    }
    const uint32_t pid = free_pid();
    Running child = processes_.at(parent);
    child.threads = {{pid, child.threads.begin()->second}};
    child.started_ns = now_ns_;
    last_start_ns_[pid] = now_ns_;
    const uint32_t forker = processes_.at(parent).threads.begin()->first;
    processes_[pid] = std::move(child);
    record(perf::ForkRecord{pid, parent, pid, forker});
  }

  void exec(uint32_t pid) {
    Running& running = processes_.at(pid);
    const uint64_t number = random_() % 5;
    running.program = {"/bin/program" + std::to_string(number), 0x1000 * (1 + random_() % (1 << 20)),
                       100 + number};
    running.library.clear();
    running.threads = {{pid, "program" + std::to_string(number)}};
    record(perf::CommRecord{pid, pid, running.threads.at(pid), true});
    record(perf::MmapRecord{
        pid, running.program.at, 0x1000, 0, {}, running.program.executable, 1, 1, running.program.inode});
  }

  // dlclose() and dlopen(), of which the second is recorded.
  void replace_library(uint32_t pid) {
    Running& running = processes_.at(pid);
    running.library = "/lib/library" + std::to_string(random_() % 3);
    record(perf::MmapRecord{pid, kLibraryAt, 0x1000, 0, {}, running.library, 1, 1, 200});
  }

  void exit(uint32_t pid) {
    if (pid == 1) {
      return;
    }
    for (const auto& [tid, name] : processes_.at(pid).threads) {
      record(perf::ExitRecord{pid, tid});
    }
    processes_.erase(pid);
  }

  void rename(uint32_t pid) {
    const std::string name = "renamed" + std::to_string(random_() % 100);
    auto& thread = *processes_.at(pid).threads.rbegin();
    thread.second = name;
    record(perf::CommRecord{pid, thread.first, name, false});
  }

  void start_thread(uint32_t pid) {
    Running& running = processes_.at(pid);
    if (running.threads.size() >= 4) {
      return;
    }
    const uint32_t maker = running.threads.begin()->first;
    const uint32_t tid = free_pid();
    running.threads[tid] = running.threads.at(maker);
    record(perf::ForkRecord{pid, pid, tid, maker});
  }

  std::mt19937_64 random_;
  std::map<uint32_t, Running> processes_;
  std::map<uint32_t, int64_t> last_start_ns_;
  std::vector<perf::Record> records_;
  int64_t now_ns_ = 1'000 * kNsPerMs;
};

struct Outcome {
  int right = 0;
  int unknown = 0;
};

// Many things happen between two readings of the records, of which `loss` are lost, and all at once.
class Storm {
 public:
  Storm(uint64_t seed, double loss) : random_(seed + 1), loss_(loss), machine_(seed) {}

  void run(Outcome& outcome) {
    happen(20, nullptr);
    table_.scan();
    for (const perf::Record& record : machine_.take_records()) {
      table_.apply(record);  // of before the scan, which knows better
    }
    for (uint64_t id = 1; id <= Machine::kGroups; ++id) {
      table_.apply({machine_.now_ns(), perf::CgroupRecord{id, Machine::path_of_group(id)}});
    }
    for (int batch = 0; batch < 40; ++batch) {
      std::vector<std::pair<perf::Record, Machine::Truth>> samples;
      happen(25, &samples);
      read(samples, outcome);
      if (batch % 10 == 9) {
        table_.end_window();
      }
    }
  }

 private:
  void happen(int steps, std::vector<std::pair<perf::Record, Machine::Truth>>* samples) {
    for (int i = 0; i < steps; ++i) {
      machine_.step();
      if (samples != nullptr) {
        samples->push_back(machine_.sample());
      }
    }
  }

  void read(const std::vector<std::pair<perf::Record, Machine::Truth>>& samples, Outcome& outcome) {
    std::vector<perf::Record> records = machine_.take_records();
    const bool loses = std::bernoulli_distribution(loss_ > 0 ? 0.3 : 0)(random_);
    if (loses) {
      std::erase_if(records,
                    [&](const perf::Record&) { return std::bernoulli_distribution(loss_)(random_); });
      table_.invalidate();
    }
    auto record = records.begin();
    for (const auto& [sample, truth] : samples) {
      for (; record != records.end() && record->time_ns < sample.time_ns; ++record) {
        table_.apply(*record);
      }
      check(sample, truth, outcome);
    }
    std::for_each(record, records.end(), [&](const perf::Record& late) { table_.apply(late); });
  }

  void check(const perf::Record& record, const Machine::Truth& truth, Outcome& outcome) {
    const auto& sample = std::get<perf::SampleRecord>(record.body);
    Process& process = table_.find(sample.pid, record.time_ns);
    EXPECT_EQ(*table_.cgroup_of(process, sample.cgroup), Machine::path_of_group(truth.group));
    if (!process.is_known) {
      EXPECT_EQ(process.identity->executable, "");
      EXPECT_TRUE(process.mappings->all().empty());
      ++outcome.unknown;
      return;
    }
    ++outcome.right;
    ASSERT_EQ(process.identity->executable, truth.program.executable) << "PID " << sample.pid;
    const Mapping* mapping = process.mappings->find(truth.program.at + 1);
    ASSERT_TRUE(mapping != nullptr && mapping->binary != nullptr) << "PID " << sample.pid;
    ASSERT_EQ(mapping->binary->path, truth.program.executable);
    const Mapping* library = process.mappings->find(Machine::kLibraryAt);
    if (library != nullptr) {
      ASSERT_EQ(library->binary->path, truth.library) << "PID " << sample.pid;
    }
    if (loss_ == 0) {
      ASSERT_EQ(library != nullptr, !truth.library.empty()) << "PID " << sample.pid;
      ASSERT_EQ(ProcessTable::thread_name(process, sample.tid), truth.thread) << "PID " << sample.pid;
    }
  }

  std::mt19937_64 random_;
  const double loss_;
  Machine machine_;
  NoImages images_;
  BinaryTable binaries_{images_};
  ProcessTable table_{machine_, binaries_, {}};
};

TEST(ProcessStorm, WithAllRecordsEverySampleHasItsProgramGroupAndThread) {
  Outcome outcome;
  for (uint64_t seed = 0; seed < 100 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Storm(seed, 0).run(outcome);
  }
  EXPECT_EQ(outcome.unknown, 0);
  EXPECT_EQ(outcome.right, 100'000);
}

TEST(ProcessStorm, WithRecordsLostASampleHasItsProgramOrNone) {
  Outcome outcome;
  for (uint64_t seed = 0; seed < 200 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Storm(seed, seed % 2 == 0 ? 0.1 : 0.7).run(outcome);
  }
  EXPECT_GT(outcome.right, outcome.unknown) << "what goes on after a loss is found again";
  EXPECT_GT(outcome.unknown, 1000);
}

}  // namespace
}  // namespace plimsoll::identity
