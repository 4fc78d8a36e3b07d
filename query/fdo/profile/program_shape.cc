#include "query/fdo/profile/program_shape.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "query/fdo/profile/function_name.h"

namespace plimsoll::fdo {
namespace {

using symbolizer::SymtabFrame;

// As in profiles (context_builder.cc).
constexpr uint32_t kLineMask = 0xffff;
// Marks of callees are above those of columns.
constexpr uint64_t kCalleeMark = uint64_t{1} << 32U;

// Lines with less in common are different lines.
constexpr double kMinAlike = 0.3;
// Of a line whose distance to the line before it is as it was: among lines that look the same, those that stay together win.
constexpr double kTogether = 0.25;
// Of pairs of lines in one alignment: some tenths of a second.
constexpr size_t kMaxPairs = 4'000'000;

uint64_t callee_mark(std::string_view name) {
  return kCalleeMark | (std::hash<std::string_view>()(stable_name(name)) & UINT32_MAX);
}

using Marks = std::vector<uint64_t>;

// Of all marks of both, how many both have.
double likeness(const Marks& a, const Marks& b) {
  size_t common = 0;
  for (auto of_a = a.begin(), of_b = b.begin(); of_a != a.end() && of_b != b.end();) {
    common += *of_a == *of_b ? 1 : 0;
    const bool takes_a = *of_a <= *of_b;
    of_b += *of_b <= *of_a ? 1 : 0;
    of_a += takes_a ? 1 : 0;
  }
  const size_t all = a.size() + b.size() - common;
  const double share = all == 0 ? 1 : static_cast<double>(common) / static_cast<double>(all);
  return share < kMinAlike ? 0 : share;
}

LineMap lines_as_they_stand(const FunctionShape& older, const FunctionShape& newer) {
  LineMap lines;
  for (const auto& [line, marks] : older.marks_by_line) {
    const auto found = newer.marks_by_line.find(line);
    if (found != newer.marks_by_line.end() && likeness(marks, found->second) > 0) {
      lines.emplace(line, line);
    }
  }
  return lines;
}

// The best alignment of two sequences (Needleman and Wunsch 1970), without a price for gaps.
class Alignment {
 public:
  Alignment(const FunctionShape& older, const FunctionShape& newer)
      : older_(older.marks_by_line.begin(), older.marks_by_line.end()),
        newer_(newer.marks_by_line.begin(), newer.marks_by_line.end()),
        best_((older_.size() + 1) * (newer_.size() + 1)),
        paired_(best_.size()) {}

  LineMap run() {
    for (size_t i = 1; i <= older_.size(); ++i) {
      for (size_t j = 1; j <= newer_.size(); ++j) {
        const double pair = value_of_pair(i, j);
        paired_[at(i, j)] = static_cast<float>(pair);
        best_[at(i, j)] = std::max({static_cast<float>(pair), best_[at(i - 1, j)], best_[at(i, j - 1)]});
      }
    }
    return traced_back();
  }

 private:
  using Line = std::pair<uint32_t, Marks>;

  size_t at(size_t i, size_t j) const { return i * (newer_.size() + 1) + j; }

  bool are_together(size_t i, size_t j) const {
    return i > 1 && j > 1 && paired_[at(i - 1, j - 1)] > 0 &&
           older_[i - 1].first - older_[i - 2].first == newer_[j - 1].first - newer_[j - 2].first;
  }

  // Of an alignment that ends with this pair; 0 where the two lines are different.
  double value_of_pair(size_t i, size_t j) const {
    const double alike = likeness(older_[i - 1].second, newer_[j - 1].second);
    if (alike == 0) {
      return 0;
    }
    const double before = best_[at(i - 1, j - 1)];
    const double together = are_together(i, j) ? paired_[at(i - 1, j - 1)] + kTogether : 0;
    return alike + std::max(before, together);
  }

  LineMap traced_back() const {
    LineMap lines;
    bool must_pair = false;
    for (size_t i = older_.size(), j = newer_.size(); i > 0 && j > 0;) {
      const float pair = paired_[at(i, j)];
      if (must_pair || (pair > 0 && pair >= best_[at(i, j)])) {
        lines.emplace(older_[i - 1].first, newer_[j - 1].first);
        // The value of this pair came with the one before it.
        must_pair = are_together(i, j) && paired_[at(i - 1, j - 1)] + kTogether >= best_[at(i - 1, j - 1)];
        --i;
        --j;
      } else if (best_[at(i - 1, j)] >= best_[at(i, j - 1)]) {
        --i;
      } else {
        --j;
      }
    }
    return lines;
  }

  const std::vector<Line> older_;
  const std::vector<Line> newer_;
  std::vector<float> best_;    // of the first i and j lines
  std::vector<float> paired_;  // the same, where line i is line j; 0: they are not alike
};

}  // namespace

ProgramShape::ProgramShape(const symbolizer::Symtab& symtab) {
  std::map<std::string_view, std::map<uint32_t, std::set<uint64_t>>> marks;
  std::vector<SymtabFrame> frames;
  symtab.for_each_row([&](uint64_t from) {
    frames.clear();
    symtab.look_up(from, frames);
    std::string_view callee;
    for (const SymtabFrame& frame : frames) {
      const std::string_view name = profile_name(frame);
      if (frame.start_line != 0 && frame.line != 0 && can_stand_in_profile(name)) {
        functions_.try_emplace(name, FunctionShape{.name = name, .start_line = frame.start_line});
        std::set<uint64_t>& at_line = marks[name][(frame.line - frame.start_line) & kLineMask];
        at_line.insert(frame.column);
        if (!callee.empty()) {
          at_line.insert(callee_mark(callee));
        }
      }
      callee = name;
    }
  });
  for (auto& [name, function] : functions_) {
    for (const auto& [line, at_line] : marks[name]) {
      function.marks_by_line.emplace(line, Marks(at_line.begin(), at_line.end()));
    }
    names_by_stable_[stable_name(name)].push_back(name);
  }
}

const FunctionShape* ProgramShape::find(std::string_view name) const {
  if (const auto found = functions_.find(name); found != functions_.end()) {
    return &found->second;
  }
  const auto names = names_by_stable_.find(stable_name(name));
  return names != names_by_stable_.end() && names->second.size() == 1
             ? &functions_.find(names->second.front())->second
             : nullptr;
}

LineMap align_lines(const FunctionShape& older, const FunctionShape& newer) {
  const bool is_too_large = older.marks_by_line.size() > kMaxPairs / (newer.marks_by_line.size() + 1);
  if (older.marks_by_line == newer.marks_by_line || is_too_large) {
    return lines_as_they_stand(older, newer);
  }
  return Alignment(older, newer).run();
}

}  // namespace plimsoll::fdo
