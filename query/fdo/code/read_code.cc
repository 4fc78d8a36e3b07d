#include "query/fdo/code/read_code.h"

#include <elf.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "query/fdo/code/decoded_function.h"
#include "query/fdo/code/noreturn.h"

namespace plimsoll::fdo {
namespace {

// Parts of functions by name: "f" and "f.cold". Static functions may share a name.
using Extents = std::vector<FunctionExtent>;
using ByName = std::multimap<std::string_view, const FunctionExtent*>;

class CodeReader {
 public:
  CodeReader(const elf::ElfFile& binary, const Extents& extents, const CodeLimits& limits, Decoder decoder)
      : extents_(extents),
        limits_(limits),
        decoder_(std::move(decoder)),
        sections_(binary),
        noreturn_(binary, extents, sections_),
        budget_{limits.max_entries, limits.max_table_steps} {
    for (const FunctionExtent& extent : extents) {
      const std::string_view hot = hot_name_of(extent.name);
      (hot.empty() ? hot_ : cold_).emplace(hot.empty() ? std::string_view(extent.name) : hot, &extent);
    }
  }

  bool has_code() const { return sections_.has_code(); }

  ProgramCode read(std::span<const uint64_t> addresses, Machine machine) {
    program_.machine = machine;
    for (const FunctionExtent* root : roots_of(addresses)) {
      add_function(*root);
    }
    // Cold parts that no function of their name jumps to.
    for (const FunctionExtent* part : sampled_) {
      if (!taken_.contains(part->from) && !hot_name_of(part->name).empty()) {
        add_function(*part);
      }
    }
    std::ranges::sort(program_.functions, {}, &FunctionCode::entry);
    for (uint32_t i = 0; i < program_.functions.size(); ++i) {
      for (const CodeRange& part : program_.functions[i].parts) {
        program_.parts.push_back({part, i});
      }
    }
    std::ranges::sort(program_.parts, {}, [](const ProgramCode::Part& part) { return part.range.from; });
    for (const uint64_t address : addresses) {
      if (program_.function_at(address) == nullptr && extent_at(extents_, address) != nullptr) {
        ++program_.addresses_over_limit;
      }
    }
    return std::move(program_);
  }

 private:
  // In order of their addresses.
  std::vector<const FunctionExtent*> roots_of(std::span<const uint64_t> addresses) {
    std::set<const FunctionExtent*> roots;
    std::set<std::string_view> names;  // of sampled cold parts
    for (const uint64_t address : addresses) {
      const FunctionExtent* extent = extent_at(extents_, address);
      if (extent == nullptr) {
        ++program_.addresses_elsewhere;
        continue;
      }
      if (!sampled_.insert(extent).second) {
        continue;
      }
      const std::string_view hot = hot_name_of(extent->name);
      if (hot.empty()) {
        roots.insert(extent);
        continue;
      }
      if (!names.insert(hot).second) {
        continue;
      }
      const auto [first, last] = hot_.equal_range(hot);
      for (auto root = first; root != last; ++root) {
        roots.insert(root->second);
      }
    }
    return {roots.begin(), roots.end()};
  }

  void add_function(const FunctionExtent& root) {
    DecodedFunction decoded;
    std::vector<const FunctionExtent*> parts{&root};
    const auto [first_hot, last_hot] = hot_.equal_range(root.name);
    if (first_hot != last_hot && std::next(first_hot) == last_hot) {
      const auto [first, last] = cold_.equal_range(root.name);
      for (auto part = first; part != last; ++part) {
        parts.push_back(part->second);
      }
    }
    std::set<const FunctionExtent*> is_part(parts.begin(), parts.end());
    for (size_t i = 0; i < parts.size(); ++i) {
      const CodeRange range{parts[i]->from, parts[i]->to};
      const uint64_t bytes = range.to - range.from;
      if (bytes > limits_.max_function_bytes || bytes > limits_.max_bytes - bytes_ ||
          program_blocks_ > limits_.max_blocks) {
        return;
      }
      bytes_ += bytes;
      decoded.parts.push_back(range);
      const size_t begin = decoded.instructions.size();
      decode(range, decoded.instructions);
      for (size_t insn = begin; insn < decoded.instructions.size(); ++insn) {
        const Decoded& jump = decoded.instructions[insn];
        const FunctionExtent* to =
            jump.has_target && jump.flow != ControlFlow::kCall ? extent_at(extents_, jump.target) : nullptr;
        if (to != nullptr && hot_name_of(to->name) == root.name && is_part.insert(to).second) {
          parts.push_back(to);
        }
      }
    }
    if (decoded.instructions.empty()) {
      return;
    }
    std::ranges::sort(decoded.parts, {}, &CodeRange::from);
    std::ranges::sort(decoded.instructions, {}, &Decoded::address);
    for (const FunctionExtent* part : parts) {
      taken_.insert(part->from);
    }
    finish(root, decoded);
  }

