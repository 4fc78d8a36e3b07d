// The daemon's unwinder on processes of this machine, put together as the collector does it, but never given the chain that
// the kernel found by frame pointers: for tests that judge the unwinder by something else. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/identity/processes.h"
#include "capture/profile/user_stacks.h"
#include "daemon/sampling/sampler.h"

namespace plimsoll::testing {

// Where an address lies in the file that is mapped there.
struct FilePlace {
  std::string path;
  uint64_t elf_address = 0;
};

class LiveUnwinder {
 public:
  LiveUnwinder() : images_(proc_fs_), binaries_(images_), stacks_(images_) { forget_processes(); }

  // Side-band records, in the order of time.
  void apply(const perf::Record& record) { processes_->apply(record); }
  // What processes have mapped is read again when it is next needed.
  void forget_processes() { processes_.emplace(proc_fs_, binaries_); }
  // All that are there now; to be called once records are written. Later ones are known by their records alone: what /proc
  // says of them when a record is read is of a later time than the record.
  void read_processes() {
    forget_processes();
    processes_->scan();
  }

  const identity::Process& process(uint32_t pid) { return processes_->find(pid); }
  // Valid until the next call.
  const UserStack& unwind(const perf::SampleRecord& sample);
  // Nothing where no file is mapped.
  std::optional<FilePlace> place(uint32_t pid, uint64_t address);

 private:
  identity::ProcFs proc_fs_;
  identity::LiveImages images_;
  identity::BinaryTable binaries_;
  std::optional<identity::ProcessTable> processes_;
  UserStacks stacks_;
  UserStack stack_;
};

struct SampledRun {
  uint64_t samples = 0;  // of the program
  uint64_t lost = 0;     // by the kernel, of the whole machine
  // Of the whole machine too. Above 0, what the program mapped may be unknown, and its stacks say nothing.
  uint64_t side_band_lost = 0;
  int status = -1;  // the program's exit status
};

// Runs a program to its end, and hands over each sample in it, or in a child that has not started another program.
Result<SampledRun> sample_program(const std::vector<std::string>& argv, const perf::SampledEvent& event,
                                  uint32_t stack_bytes, LiveUnwinder& unwinder,
                                  const std::function<void(const perf::SampleRecord&)>& consume);

// The functions of ELF files, by nm(1).
class FunctionNames {
 public:
  struct Function {
    std::string name;  // empty: there is no symbol
    uint64_t offset = 0;
  };
  Function find(const FilePlace& place);

 private:
  struct Symbol {
    std::string name;
    uint64_t end = 0;  // 0: unknown
  };
  const std::map<uint64_t, Symbol>& symbols_of(const std::string& path);
  std::map<std::string, std::map<uint64_t, Symbol>> by_path_;
};

}  // namespace plimsoll::testing
