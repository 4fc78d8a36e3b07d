#include "tests/e2e/perf_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <span>
#include <sstream>

#include "base/file.h"
#include "elf/elf_file.h"

namespace plimsoll::testing {
namespace {

constexpr uint64_t kFirstKernelAddress = uint64_t{1} << 63U;

bool is_root(const std::string& symbol) {
  static const std::set<std::string> kRoots{"_start", "clone3", "__clone3", "_dl_start_user"};
  return kRoots.contains(symbol);
}

const std::vector<elf::Segment>& segments_of(const std::string& path) {
  static std::map<std::string, std::vector<elf::Segment>> known;
  const auto [entry, is_new] = known.try_emplace(path);
  if (is_new) {
    const auto file = MappedFile::open(path, uint64_t{1} << 30U);
    const auto parsed = file ? elf::ElfFile::parse(file->bytes()) : propagate(file);
    entry->second = parsed ? parsed->segments() : std::vector<elf::Segment>();
  }
  return entry->second;
}

uint64_t file_offset_of(const std::string& path, uint64_t address) {
  for (const elf::Segment& segment : segments_of(path)) {
    if (segment.executable && address >= segment.address && address - segment.address < segment.file_bytes) {
      return address - segment.address + segment.file_offset;
    }
  }
  return address;
}

void add_frame(const wire::RawProfile& profile, int location, UserStack& stack) {
  const auto& locations = profile.locations();
  const uint64_t address = locations.address(location);
  const auto owner = static_cast<int>(locations.owner(location));
  switch (locations.kind(location)) {
    case wire::ELF: {
      const std::string& path = profile.binaries(owner).path();
      stack.frames.push_back(fmt::format("{}+{:x}", path, file_offset_of(path, address)));
      break;
    }
    case wire::ELF_FILE_OFFSET:
      stack.frames.push_back(fmt::format("{}+{:x}", profile.binaries(owner).path(), address));
      break;
    case wire::JIT:
      stack.frames.push_back(fmt::format("jit+{:x}", address));
      break;
    case wire::UNFINISHED:
      stack.end = wire::StackProblem_Name(static_cast<int>(address));
      break;
    default:
      break;  // the kernel's part
  }
}

std::string kind_of(const UserStack& perf, const UserStack& ours) {
  const auto [in_perf, in_ours] = std::ranges::mismatch(perf.frames, ours.frames);
  if (in_perf == perf.frames.end()) {
    return "ours goes on behind perf's root";
  }
  if (in_ours != ours.frames.end()) {
    return "another caller";
  }
  return "ours ends: " + (ours.end.empty() ? "at its outermost frame" : ours.end);
}

bool is_same(const UserStack& perf, const UserStack& ours) {
  const bool is_long_enough = ours.frames.size() >= perf.frames.size();
  const size_t expected = perf.stops_at_main && is_long_enough ? perf.frames.size() : ours.frames.size();
  return std::ranges::equal(perf.frames, std::span(ours.frames).first(expected));
}

size_t common_frames(const UserStack& a, const UserStack& b) {
  return static_cast<size_t>(std::ranges::mismatch(a.frames, b.frames).in1 - a.frames.begin());
}

// The difference is told by the stack of ours that agrees the longest.
void explain(const UserStack& perf, const std::vector<UserStack>& ours, Comparison& comparison) {
  const auto nearest =
      std::ranges::max_element(ours, {}, [&](const UserStack& stack) { return common_frames(perf, stack); });
  const UserStack none{{}, false, false, "there is no stack of that thread"};
  const UserStack& other = nearest == ours.end() ? none : *nearest;
  const std::string kind = kind_of(perf, other);
  ++comparison.differences[kind];
  comparison.examples.try_emplace(kind,
                                  fmt::format("perf: {}\n    ours: {} {}", fmt::join(perf.frames, " < "),
                                              fmt::join(other.frames, " < "), other.end));
}

}  // namespace

StacksByThread stacks_of_perf(const std::string& script) {
  StacksByThread stacks;
  UserStack* stack = nullptr;
  std::string caller;  // in the line before
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    unsigned tid = 0;
    unsigned long long address = 0;
    if (line.empty()) {
      stack = nullptr;
    } else if (stack == nullptr && std::sscanf(line.c_str(), " %*u/%u", &tid) == 1) {
      stack = &stacks[tid].emplace_back();
      caller.clear();
    } else if (stack != nullptr && std::sscanf(line.c_str(), " %llx", &address) == 1 &&
               address < kFirstKernelAddress) {
      std::istringstream words(line);
      std::string ip;
      std::string symbol;
      words >> ip >> symbol;
      const size_t file = line.rfind('(') + 1;
      stack->frames.push_back(fmt::format("{}+{:x}", line.substr(file, line.rfind(')') - file), address));
      // Where programs are stripped, _start has no name.
      stack->stops_at_main = symbol == "__libc_start_call_main";
      stack->reaches_root =
          stack->stops_at_main || is_root(symbol) || caller.starts_with("__libc_start_main");
      caller = symbol;
    }
  }
  return stacks;
}

StacksByThread stacks_of_profile(const wire::RawProfile& profile) {
  StacksByThread stacks;
  for (const wire::SampleTable& table : profile.samples()) {
    for (int row = 0; row < table.thread_size(); ++row) {
      UserStack stack;
      for (uint32_t node = table.stack(row); node != 0;
           node = profile.stacks().parent(static_cast<int>(node) - 1)) {
        add_frame(profile, static_cast<int>(profile.stacks().location(static_cast<int>(node) - 1)), stack);
      }
      const uint32_t tid = profile.threads(static_cast<int>(table.thread(row))).tid();
      stacks[tid].insert(stacks[tid].end(), table.hits(row), stack);
    }
  }
  return stacks;
}

Comparison compare(StacksByThread perf, StacksByThread ours) {
  Comparison comparison;
  for (auto& [tid, of_perf] : perf) {
    std::vector<UserStack>& of_us = ours[tid];
    std::vector<const UserStack*> unmatched;
    for (const UserStack& stack : of_perf) {
      if (!stack.reaches_root) {
        ++comparison.not_compared;
        continue;
      }
      ++comparison.compared;
      const auto same =
          std::ranges::find_if(of_us, [&](const UserStack& other) { return is_same(stack, other); });
      if (same != of_us.end()) {
        ++comparison.equal;
        of_us.erase(same);
      } else {
        unmatched.push_back(&stack);
      }
    }
    for (const UserStack* stack : unmatched) {
      explain(*stack, of_us, comparison);
    }
  }
  return comparison;
}

}  // namespace plimsoll::testing
