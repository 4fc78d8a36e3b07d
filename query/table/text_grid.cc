#include "query/table/text_grid.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

namespace plimsoll::query {
namespace {

// Names of templates run to hundreds of characters; within a line they must leave room for what follows.
constexpr size_t kWidestInnerText = 60;
constexpr size_t kComfortableText = 24;
constexpr size_t kNarrowestText = 8;

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80;
}

std::string padded(const std::string& text, size_t width, bool is_text) {
  const std::string spaces(width - std::min(width, width_of(text)), ' ');
  return is_text ? text + spaces : spaces + text;
}

// The columns that are shown, and how wide.
class Layout {
 public:
  Layout(std::vector<GridColumn>& columns, size_t line_width, GridFit fit)
      : columns_(columns), line_width_(line_width) {
    places_.resize(columns_.size());
    std::iota(places_.begin(), places_.end(), size_t{0});
    for (size_t i = 0; i < columns_.size(); ++i) {
      const bool is_inner_text = columns_[i].is_text && i + 1 < columns_.size();
      const size_t natural = natural_width(columns_[i]);
      widths_.push_back(is_inner_text && fit == GridFit::kBest ? std::min(natural, kWidestInnerText)
                                                               : natural);
    }
    if (line_width_ == 0) {
      return;
    }
    shrink_texts(kComfortableText);
    if (fit == GridFit::kEveryColumn) {
      return;
    }
    for (auto column = last_ornament(); excess() > 0 && column; column = last_ornament()) {
      leave_out(*column);
    }
    for (auto column = least_important(); excess() > 0 && column; column = least_important()) {
      leave_out(*column);
    }
    shrink_texts(kNarrowestText);
  }

  size_t width(size_t column) const { return widths_[column]; }
  // Headers, in the order of the columns.
  std::vector<std::string> left_out() const {
    std::vector<std::string> headers;
    for (const auto& [place, header] : left_out_) {
      headers.push_back(header);
    }
    return headers;
  }

 private:
  static size_t natural_width(const GridColumn& column) {
    size_t width = width_of(column.header.text);
    for (const GridCell& cell : column.cells) {
      width = std::max(width, width_of(cell.text));
    }
    return width;
  }

  size_t excess() const {
    size_t width = std::accumulate(widths_.begin(), widths_.end(), size_t{0});
    for (size_t i = 1; i < columns_.size(); ++i) {
      width += columns_[i].is_margin ? 1 : 2;
    }
    return width - std::min(width, line_width_);
  }

  // The widest first, so that no column pays for another's long names.
  void shrink_texts(size_t narrowest) {
    while (excess() > 0) {
      std::optional<size_t> widest;
      size_t second = narrowest;
      for (size_t i = 0; i < columns_.size(); ++i) {
        if (!columns_[i].is_text || widths_[i] <= narrowest) {
          continue;
        }
        if (!widest || widths_[i] > widths_[*widest]) {
          second = widest ? std::max(second, widths_[*widest]) : second;
          widest = i;
        } else {
          second = std::max(second, widths_[i]);
        }
      }
      if (!widest) {
        return;
      }
      const size_t step = std::max<size_t>(1, widths_[*widest] - second);
      widths_[*widest] -= std::min(step, excess());
    }
  }

  std::optional<size_t> last_ornament() const {
    for (size_t i = columns_.size(); i-- > 0;) {
      if (columns_[i].is_ornament) {
        return i;
      }
    }
    return std::nullopt;
  }

  bool is_number(size_t column) const { return !columns_[column].is_text && !columns_[column].is_margin; }

  std::optional<size_t> most_important_number() const {
    std::optional<size_t> found;
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (is_number(i) && (!found || columns_[i].priority < columns_[*found].priority)) {
        found = i;
      }
    }
    return found;
  }

  std::optional<size_t> least_important() const {
    const std::optional<size_t> kept = most_important_number();
    std::optional<size_t> found;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const ColumnPriority priority = columns_[i].priority;
      const bool may_go = columns_[i].is_text ? priority > kUsualPriority
                                              : is_number(i) && priority > kAlwaysShown && i != kept;
      if (may_go && (!found || priority >= columns_[*found].priority)) {
        found = i;
      }
    }
    return found;
  }

  void leave_out(size_t column) {
    if (!columns_[column].is_ornament) {
      left_out_.emplace(places_[column], columns_[column].header.text);
    }
    const bool has_margin = column + 1 < columns_.size() && columns_[column + 1].is_margin;
    const auto at = [&](auto& items) { return items.begin() + static_cast<std::ptrdiff_t>(column); };
    columns_.erase(at(columns_), at(columns_) + (has_margin ? 2 : 1));
    widths_.erase(at(widths_), at(widths_) + (has_margin ? 2 : 1));
    places_.erase(at(places_), at(places_) + (has_margin ? 2 : 1));
  }

  std::vector<GridColumn>& columns_;
  size_t line_width_;
  std::vector<size_t> widths_;
  std::vector<size_t> places_;  // of the columns that are left, among all
  std::map<size_t, std::string> left_out_;
};

}  // namespace

std::string emphasized(std::string text, Emphasis emphasis, const TextStyle& style) {
  if (!style.has_colors || emphasis == Emphasis::kNone || text.empty()) {
    return text;
  }
  constexpr std::array<std::string_view, 6> kCodes{"",         "\x1b[1m",  "\x1b[2m",
                                                   "\x1b[32m", "\x1b[33m", "\x1b[31m"};
  return std::string(kCodes.at(static_cast<size_t>(emphasis))) + text + "\x1b[0m";
}

size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return !continues_character(c); }));
}

std::string clipped(std::string text, size_t width) {
  if (width_of(text) <= width) {
    return text;
  }
  size_t bytes = 0;
  for (size_t characters = 0; characters + 1 < width; ++characters) {
    do {
      ++bytes;
    } while (continues_character(text[bytes]));
  }
  text.resize(bytes);
  return text + "…";
}

Grid to_grid(std::vector<GridColumn> columns, const TextStyle& style, GridFit fit) {
  Layout layout(columns, style.width, fit);
  Grid grid{.text = "", .left_out = layout.left_out()};
  const size_t rows = columns.empty() ? 0 : columns[0].cells.size();
  const auto append_line = [&](const auto& cell_of) {
    for (size_t i = 0; i < columns.size(); ++i) {
      const GridColumn& column = columns[i];
      const GridCell& cell = cell_of(column);
      const bool is_last = i + 1 == columns.size();
      const std::string shown = column.is_text ? clipped(cell.text, layout.width(i)) : cell.text;
      grid.text += i == 0 ? "" : column.is_margin ? " " : "  ";
      grid.text +=
          emphasized(is_last && column.is_text ? shown : padded(shown, layout.width(i), column.is_text),
                     cell.emphasis, style);
    }
    grid.text += '\n';
  };
  append_line([](const GridColumn& column) -> const GridCell& { return column.header; });
  for (size_t row = 0; row < rows; ++row) {
    append_line([row](const GridColumn& column) -> const GridCell& { return column.cells[row]; });
  }
  return grid;
}

}  // namespace plimsoll::query
