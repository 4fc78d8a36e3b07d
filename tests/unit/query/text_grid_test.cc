#include "query/table/text_grid.h"

#include <gtest/gtest.h>

#include <random>

namespace plimsoll::query {
namespace {

GridColumn number(const std::string& header, const std::vector<std::string>& cells) {
  GridColumn column{.header = {header}, .cells = {}};
  for (const std::string& cell : cells) {
    column.cells.push_back({cell});
  }
  return column;
}

GridColumn text(const std::string& header, const std::vector<std::string>& cells) {
  GridColumn column = number(header, cells);
  column.is_text = true;
  return column;
}

GridColumn margin(const std::vector<std::string>& cells) {
  GridColumn column = number("±", cells);
  column.is_margin = true;
  return column;
}

std::vector<GridColumn> small_columns() {
  return {number("self", {"1.5 s", "2 ms"}), number("share", {"12.5 %", "3.0 %"}), margin({"±0.4", ""}),
          text("function", {"std::vector<int>::push_back", "main"})};
}

TEST(TextGrid, AlignsNumbersRightAndTextLeft) {
  EXPECT_EQ(to_grid(small_columns(), {}).text,
            " self   share    ±  function\n"
            "1.5 s  12.5 % ±0.4  std::vector<int>::push_back\n"
            " 2 ms   3.0 %       main\n");
}

TEST(TextGrid, CutsTextFirst) {
  const Grid grid = to_grid(small_columns(), {.width = 44});
  EXPECT_EQ(grid.text,
            " self   share    ±  function\n"
            "1.5 s  12.5 % ±0.4  std::vector<int>::push_…\n"
            " 2 ms   3.0 %       main\n");
  EXPECT_TRUE(grid.left_out.empty());
}

TEST(TextGrid, ThenLeavesNumbersOutFromTheRightWithTheirMargins) {
  const Grid grid = to_grid(small_columns(), {.width = 40});
  EXPECT_EQ(grid.text,
            " self  function\n"
            "1.5 s  std::vector<int>::push_…\n"
            " 2 ms  main\n");
  EXPECT_EQ(grid.left_out, (std::vector<std::string>{"share"}));
}

TEST(TextGrid, KeepsTheFirstNumberAndSomeOfTheText) {
  EXPECT_EQ(to_grid(small_columns(), {.width = 1}).text,
            " self  function\n"
            "1.5 s  std::ve…\n"
            " 2 ms  main\n");
}

TEST(TextGrid, LessImportantColumnsGoBeforeThoseOnTheRight) {
  std::vector<GridColumn> columns = small_columns();
  columns[0].priority = kDetail;
  const Grid grid = to_grid(columns, {.width = 40});
  EXPECT_EQ(grid.text,
            " share    ±  function\n"
            "12.5 % ±0.4  std::vector<int>::push_…\n"
            " 3.0 %       main\n");
  EXPECT_EQ(grid.left_out, (std::vector<std::string>{"self"}));
}

TEST(TextGrid, WhatIsLeftOutIsNamedInTheOrderOfTheColumns) {
  std::vector<GridColumn> columns{number("a", {"1"}), number("b", {"2"}), number("c", {"3"}),
                                  number("d", {"4"})};
  columns[0].priority = kMinorDetail;
  columns[2].priority = kDetail;
  columns[3].priority = kAlwaysShown;
  EXPECT_EQ(to_grid(columns, {.width = 4}).left_out, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(to_grid(columns, {.width = 1}).left_out, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(TextGrid, OrnamentsGoFirstAndWithoutAWord) {
  std::vector<GridColumn> columns = small_columns();
  columns.insert(columns.begin() + 3, text("", {"████", "█"}));
  columns[3].is_ornament = true;
  EXPECT_EQ(to_grid(columns, {}).text,
            " self   share    ±        function\n"
            "1.5 s  12.5 % ±0.4  ████  std::vector<int>::push_back\n"
            " 2 ms   3.0 %       █     main\n");
  EXPECT_EQ(to_grid(columns, {.width = 44}).text, to_grid(small_columns(), {.width = 44}).text);
  EXPECT_TRUE(to_grid(columns, {.width = 44}).left_out.empty());
}

TEST(TextGrid, TheWidestTextPaysFirst) {
  EXPECT_EQ(to_grid({text("job", {"search-backend-of-the-north"}), text("function", {std::string(50, 'f')})},
                    {.width = 59})
                .text,
            "job                          function\n"
            "search-backend-of-the-north  fffffffffffffffffffffffffffff…\n");
}

TEST(TextGrid, EveryColumnStaysWhereAskedFor) {
  const Grid grid = to_grid(small_columns(), {.width = 10}, GridFit::kEveryColumn);
  EXPECT_EQ(grid.text, to_grid(small_columns(), {.width = 44}).text);
  const std::string wide(100, 'w');
  EXPECT_EQ(to_grid({text("a", {wide}), text("b", {wide})}, {}, GridFit::kEveryColumn).text,
            "a" + std::string(101, ' ') + "b\n" + wide + "  " + wide + "\n");
}

TEST(TextGrid, WithoutRowsOrColumns) {
  EXPECT_EQ(to_grid({}, {.width = 10}).text, "\n");
  EXPECT_EQ(to_grid({number("a", {}), text("b", {})}, {.width = 10}).text, "a  b\n");
}

// Whatever the columns: no line is longer than the terminal is wide unless nothing more can go, cut text is the start of what
// it was, and what is left out is named.
TEST(TextGrid, RandomColumnsFit) {
  std::mt19937_64 random(20261122);
  const auto below = [&](size_t end) { return static_cast<size_t>(random() % end); };
  size_t fitting = 0;
  for (int round = 0; round < 2'000; ++round) {
    std::vector<GridColumn> columns;
    const size_t rows = below(4);
    const size_t count = 1 + below(8);
    size_t numbers = 0;
    size_t narrowest = 0;
    for (size_t i = 0; i < count; ++i) {
      std::vector<std::string> cells;
      for (size_t row = 0; row < rows; ++row) {
        std::string cell;
        for (size_t length = below(80); length > 0; --length) {
          cell += below(2) == 0 ? "ü" : "x";
        }
        cells.push_back(cell.substr(0, cell.size()));
      }
      const bool is_text = below(2) == 0;
      columns.push_back(is_text ? text(std::string(1 + below(12), 'h'), cells)
                                : number(std::string(1 + below(12), 'h'), cells));
      size_t width = columns.back().header.text.size();
      for (const std::string& cell : cells) {
        width = std::max(width, width_of(cell));
      }
      numbers += is_text ? 0 : 1;
      narrowest += is_text ? std::min<size_t>(width, 8) + 2 : numbers == 1 ? width + 2 : 0;
    }
    const size_t width = 1 + below(200);
    const Grid grid = to_grid(columns, {.width = width});
    size_t lines = 0;
    for (size_t begin = 0; begin < grid.text.size(); ++lines) {
      const size_t end = grid.text.find('\n', begin);
      const std::string line = grid.text.substr(begin, end - begin);
      EXPECT_LE(width_of(line), std::max(width, narrowest - 2)) << line;
      begin = end + 1;
    }
    EXPECT_EQ(lines, rows + 1);
    EXPECT_LE(grid.left_out.size(), numbers == 0 ? 0 : numbers - 1);
    fitting += narrowest - 2 <= width ? 1 : 0;
  }
  EXPECT_GT(fitting, 1'000U);
}

}  // namespace
}  // namespace plimsoll::query
