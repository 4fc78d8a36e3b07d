// Aligned columns of text that fit into a terminal: how every answer that is a table looks to people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::query {

// Where text goes.
struct TextStyle {
  size_t width = 0;  // of the terminal, in characters; 0: no terminal, lines are as long as they need to be
  bool has_colors = false;  // understands ECMA-48's SGR sequences
  bool has_blocks = false;  // a terminal whose character encoding is UTF-8: sparklines can be shown
};

enum class Emphasis : uint8_t { kNone, kBold, kFaint, kGood, kWary, kBad };

// In colour where the style has colours.
std::string emphasized(std::string text, Emphasis emphasis, const TextStyle& style);

// Characters, as terminals count them: bytes that do not continue a UTF-8 sequence.
size_t width_of(std::string_view text);

// Cut to `width` characters, the last of them "…", where it has more.
std::string clipped(std::string text, size_t width);

struct GridCell {
  std::string text;
  Emphasis emphasis = Emphasis::kNone;
};

// Which columns a narrow terminal keeps: of 0 all, of the others first those with the smallest number.
using ColumnPriority = uint8_t;
inline constexpr ColumnPriority kAlwaysShown = 0;
inline constexpr ColumnPriority kUsualPriority = 1;
inline constexpr ColumnPriority kDetail = 2;
inline constexpr ColumnPriority kMinorDetail = 3;

struct GridColumn {
  GridCell header;
  std::vector<GridCell> cells;  // as many in each column
  bool is_text = false;         // flush left, and cut short where it is too wide; else a number
  bool is_margin = false;       // stands close to the column before it, and goes where that goes
  bool is_ornament = false;     // the first to go where the terminal is narrow, without a word
  ColumnPriority priority = kUsualPriority;
};

struct Grid {
  std::string text;                   // a line for the headers and one for each row
  std::vector<std::string> left_out;  // headers of what did not fit, in their order
};

enum class GridFit : uint8_t {
  // Text that more columns follow is cut at 60 characters. On a terminal, text is cut short while 24 characters of each column
  // are left. Then columns are left out: those with the largest `priority` first, of equal ones from the right. What is
  // kAlwaysShown stays, text of the usual priority stays, and one number stays. Then text is cut down to 8 characters.
  kBest,
  // Every column stays; text is cut on a terminal only, down to 24 characters. Lines may be longer than the terminal is wide.
  kEveryColumn,
};

// Lines of at most style.width characters, where that can be. What is cut ends in "…".
Grid to_grid(std::vector<GridColumn> columns, const TextStyle& style, GridFit fit = GridFit::kBest);

}  // namespace plimsoll::query
