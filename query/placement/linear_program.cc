#include "query/placement/linear_program.h"

#include <ClpEventHandler.hpp>
#include <ClpSimplex.hpp>
#include <ClpSolve.hpp>
#include <CoinError.hpp>

#include "base/stop_scope.h"

namespace plimsoll::query {
namespace {

constexpr double kTolerance = 1e-9;
// What ClpSimplex::status() says.
constexpr int kOptimal = 0;
constexpr int kInfeasible = 1;

// Asks check_stop() as Clp goes. Clp keeps copies of it, also in the smaller program that its presolve makes, and takes no error from
// it: solve() asks again.
class StopsClp : public ClpEventHandler {
 public:
  ClpEventHandler* clone() const override { return new StopsClp(*this); }

  int event(Event which) override {
    const bool is_step = which == endOfIteration || which == endOfFactorization;
    return is_step && !check_stop() ? kStop : kGoOn;
  }

 private:
  static constexpr int kGoOn = -1;
  static constexpr int kStop = 0;
};

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
  const StopsClp stops;
  simplex.passInEventHandler(&stops);
  ClpSolve how;
  how.setSolveType(ClpSolve::useDual);
  simplex.initialSolve(how);
  if (simplex.status() != kOptimal && simplex.status() != kInfeasible && check_stop()) {
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
    if (const auto goes_on = check_stop(); !goes_on) {
      return propagate(goes_on);
    }
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
