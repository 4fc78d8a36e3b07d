#include "query/fdo/profile/context_builder.h"

#include <algorithm>
#include <cmath>

#include "query/fdo/profile/discriminators.h"
#include "query/fdo/profile/function_name.h"

namespace plimsoll::fdo {
namespace {

using symbolizer::SymtabFrame;

// As clang and gcc do (FunctionSamples::getOffset in llvm/lib/ProfileData/SampleProf.cpp; get_combined_location in gcc/auto-profile.cc).
constexpr uint32_t kOffsetMask = 0xffff;

// What the last instruction of a range mostly has besides its first byte.
constexpr uint64_t kRestOfInstruction = 3;

bool is_count(double count) {
  return count > 0 && std::isfinite(count);
}

}  // namespace

std::string_view ContextBuilder::name_of(const SymtabFrame& frame) {
  const std::string_view name = profile_name(frame);
  if (!can_stand_in_profile(name)) {
    return {};
  }
  if (!frame.is_inlined && name.size() != frame.function.size() && renamed_.insert(frame.function).second) {
    ++report_.renamed;
  }
  return name;
}

std::optional<LineOffset> ContextBuilder::offset_of(const SymtabFrame& frame, Place& place) {
  if (frame.start_line == 0) {
    place.lost = &report_.no_start_line;
    return std::nullopt;
  }
  if (frame.line == 0 && !options_.line_zero) {
    place.lost = &report_.no_line;
    return std::nullopt;
  }
  const uint32_t offset = frame.line - frame.start_line;
  place.wrapped = place.wrapped || offset > kOffsetMask;
  const Discriminator discriminator = discriminator_of(frame.discriminator, symtab_.producer(frame.unit));
  place.duplication = discriminator.duplication;
  return LineOffset{.line = offset & kOffsetMask, .discriminator = discriminator.base};
}

ContextBuilder::Place ContextBuilder::place_of(const Frames& frames) {
  Place place;
  const std::string_view root = frames.empty() ? std::string_view() : name_of(frames.back());
  if (root.empty()) {
    place.lost = &report_.no_function;
    return place;
  }
  // Code that no debug information describes: its function is not one that a compiler asks for.
  if (frames.back().start_line == 0) {
    place.lost = &report_.no_start_line;
    return place;
  }
  place.contexts.push_back(&tree_[root]);
  for (size_t i = frames.size() - 1; i > 0; --i) {
    const auto call = offset_of(frames[i], place);
    const std::string_view callee = name_of(frames[i - 1]);
    if (!call || callee.empty()) {
      place.lost = &report_.no_call_line;
      return place;
    }
    place.contexts.push_back(&place.contexts.back()->callee(*call, callee));
  }
  place.line = offset_of(frames.front(), place);
  return place;
}

// Of the row's pieces, which are those from next_piece_ on. One may go on in the next row.
void ContextBuilder::add_row(uint64_t from, uint64_t to, const std::vector<CodePiece>& pieces) {
  std::optional<Place> place;
  while (next_piece_ < pieces.size() && pieces[next_piece_].from < to) {
    const CodePiece& piece = pieces[next_piece_];
    const uint64_t begin = std::max(piece.from, from);
    const uint64_t end = std::min(piece.to, to);
    if (begin < end) {
      if (!place) {
        frames_.clear();
        symtab_.look_up(from, frames_);
        place = place_of(frames_);
      }
      const uint64_t rest = piece.ends_range && end == piece.to ? std::min(kRestOfInstruction, to - end) : 0;
      const double weight = piece.count * static_cast<double>(end - begin + rest);
      report_.counted.add(weight);
      for (Context* const context : place->contexts) {
        context->weight += weight;
      }
      if (place->line) {
        report_.used.add(weight);
        double& count = place->contexts.back()->body[*place->line].count;
        count = std::max(count, piece.count * place->duplication);
        if (place->wrapped) {
          report_.wrapped.add(weight);
        }
      } else {
        place->lost->add(weight);
      }
    }
    if (piece.to > to) {
      return;
    }
    ++next_piece_;
  }
}

void ContextBuilder::add_pieces(const std::vector<CodePiece>& pieces) {
  next_piece_ = 0;
  // What lies before the first row is code of no row.
  uint64_t newest = 0;
  symtab_.for_each_row([&](uint64_t from) {
    if (next_piece_ < pieces.size() && from > newest) {
      add_row(newest, from, pieces);
    }
    newest = from;
  });
  add_row(newest, UINT64_MAX, pieces);
}

void ContextBuilder::add_entries(const std::vector<CountedRange>& entries) {
  for (const CountedRange& entry : entries) {
    frames_.clear();
    symtab_.look_up(entry.first, frames_);
    const std::string_view name = frames_.empty() ? std::string_view() : name_of(frames_.back());
    if (is_count(entry.count) && !name.empty() && frames_.back().start_line != 0 &&
        !is_part_of_function(frames_.back().function)) {
      tree_[name].head += entry.count;
    }
  }
}

std::string_view ContextBuilder::function_at_entry(uint64_t address,
                                                   const std::vector<CountedRange>& entries) {
  const auto root_at = [this](uint64_t at) {
    frames_.clear();
    symtab_.look_up(at, frames_);
    return frames_.empty() ? SymtabFrame() : frames_.back();
  };
  if (!entries.empty() && !std::ranges::binary_search(entries, address, {}, &CountedRange::first)) {
    return {};
  }
  const SymtabFrame root = root_at(address);
  const std::string_view name = name_of(root);
  if (root.start_line == 0 || is_part_of_function(root.function)) {
    return {};
  }
  if (entries.empty() && (address == 0 || root_at(address - 1).function == root.function)) {
    return {};
  }
  return name;
}

void ContextBuilder::add_branches(const ExecutionCounts& counts) {
  std::vector<CountedRange> entries = counts.entries;
  std::ranges::sort(entries, {}, &CountedRange::first);
  for (const CountedBranch& branch : counts.branches) {
    const std::string_view callee =
        is_count(branch.count) ? function_at_entry(branch.to, entries) : std::string_view();
    if (callee.empty()) {
      report_.other_branches += is_count(branch.count) ? branch.count : 0;
      continue;
    }
    if (entries.empty()) {
      tree_[callee].head += branch.count;
    }
    frames_.clear();
    symtab_.look_up(branch.from, frames_);
    const Place place = place_of(frames_);
    if (place.line) {
      Context::Line& line = place.contexts.back()->body[*place.line];
      line.calls[callee] += branch.count;
      // A line ran as often as it called, whatever the ranges say.
      double calls = 0;
      for (const auto& [name, count] : line.calls) {
        calls += count;
      }
      line.count = std::max(line.count, calls);
      report_.calls += branch.count;
    } else {
      report_.calls_no_line += branch.count;
    }
  }
}

}  // namespace plimsoll::fdo
