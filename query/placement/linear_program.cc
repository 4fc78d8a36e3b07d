#include "query/placement/linear_program.h"

#include <ClpSimplex.hpp>
#include <ClpSolve.hpp>
#include <CoinError.hpp>

namespace plimsoll::query {
namespace {

constexpr double kTolerance = 1e-9;
// What ClpSimplex::status() says.
constexpr int kOptimal = 0;
constexpr int kInfeasible = 1;

void load(const LinearProgram& program, ClpSimplex& simplex) {
  const std::vector<double>& costs = program.first_costs.empty() ? program.costs : program.first_costs;
  simplex.setLogLevel(0);
  simplex.setPrimalTolerance(kTolerance);
  simplex.setDualTolerance(kTolerance);
  simplex.loadProblem(static_cast<int>(program.costs.size()), static_cast<int>(program.row_max.size()),
                      program.starts.data(), program.rows.data(), program.factors.data(), nullptr, nullptr,
                      costs.data(), program.row_min.data(), program.row_max.data());
}

void optimize(ClpSimplex& simplex) {
  ClpSolve how;
  how.setSolveType(ClpSolve::useDual);
  simplex.initialSolve(how);
  if (simplex.status() != kOptimal && simplex.status() != kInfeasible) {
    how.setPresolveType(ClpSolve::presolveOff);
    simplex.initialSolve(how);
  }
}

void go_on(const LinearProgram& program, ClpSimplex& simplex) {
  if (!program.first_costs.empty() && simplex.status() == kOptimal) {
    simplex.chgObjCoefficients(program.costs.data());
    simplex.primal(1);
  }
}

LinearSolution solution_of(const ClpSimplex& simplex) {
  const double* values = simplex.primalColumnSolution();
  const double* prices = simplex.dualRowSolution();
  return {.values = {values, values + simplex.numberColumns()},
          .prices = {prices, prices + simplex.numberRows()}};
}

}  // namespace

void LinearProgram::add_row(double least, double most) {
  row_min.push_back(least);
  row_max.push_back(most);
}

void LinearProgram::add_column(double cost, std::span<const Entry> entries) {
  costs.push_back(cost);
  for (const Entry& entry : entries) {
    rows.push_back(static_cast<int>(entry.row));
    factors.push_back(entry.factor);
  }
  starts.push_back(static_cast<int>(rows.size()));
}

Result<std::optional<LinearSolution>> solve(const LinearProgram& program) {
  try {
    ClpSimplex simplex;
    load(program, simplex);
    optimize(simplex);
    go_on(program, simplex);
    if (simplex.status() == kOptimal) {
      return solution_of(simplex);
    }
    if (simplex.status() == kInfeasible) {
      return std::nullopt;
    }
    return fail(ErrorCode::kUnsupported, "Clp gave up on a linear program of {} columns (status {})",
                program.costs.size(), simplex.status());
  } catch (const CoinError& error) {
    return fail(ErrorCode::kUnsupported, "Clp gave up: {}", error.message());
  }
}

}  // namespace plimsoll::query
