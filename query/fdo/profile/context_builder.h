// Which line of which function, inlined through which calls, each piece of code is.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "query/fdo/code/execution_counts.h"
#include "query/fdo/profile/code_pieces.h"
#include "query/fdo/profile/context_tree.h"
#include "query/fdo/profile/profile_of.h"
#include "symbolizer/symtab/symtab.h"

namespace plimsoll::fdo {

// Borrows the symbol table and the options, and adds to the report.
class ContextBuilder {
 public:
  ContextBuilder(const symbolizer::Symtab& symtab, const ProfileOptions& options, ProfileReport& report)
      : symtab_(symtab), options_(options), report_(report) {}

  // Ascending and disjoint, as disjoint_pieces() gives them.
  void add_pieces(const std::vector<CodePiece>& pieces);
  void add_entries(const std::vector<CountedRange>& entries);
  // Calls of functions. Without entries, which say both, branches say where functions begin and how often each was entered.
  void add_branches(const ExecutionCounts& counts);

  ContextTree& tree() { return tree_; }

 private:
  using Frames = std::vector<symbolizer::SymtabFrame>;

  struct Place {
    std::vector<Context*> contexts;  // those that are sound, outermost first
    std::optional<LineOffset> line;  // in the innermost; nothing: unknown
    uint32_t duplication = 1;
    CountedCode* lost = nullptr;  // why `line` is nothing
    bool wrapped = false;
  };

  // Of the frames at an address; makes the contexts.
  Place place_of(const Frames& frames);
  std::optional<LineOffset> offset_of(const symbolizer::SymtabFrame& frame, Place& place);
  std::string_view name_of(const symbolizer::SymtabFrame& frame);
  void add_row(uint64_t from, uint64_t to, const std::vector<CodePiece>& pieces);
  // The function that has its entry there; empty: none.
  std::string_view function_at_entry(uint64_t address, const std::vector<CountedRange>& entries);

  const symbolizer::Symtab& symtab_;
  const ProfileOptions& options_;
  ProfileReport& report_;
  ContextTree tree_;
  std::set<std::string_view> renamed_;
  Frames frames_;
  size_t next_piece_ = 0;
};

}  // namespace plimsoll::fdo
