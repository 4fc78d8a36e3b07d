#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "query/fdo/code/decoded_function.h"
#include "query/fdo/code/read_code.h"

namespace plimsoll::fdo {
namespace {

std::vector<bool> leaders_of(const DecodedFunction& decoded,
                             const std::vector<std::vector<uint64_t>>& tables) {
  const auto& instructions = decoded.instructions;
  std::vector<bool> leads(instructions.size());
  const auto mark = [&](uint64_t address) {
    if (const size_t i = decoded.begin_at(address); i != DecodedFunction::kNone) {
      leads[i] = true;
    }
  };
  for (const CodeRange& part : decoded.parts) {
    mark(part.from);
  }
  for (const auto& table : tables) {
    std::ranges::for_each(table, mark);
  }
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Decoded& insn = instructions[i];
    const bool ends = insn.flow != ControlFlow::kNext && insn.flow != ControlFlow::kCall;
    if ((ends || !decoded.is_followed(i)) && i + 1 < instructions.size()) {
      leads[i + 1] = true;
    }
    if (insn.has_target && insn.flow != ControlFlow::kCall) {
      mark(insn.target);
    }
  }
  return leads;
}

class BlockMaker {
 public:
  BlockMaker(const DecodedFunction& decoded, const std::vector<std::vector<uint64_t>>& tables,
             FunctionCode& function)
      : decoded_(decoded), tables_(tables), function_(function) {}

  void make() {
    add_blocks();
    size_t table = 0;
    for (uint32_t i = 0; i < function_.blocks.size(); ++i) {
      Block& block = function_.blocks[i];
      block.first_edge = static_cast<uint32_t>(function_.edges.size());
      const size_t last = block.first_instruction + block.instructions - 1;
      const Decoded& insn = decoded_.instructions[last];
      if (insn.flow == ControlFlow::kIndirectJump) {
        add_table(i, tables_[table++]);
      } else {
        add_edges(i, insn, decoded_.is_followed(last));
      }
      block.edges = static_cast<uint32_t>(function_.edges.size()) - block.first_edge;
    }
  }

 private:
  void add_blocks() {
    const std::vector<bool> leads = leaders_of(decoded_, tables_);
    for (size_t i = 0; i < decoded_.instructions.size(); ++i) {
      const Decoded& insn = decoded_.instructions[i];
      function_.instructions.push_back(
          {insn.address, insn.bytes, insn.cost, insn.flow == ControlFlow::kCall && !insn.has_target});
      if (i == 0 || leads[i]) {
        function_.blocks.push_back({});
        function_.blocks.back().from = insn.address;
        function_.blocks.back().first_instruction = static_cast<uint32_t>(i);
      }
      Block& block = function_.blocks.back();
      block.last = insn.address;
      block.to = insn.address + insn.bytes;
      ++block.instructions;
    }
  }

  void add_table(uint32_t from, const std::vector<uint64_t>& targets) {
    Block& block = function_.blocks[from];
    block.end = targets.empty() ? BlockEnd::kUnknownJump : BlockEnd::kTable;
    function_.has_unknown_jumps = function_.has_unknown_jumps || targets.empty();
    for (const uint64_t target : targets) {
      add_edge(from, target, true);
    }
  }

  void add_edges(uint32_t from, const Decoded& insn, bool is_followed) {
    Block& block = function_.blocks[from];
    const uint64_t next = insn.address + insn.bytes;
    switch (insn.flow) {
      case ControlFlow::kReturn:
        block.end = BlockEnd::kReturn;
        break;
      case ControlFlow::kStop:
        block.end = BlockEnd::kStop;
        break;
      case ControlFlow::kJump:
        block.end = add_edge(from, insn.target, true) ? BlockEnd::kJump : BlockEnd::kLeave;
        break;
      case ControlFlow::kConditional:
        block.end = BlockEnd::kConditional;
        add_edge(from, insn.target, true);
        if (is_followed) {
          add_edge(from, next, false);
        }
        break;
      default:
        block.end = is_followed ? BlockEnd::kFallThrough : BlockEnd::kStop;
        if (is_followed) {
          add_edge(from, next, false);
        }
    }
  }

  bool add_edge(uint32_t from, uint64_t to, bool is_taken) {
    const uint32_t target = function_.block_at(to);
    if (target == function_.blocks.size() || function_.blocks[target].from != to) {
      return false;
    }
    function_.edges.push_back({from, target, is_taken});
    return true;
  }

  const DecodedFunction& decoded_;
  const std::vector<std::vector<uint64_t>>& tables_;
  FunctionCode& function_;
};

std::string_view name_of_end(BlockEnd end) {
  switch (end) {
    case BlockEnd::kFallThrough:
      return "falls through";
    case BlockEnd::kConditional:
      return "conditional";
    case BlockEnd::kJump:
      return "jump";
    case BlockEnd::kTable:
      return "table";
    case BlockEnd::kUnknownJump:
      return "unknown jump";
    case BlockEnd::kLeave:
      return "leaves";
    case BlockEnd::kReturn:
      return "returns";
    case BlockEnd::kStop:
      return "stops";
  }
  return "?";
}

}  // namespace

void make_blocks(const DecodedFunction& decoded, const std::vector<std::vector<uint64_t>>& tables,
                 FunctionCode& function) {
  BlockMaker(decoded, tables, function).make();
}

std::string to_text(const FunctionCode& function) {
  std::string text;
  for (const Block& block : function.blocks) {
    text +=
        fmt::format("{:#x}..{:#x} {} {}", block.from, block.to, block.instructions, name_of_end(block.end));
    std::string_view separator = " -> ";
    for (const Edge& edge : function.edges_of(block)) {
      text += fmt::format("{}{:#x}", std::exchange(separator, " "), function.blocks[edge.to].from);
    }
    text += '\n';
  }
  return text;
}

}  // namespace plimsoll::fdo
