#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "query/fdo/code/execution.h"

namespace plimsoll::fdo {
namespace {

// More instructions than run between two taken branches of real code. llvm-profgen draws the line at a function's end alone.
constexpr uint32_t kMaxRangeInstructions = 10'000;

// A function's instructions by address, and how many of those before each block end the straight way.
class StraightWays {
 public:
  explicit StraightWays(const FunctionCode& function) : function_(function) {
    ends_.push_back(0);
    for (size_t i = 0; i < function.blocks.size(); ++i) {
      const Block& block = function.blocks[i];
      const bool goes_on = (block.end == BlockEnd::kFallThrough || block.end == BlockEnd::kConditional) &&
                           i + 1 < function.blocks.size() && function.blocks[i + 1].from == block.to;
      ends_.push_back(ends_.back() + (goes_on ? 0 : 1));
    }
  }

  // The instruction at an address; instructions.size() where none begins there.
  size_t instruction_at(uint64_t address) const {
    const auto found = std::ranges::lower_bound(function_.instructions, address, {}, &Instruction::address);
    const bool is_found = found != function_.instructions.end() && found->address == address;
    return is_found ? static_cast<size_t>(found - function_.instructions.begin())
                    : function_.instructions.size();
  }

  bool is_straight(uint64_t first, uint64_t last) const {
    return ends_[function_.block_at(last)] == ends_[function_.block_at(first)];
  }

 private:
  const FunctionCode& function_;
  std::vector<uint32_t> ends_;
};

bool can_branch(CostClass cost) {
  return cost == CostClass::kBranch || cost == CostClass::kCall || cost == CostClass::kSlow;
}

class BranchReader {
 public:
  BranchReader(const ProgramCode& code, const BinaryCounts& counts) : code_(code), counts_(counts) {
    result_.counts.from_branches = true;
    for (const AddressPair& branch : counts.branches) {
      branches_.emplace(branch.from, branch.to);
    }
  }

  Execution read() {
    for (const AddressPair& range : counts_.ranges) {
      add_range(range);
    }
    for (const AddressPair& branch : counts_.branches) {
      add_branch(branch);
    }
    for (const FunctionCode& function : code_.functions) {
      const auto entered = entries_.find(function.entry);
      if (entered != entries_.end()) {
        const ProgramCode::Part* part = part_of(function.entry);
        const uint32_t block = function.block_at(part->range.to - 1);
        const uint64_t last = block < function.blocks.size() ? function.blocks[block].last : function.entry;
        result_.counts.entries.push_back({function.entry, last, entered->second});
      }
    }
    result_.functions = touched_.size();
    std::ranges::sort(result_.counts.ranges, {},
                      [](const CountedRange& range) { return std::pair(range.first, range.last); });
    std::ranges::sort(result_.counts.branches, {},
                      [](const CountedBranch& branch) { return std::pair(branch.from, branch.to); });
    return std::move(result_);
  }

 private:
  const ProgramCode::Part* part_of(uint64_t address) const {
    const auto after = std::ranges::upper_bound(
        code_.parts, address, {}, [](const ProgramCode::Part& part) { return part.range.from; });
    return &*std::prev(after);
  }

  const StraightWays& ways_of(const FunctionCode& function) {
    return ways_.try_emplace(&function, function).first->second;
  }

  void add_range(const AddressPair& range) {
    const FunctionCode* function = code_.function_at(range.from);
    const bool is_repeated = branches_.contains({range.to, range.from});
    if (range.to < range.from) {
      (is_repeated ? result_.bogus.repeated : result_.bogus.backwards) += range.value;
      return;
    }
    if (function == nullptr || code_.function_at(range.to) != function) {
      (is_repeated ? result_.bogus.repeated : result_.bogus.outside) += range.value;
      return;
    }
    const StraightWays& ways = ways_of(*function);
    const size_t first = ways.instruction_at(range.from);
    const size_t last = ways.instruction_at(range.to);
    if (first == function->instructions.size() || last == function->instructions.size()) {
      result_.bogus.not_a_branch += range.value;
    } else if (!ways.is_straight(range.from, range.to)) {
      result_.bogus.over_jump += range.value;
    } else if (last - first > kMaxRangeInstructions) {
      result_.bogus.too_long += range.value;
    } else {
      result_.counts.ranges.push_back({range.from, range.to, range.value});
      result_.ranges_kept += range.value;
      touched_.insert(function);
    }
  }

  void add_branch(const AddressPair& branch) {
    const FunctionCode* from = code_.function_at(branch.from);
    const FunctionCode* to = code_.function_at(branch.to);
    CostClass cost =
        CostClass::kCall;  // of code that is not read: the stub of a shared library, a function over a limit
    if (from != nullptr) {
      const size_t source = ways_of(*from).instruction_at(branch.from);
      if (source == from->instructions.size() || !can_branch(from->instructions[source].cost)) {
        result_.bogus.not_a_branch += branch.value;
        return;
      }
      cost = from->instructions[source].cost;
    }
    if (to != nullptr && ways_of(*to).instruction_at(branch.to) == to->instructions.size()) {
      result_.bogus.not_a_branch += branch.value;
      return;
    }
    result_.counts.branches.push_back({branch.from, branch.to, branch.value});
    result_.branches_kept += branch.value;
    const bool is_inner_jump = from == to && cost == CostClass::kBranch;
    if (to != nullptr && branch.to == to->entry && !is_inner_jump) {
      entries_[to->entry] += branch.value;
    }
  }

  const ProgramCode& code_;
  const BinaryCounts& counts_;
  std::set<std::pair<uint64_t, uint64_t>> branches_;
  std::map<const FunctionCode*, StraightWays> ways_;
  std::map<uint64_t, double> entries_;
  std::set<const FunctionCode*> touched_;
  Execution result_;
};

}  // namespace

Execution execution_of_branches(const ProgramCode& code, const BinaryCounts& counts) {
  return BranchReader(code, counts).read();
}

}  // namespace plimsoll::fdo
