#include "query/annotate/annotate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "query/annotate/chain_table.h"
#include "query/annotate/function_match.h"
#include "query/fdo/code/disassembler.h"
#include "query/fdo/code/read_code.h"
#include "query/fdo/making/program.h"

namespace plimsoll::annotate {
namespace {

constexpr fdo::CodeLimits kCodeLimits{.max_function_bytes = uint64_t{1} << 20,
                                      .max_bytes = uint64_t{4} << 20};
constexpr size_t kMaxFunctions = 64;
constexpr size_t kMaxBranches = 20'000;

// Ranges by rising address, without overlaps.
using Parts = std::vector<fdo::CodeRange>;

bool lies_in(const Parts& parts, uint64_t address) {
  const auto after = std::ranges::upper_bound(parts, address, {}, &fdo::CodeRange::from);
  return after != parts.begin() && address < std::prev(after)->to;
}

// The samples within the parts.
template <typename Use>
void for_each_sample(const fdo::BinaryCounts& counts, const Parts& parts, Use use) {
  for (const fdo::CodeRange& part : parts) {
    for (auto at = std::ranges::lower_bound(counts.addresses, part.from, {}, &fdo::AddressSamples::address);
         at != counts.addresses.end() && at->address < part.to; ++at) {
      use(*at);
    }
  }
}

constexpr size_t kNoInstruction = SIZE_MAX;

// The instruction that contains the address, or kNoInstruction.
size_t instruction_at(const std::vector<AnnotatedInstruction>& instructions, uint64_t address) {
  const auto after = std::ranges::upper_bound(instructions, address, {}, &AnnotatedInstruction::address);
  if (after == instructions.begin()) {
    return kNoInstruction;
  }
  const auto found = std::prev(after);
  return address - found->address < std::max<uint64_t>(found->bytes, 1)
             ? static_cast<size_t>(found - instructions.begin())
             : kNoInstruction;
}

class Annotator {
 public:
  explicit Annotator(const AnnotateInput& input) : input_(input), chains_(input.symbols, annotation_) {}

  Result<Annotation> run() {
    extents_ = fdo::extents_of(input_.binary, input_.symbols);
    if (extents_.empty()) {
      return with_hint(
          fail(ErrorCode::kInvalid, "{} has no symbols (stripped): its functions are unknown", input_.name),
          "put its debug file where it is searched for, or give the unstripped file");
    }
    if (input_.symbols != nullptr) {
      add_extents_of_table(input_.function, input_.binary, *input_.symbols, input_.counts, extents_);
    }
    const auto addresses =
        sampled_addresses_of(input_.function, {extents_, input_.symbols, input_.counts, input_.name});
    if (!addresses) {
      return propagate(addresses);
    }
    const auto code = fdo::read_code(input_.binary, extents_, *addresses, kCodeLimits);
    if (!code) {
      return propagate(code, "reading the code of {}", input_.name);
    }
    if (code->functions.empty() && code->unreadable_bytes > 0) {
      return fail(ErrorCode::kInvalid, "{} in {} has no instruction: its symbol names data", input_.function,
                  input_.name);
    }
    if (code->functions.empty()) {
      return fail(ErrorCode::kTooLarge, "the code of {} in {} has more than {} bytes", input_.function,
                  input_.name, kCodeLimits.max_function_bytes);
    }
    auto disassembler = fdo::Disassembler::create(input_.binary);
    if (!disassembler) {
      return propagate(disassembler);
    }
    describe();
    for (const fdo::FunctionCode& function : code->functions) {
      if (annotation_.functions.size() < kMaxFunctions) {
        add_function(function, *disassembler);
      }
    }
    add_notes(*code);
    return std::move(annotation_);
  }

 private:
  void describe() {
    annotation_.function = input_.function;
    annotation_.binary = input_.counts.front().path;
    annotation_.build_id = input_.counts.front().build_id;
    for (const fdo::BinaryCounts& counts : input_.counts) {
      annotation_.events.push_back({counts.event, counts.unit, {}, {counts.value, counts.samples}});
    }
  }

  void add_function(const fdo::FunctionCode& code, fdo::Disassembler& disassembler) {
    // Several static functions of one name may share a cold part: it counts once.
    Parts parts;
    std::ranges::copy_if(code.parts, std::back_inserter(parts),
                         [&](const fdo::CodeRange& part) { return shown_parts_.insert(part.from).second; });
    if (parts.empty()) {
      return;
    }
    const std::string name = name_at(code.entry);
    AnnotatedFunction function{.name = name.empty() ? code.name : name, .linkage_name = code.name};
    for (const fdo::Instruction& instruction : code.instructions) {
      if (lies_in(parts, instruction.address)) {
        function.instructions.push_back(
            {instruction.address, instruction.bytes, 0, text_at(instruction.address, parts, disassembler)});
      }
    }
    add_gaps(parts, function);
    for (AnnotatedInstruction& instruction : function.instructions) {
      instruction.chain = chains_.chain_at(instruction.address, function.name);
    }
    add_counts(parts, function);
    add_branches(parts, function);
    annotation_.functions.push_back(std::move(function));
  }

  // "g+0x12"; empty where the address is in no function.
  std::string name_at(uint64_t address) {
    constexpr size_t kMaxNameBytes = 200;
    const fdo::FunctionExtent* const extent = fdo::extent_at(extents_, address);
    if (extent == nullptr) {
      return {};
    }
    // Demangling costs microseconds, and a function is called from many places.
    std::string& name = names_[extent->from];
    if (name.empty()) {
      name = shown_name(*extent, input_.symbols);
    }
    return address == extent->from
               ? name
               : fmt::format("{}+{:#x}", name.substr(0, kMaxNameBytes), address - extent->from);
  }

