#include "query/fdo/code/indirect_calls.h"

#include <algorithm>
#include <map>

namespace plimsoll::fdo {
namespace {

// Under a call: fewer say little of where most calls go, and a compiler that guesses wrong compares addresses in vain.
constexpr double kMinSamples = 4;

struct Targets {
  double count = 0;  // of the call
  double samples = 0;
  std::map<uint64_t, double> value_by_entry = {};
};

// A caller's address on a stack is a return address, or lies in the call before it.
const Instruction* call_at(const FunctionCode& function, const Block& block, uint64_t address) {
  for (const Instruction& instruction : function.instructions_of(block)) {
    if (instruction.address < address && address <= instruction.address + instruction.bytes) {
      return instruction.is_indirect_call ? &instruction : nullptr;
    }
  }
  return nullptr;
}

double count_of(const Block& block, const std::vector<CountedRange>& ranges) {
  const auto range = std::ranges::lower_bound(ranges, block.from, {}, &CountedRange::first);
  return range != ranges.end() && range->first == block.from ? range->count : 0;
}

}  // namespace

std::vector<CountedBranch> indirect_calls(const ProgramCode& code, const BinaryCounts& counts,
                                          const std::vector<CountedRange>& ranges) {
  std::map<uint64_t, Targets> calls;
  for (const AddressPair& pair : counts.calls) {
    // A call may be the last of its function's code: what it returns to is then not in it.
    const FunctionCode* const caller = code.function_at(pair.from - 1);
    const FunctionCode* const callee = code.function_at(pair.to);
    if (caller == nullptr || callee == nullptr) {
      continue;
    }
    const uint32_t block = caller->block_at(pair.from - 1);
    const Instruction* const call =
        block < caller->blocks.size() ? call_at(*caller, caller->blocks[block], pair.from) : nullptr;
    if (call != nullptr) {
      Targets& targets = calls[call->address];
      targets.count = count_of(caller->blocks[block], ranges);
      targets.samples += pair.samples;
      targets.value_by_entry[callee->entry] += pair.value;
    }
  }
  std::vector<CountedBranch> branches;
  for (const auto& [from, targets] : calls) {
    double value = 0;
    for (const auto& [entry, of_entry] : targets.value_by_entry) {
      value += of_entry;
    }
    for (const auto& [entry, of_entry] : targets.value_by_entry) {
      if (targets.samples >= kMinSamples && targets.count > 0 && of_entry > 0) {
        branches.push_back({from, entry, targets.count * of_entry / value});
      }
    }
  }
  return branches;
}

}  // namespace plimsoll::fdo
