#include "tests/e2e/live_unwinder.h"

#include <sys/wait.h>

#include <sstream>

#include "base/time.h"
#include "daemon/events/cpu_list.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing {
namespace {

constexpr int64_t kDrainEveryNs = 50'000'000;

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

}  // namespace

const UserStack& LiveUnwinder::unwind(const perf::SampleRecord& sample) {
  stacks_.unwind(sample, {}, process(sample.pid), stack_);
  return stack_;
}

std::optional<FilePlace> LiveUnwinder::place(uint32_t pid, uint64_t address) {
  const identity::Mapping* const mapping = process(pid).mappings->find(address);
  if (mapping == nullptr || mapping->binary == nullptr) {
    return std::nullopt;
  }
  const auto elf_address =
      elf::address_of(mapping->binary->segments, address - mapping->start + mapping->file_offset);
  return elf_address ? std::optional(FilePlace{mapping->binary->path, *elf_address}) : std::nullopt;
}

Result<SampledRun> sample_program(const std::vector<std::string>& argv, const perf::SampledEvent& event,
                                  uint32_t stack_bytes, LiveUnwinder& unwinder,
                                  const std::function<void(const perf::SampleRecord&)>& consume) {
  const auto cpus = perf::online_cpus();
  if (!cpus) {
    return propagate(cpus);
  }
  auto sampler = perf::Sampler::open({.events = {event},
                                      .cpus = *cpus,
                                      .sample_pages = 2048,
                                      .stack_bytes = stack_bytes,
                                      .side_band_pages = 1024,
                                      .max_backlog_bytes = size_t{256} << 20,
                                      .seed = 1});
  if (!sampler) {
    return propagate(sampler);
  }
  if (auto enabled = sampler->enable(); !enabled) {
    return propagate(enabled);
  }
  unwinder.read_processes();
  // Everything that it maps is in the records, since it starts after them.
  Background program(argv);
  SampledRun run;
  const std::string executable = argv[0].contains('/') ? argv[0] : testing::program(argv[0]);
  const auto take = [&](Bytes bytes) {
    const auto record = perf::decode_record(bytes);
    const auto* sample = record ? std::get_if<perf::SampleRecord>(&record->body) : nullptr;
    if (record && sample == nullptr) {
      unwinder.apply(*record);
    } else if (sample != nullptr && sample->user_abi == PERF_SAMPLE_REGS_ABI_64 &&
               unwinder.process(sample->pid).identity->executable == executable) {
      ++run.samples;
      consume(*sample);
    }
  };
  while (!has_ended(program.pid())) {
    if (auto waited = sampler->wait(monotonic_now_ns() + kDrainEveryNs); !waited) {
      return propagate(waited);
    }
    sampler->drain(take);
  }
  if (auto disabled = sampler->disable(); !disabled) {
    return propagate(disabled);
  }
  sampler->drain_all(take);
  const auto counts = sampler->take_counts();
  if (!counts) {
    return propagate(counts);
  }
  run.lost = counts->at(0).lost;
  const auto side_band_lost = sampler->side_band_lost();
  if (!side_band_lost) {
    return propagate(side_band_lost);
  }
  run.side_band_lost = *side_band_lost;
  run.status = program.wait().status;
  return run;
}

const std::map<uint64_t, FunctionNames::Symbol>& FunctionNames::symbols_of(const std::string& path) {
  const auto [known, is_new] = by_path_.try_emplace(path);
  if (!is_new) {
    return known->second;
  }
  // A stripped file has its dynamic symbols left, which come first here: others replace them.
  for (const char* dynamic : {"-D", ""}) {
    std::istringstream lines(
        run({"/bin/sh", "-c", fmt::format("nm -S --defined-only {} {}", dynamic, path)}).out);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      uint64_t start = 0;
      uint64_t size = 0;
      std::string kind;
      std::string name;
      words >> std::hex >> start;
      if (!(words >> size)) {
        words.clear();
        size = 0;
      }
      words >> kind >> name;
      if (name.empty() || std::string_view("TtWwiu").find(kind) == std::string_view::npos) {
        continue;
      }
      Symbol& symbol = known->second[start];
      if (symbol.end == 0) {
        symbol = {name.substr(0, name.find('@')), size == 0 ? 0 : start + size};
      }
    }
  }
  return known->second;
}

FunctionNames::Function FunctionNames::find(const FilePlace& place) {
  const auto& symbols = symbols_of(place.path);
  auto after = symbols.upper_bound(place.elf_address);
  if (after == symbols.begin()) {
    return {};
  }
  const auto& [start, symbol] = *std::prev(after);
  if (symbol.end != 0 && place.elf_address >= symbol.end) {
    return {};
  }
  return {symbol.name, place.elf_address - start};
}

}  // namespace plimsoll::testing