  std::string text_at(uint64_t address, const Parts& parts, fdo::Disassembler& disassembler) {
    auto instruction = disassembler.at(address);
    if (!instruction) {
      return {};
    }
    if (instruction->target && !lies_in(parts, *instruction->target)) {
      if (const std::string name = name_at(*instruction->target); !name.empty()) {
        instruction->text.append(" <").append(name).append(">");
      }
    }
    return std::move(instruction->text);
  }

  // Samples at bytes that are no instruction.
  void add_gaps(const Parts& parts, AnnotatedFunction& function) const {
    std::set<uint64_t> gaps;
    for (const fdo::BinaryCounts& counts : input_.counts) {
      for_each_sample(counts, parts, [&](const fdo::AddressSamples& at) {
        if (instruction_at(function.instructions, at.address) == kNoInstruction) {
          gaps.insert(at.address);
        }
      });
    }
    for (const uint64_t address : gaps) {
      function.instructions.push_back({address, 0, 0, "(no instruction)"});
    }
    std::ranges::sort(function.instructions, {}, &AnnotatedInstruction::address);
  }

  void add_counts(const Parts& parts, AnnotatedFunction& function) {
    const size_t events = input_.counts.size();
    function.counts.resize(function.instructions.size() * events);
    for (size_t event = 0; event < events; ++event) {
      for_each_sample(input_.counts[event], parts, [&](const fdo::AddressSamples& at) {
        const size_t instruction = instruction_at(function.instructions, at.address);
        const Count count{at.value, at.samples};
        function.counts[instruction * events + event] += count;
        annotation_.events[event].function += count;
      });
    }
  }

  void add_branches(const Parts& parts, AnnotatedFunction& function) {
    for (const fdo::AddressPair& pair : input_.counts.front().branches) {
      if (lies_in(parts, pair.from) || lies_in(parts, pair.to)) {
        function.branches.push_back({pair.from, pair.to, pair.value});
      }
    }
    if (function.branches.size() > kMaxBranches) {
      std::ranges::nth_element(function.branches, function.branches.begin() + kMaxBranches,
                               [](const auto& a, const auto& b) { return a.value > b.value; });
      function.branches.resize(kMaxBranches);
      std::ranges::sort(function.branches, [](const auto& a, const auto& b) {
        return std::pair(a.from, a.to) < std::pair(b.from, b.to);
      });
      annotation_.notes.push_back(fmt::format("of the branches of {} the {} that were taken most are shown",
                                              function.name, kMaxBranches));
    }
    for (AnnotatedBranch& branch : function.branches) {
      const bool comes_in = !lies_in(parts, branch.from);
      if (comes_in || !lies_in(parts, branch.to)) {
        branch.other_name = name_at(comes_in ? branch.from : branch.to);
      }
    }
  }

  void note(std::string text) {
    if (std::ranges::find(annotation_.notes, text) == annotation_.notes.end()) {
      annotation_.notes.push_back(std::move(text));
    }
  }

  void add_notes(const fdo::ProgramCode& code) {
    for (const fdo::BinaryCounts& counts : input_.counts) {
      std::ranges::for_each(counts.notes, [this](const std::string& text) { note(text); });
    }
    if (input_.symbols == nullptr || input_.symbols->quality() < symbolizer::SymtabQuality::kLines) {
      note(
          "instructions have no source lines: no line tables of this build were found (compile with -g, or "
          "install its debug file)");
    }
    if (code.addresses_over_limit > 0 || code.functions.size() > kMaxFunctions) {
      note(fmt::format("more code has this name than is shown: at most {} functions of {} bytes",
                       kMaxFunctions, kCodeLimits.max_function_bytes));
    }
    std::vector<std::string> imprecise;
    for (const AnnotatedEvent& event : annotation_.events) {
      if (!is_precise(event.name)) {
        imprecise.push_back(event.name);
      }
    }
    if (!imprecise.empty()) {
      note(
          fmt::format("{}: not precise (skid). A sample lies at an instruction after the one that caused it, "
                      "often the next one; of a load that waits, at the instruction that uses its value",
                      fmt::join(imprecise, ", ")));
    }
  }

  const AnnotateInput& input_;
  Annotation annotation_;
  ChainTable chains_;
  std::vector<fdo::FunctionExtent> extents_;
  std::unordered_map<uint64_t, std::string> names_;  // of functions, by the first address of the extent
  std::set<uint64_t> shown_parts_;                   // their first addresses
};

}  // namespace

Result<Annotation> annotate(const AnnotateInput& input) {
  return Annotator(input).run();
}

bool is_precise(std::string_view event) {
  // Software events and calls that report themselves; AMD's instruction-based sampling.
  constexpr std::array<std::string_view, 5> kPreciseBeginnings{"ibs_op", "alloc-", "heap-", "inuse-",
                                                               "lock-"};
  constexpr std::string_view kModifiers = "ukhHGSDpPeWIb";
  const bool begins_so = std::ranges::any_of(
      kPreciseBeginnings, [event](std::string_view beginning) { return event.starts_with(beginning); });
  const std::string_view name = event.substr(0, event.find(':'));
  if (begins_so || name.ends_with("-faults") || name == "context-switches") {
    return true;
  }
  const size_t end_of_name = event.find_last_of(":/");
  if (end_of_name == std::string_view::npos || event.substr(end_of_name + 1).empty()) {
    return false;
  }
  const std::string_view modifiers = event.substr(end_of_name + 1);
  const bool are_modifiers = modifiers.find_first_not_of(kModifiers) == std::string_view::npos;
  // What follows the colon of a tracepoint is its name: "sched:sched_switch".
  return are_modifiers ? modifiers.find_first_of("pP") != std::string_view::npos : event[end_of_name] == ':';
}

}  // namespace plimsoll::annotate
