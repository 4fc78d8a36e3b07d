#include "symbolizer/dwarf/flatten.h"

#include <algorithm>
#include <tuple>

namespace plimsoll::symbolizer {
namespace {

// From an address on something else holds.
struct Change {
  uint64_t from;
  uint32_t value;
};

void add_change(uint64_t from, uint32_t value, std::vector<Change>& changes) {
  if (!changes.empty() && changes.back().from == from) {
    changes.back().value = value;
  } else if (changes.empty() || changes.back().value != value) {
    changes.push_back({from, value});
  }
}

std::vector<Change> innermost_scopes(std::vector<ScopeRange> ranges) {
  std::ranges::sort(ranges, {}, [](const ScopeRange& range) {
    return std::tuple(range.from, UINT64_MAX - range.to, range.scope);
  });
  std::vector<Change> changes;
  std::vector<ScopeRange> open;
  const auto close_until = [&](uint64_t address) {
    while (!open.empty() && open.back().to <= address) {
      const uint64_t end = open.back().to;
      while (!open.empty() && open.back().to <= end) {
        open.pop_back();
      }
      add_change(end, open.empty() ? kNoScope : open.back().scope, changes);
    }
  };
  for (const ScopeRange& range : ranges) {
    close_until(range.from);
    add_change(range.from, range.scope, changes);
    open.push_back(range);
  }
  close_until(UINT64_MAX);
  return changes;
}

std::vector<Change> lines_by_address(const LineTable& table,
                                     const std::function<bool(uint64_t from)>& is_code) {
  std::vector<LineSequence> sequences;
  std::ranges::copy_if(table.sequences(), std::back_inserter(sequences),
                       [&](const LineSequence& sequence) { return is_code(sequence.from); });
  std::ranges::sort(sequences, {}, [](const LineSequence& sequence) {
    return std::tuple(sequence.from, sequence.first_row);
  });
  std::vector<Change> changes;
  for (const LineSequence& sequence : sequences) {
    uint64_t newest = changes.empty() ? 0 : changes.back().from;
    for (size_t i = sequence.first_row; i < sequence.first_row + sequence.rows; ++i) {
      const LineRow& row = table.rows()[i];
      // A sequence that begins within another says nothing of what that has said; rows go forward.
      if (row.address >= newest) {
        add_change(row.address, row.ends_sequence ? kNoLine : static_cast<uint32_t>(i), changes);
        newest = row.address;
      }
    }
  }
  return changes;
}

}  // namespace

std::vector<CodeRow> flatten(std::vector<ScopeRange> ranges, const LineTable* lines,
                             const std::function<bool(uint64_t from)>& is_code) {
  std::erase_if(ranges, [&](const ScopeRange& range) { return !is_code(range.from); });
  const std::vector<Change> scopes = innermost_scopes(std::move(ranges));
  const std::vector<Change> rows =
      lines == nullptr ? std::vector<Change>() : lines_by_address(*lines, is_code);
  std::vector<CodeRow> merged;
  CodeRow now{0, kNoScope, kNoLine};
  for (size_t s = 0, r = 0; s < scopes.size() || r < rows.size();) {
    const uint64_t next_scope = s < scopes.size() ? scopes[s].from : UINT64_MAX;
    const uint64_t next_row = r < rows.size() ? rows[r].from : UINT64_MAX;
    now.from = std::min(next_scope, next_row);
    if (next_scope == now.from && s < scopes.size()) {
      now.scope = scopes[s++].value;
    }
    if (next_row == now.from && r < rows.size()) {
      now.line = rows[r++].value;
    }
    merged.push_back(now);
  }
  return merged;
}

std::vector<CodeRow> clip(const std::vector<CodeRow>& rows, std::vector<AddressRange> ranges) {
  if (ranges.empty()) {
    return rows;
  }
  std::ranges::sort(ranges, {}, &AddressRange::from);
  std::vector<CodeRow> clipped;
  uint64_t covered = 0;  // up to there
  size_t row = 0;
  for (const AddressRange& range : ranges) {
    const uint64_t from = std::max(range.from, covered);
    if (from >= range.to) {
      continue;
    }
    while (row + 1 < rows.size() && rows[row + 1].from <= from) {
      ++row;
    }
    for (size_t i = row; i < rows.size() && rows[i].from < range.to; ++i) {
      clipped.push_back({std::max(rows[i].from, from), rows[i].scope, rows[i].line});
      row = i;
    }
    clipped.push_back({range.to, kNoScope, kNoLine});
    covered = range.to;
  }
  return clipped;
}

}  // namespace plimsoll::symbolizer