  void decode(const CodeRange& range, std::vector<Decoded>& instructions) {
    const Bytes bytes = sections_.code_at(range.from);
    const uint64_t size = std::min<uint64_t>(bytes.size(), range.to - range.from);
    const uint64_t step = program_.machine == Machine::kX64 ? 1 : 4;
    for (uint64_t offset = 0; offset < size;) {
      const Bytes rest = bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(size - offset));
      auto insn = decoder_.decode(rest, range.from + offset);
      if (!insn) {
        program_.unreadable_bytes += std::min(step, size - offset);
        offset += step;
        continue;
      }
      if (insn->flow == ControlFlow::kCall && insn->has_target &&
          noreturn_.is_target(insn->target, decoder_)) {
        insn->flow = ControlFlow::kStop;
      }
      offset += insn->bytes;
      instructions.push_back(*insn);
    }
  }

  void finish(const FunctionExtent& root, DecodedFunction& decoded) {
    FunctionCode function;
    function.name = root.name;
    function.entry = root.from;
    function.parts = decoded.parts;
    const JumpTables jump_tables(decoded, sections_, limits_.max_table_entries, budget_);
    std::vector<std::vector<uint64_t>> tables;
    for (size_t i = 0; i < decoded.instructions.size(); ++i) {
      Decoded& insn = decoded.instructions[i];
      if (insn.flow != ControlFlow::kIndirectJump) {
        continue;
      }
      std::vector<uint64_t> targets =
          program_.machine == Machine::kX64 ? jump_tables.targets_of(i) : std::vector<uint64_t>();
      if (targets.empty() && jump_tables.is_tail_call(i)) {
        insn.flow = ControlFlow::kJump;  // without a target in the function: it leaves
        continue;
      }
      ++(targets.empty() ? program_.unknown_jumps : program_.tables);
      tables.push_back(std::move(targets));
    }
    make_blocks(decoded, tables, function);
    program_blocks_ += function.blocks.size();
    program_.functions.push_back(std::move(function));
  }

  const Extents& extents_;
  const CodeLimits& limits_;
  Decoder decoder_;
  LoadedSections sections_;
  NoReturn noreturn_;
  TableBudget budget_;
  ByName hot_;   // by name
  ByName cold_;  // by the name of the function that it is a part of
  std::set<const FunctionExtent*> sampled_;
  std::set<uint64_t> taken_;
  uint64_t bytes_ = 0;
  uint64_t program_blocks_ = 0;
  ProgramCode program_;
};

}  // namespace

Result<Machine> machine_of(const elf::ElfFile& binary) {
  switch (binary.machine()) {
    case EM_X86_64:
      return Machine::kX64;
    case EM_AARCH64:
      return Machine::kAarch64;
    default:
      return fail(
          ErrorCode::kUnsupported,
          "reading the code of a binary for machine {}: only x86-64 (62) and AArch64 (183) are supported",
          binary.machine());
  }
}

Result<ProgramCode> read_code(const elf::ElfFile& binary, const Extents& extents,
                              std::span<const uint64_t> addresses, const CodeLimits& limits) {
  const auto machine = machine_of(binary);
  if (!machine) {
    return propagate(machine);
  }
  auto decoder = Decoder::create(*machine);
  if (!decoder) {
    return propagate(decoder);
  }
  CodeReader reader(binary, extents, limits, std::move(*decoder));
  if (!reader.has_code()) {
    return with_hint(fail(ErrorCode::kInvalid, "reading the code of a binary: it has no code"),
                     "give the binary itself, not its separate debug file");
  }
  return reader.read(addresses, *machine);
}

}  // namespace plimsoll::fdo
