// Linear programs, solved by Clp (COIN-OR), whose headers only linear_program.cc reads.
//
//   minimize sum cost x value, each value at least 0, each row's sum of factor x value within its bounds
//
// Pure: no I/O; any thread.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"

namespace plimsoll::query {

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct LinearProgram {
  struct Entry {
    size_t row = 0;
    double factor = 0;
  };

  std::vector<double> row_min;  // -kUnbounded: none
  std::vector<double> row_max;
  std::vector<double> costs;  // by column
  // Likewise; empty: none. Solved first with these, and from there with the others: where most columns cost nothing, the way is a quarter as long.
  std::vector<double> first_costs;
  std::vector<int> starts = {0};  // of each column among rows and factors, and the end
  std::vector<int> rows;
  std::vector<double> factors;

  void add_row(double least, double most);
  void add_column(double cost, std::span<const Entry> entries);
};

struct LinearSolution {
  std::vector<double> values;  // by column
  std::vector<double> prices;  // by row: by how much the least cost grows for each unit that its bound grows
};

// Nothing: no values fulfil all rows. Bounds of rows and signs of prices hold to 1e-9, so that rows and costs are to be scaled to about 1.
// kUnsupported where Clp gives up; ends early, with that error, where check_stop() fails. Takes 1 s for 200,000 columns of two entries in 10,020 rows: by the dual simplex method, behind Clp's presolve;
// the primal one takes ten times as long.
Result<std::optional<LinearSolution>> solve(const LinearProgram& program);

}  // namespace plimsoll::query
