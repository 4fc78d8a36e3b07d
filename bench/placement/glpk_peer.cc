#include "bench/placement/glpk_peer.h"

#include <glpk.h>

#include <array>
#include <memory>

namespace plimsoll::bench {
namespace {

using Problem = std::unique_ptr<glp_prob, decltype(&glp_delete_prob)>;

// Scaled as place_jobs() does, so that tolerances mean the same.
void add_rows(const query::PlacementProblem& problem, glp_prob& glpk) {
  const auto jobs = static_cast<int>(problem.loads.size());
  const auto rows = jobs + static_cast<int>(problem.capacities.size());
  glp_add_rows(&glpk, rows);
  for (int row = 1; row <= rows; ++row) {
    glp_set_row_bnds(&glpk, row, row <= jobs ? GLP_FX : GLP_UP, 1, 1);
  }
}

void add_columns(const query::PlacementProblem& problem, glp_prob& glpk) {
  glp_add_cols(&glpk, static_cast<int>(problem.pairs.size()));
  const size_t jobs = problem.loads.size();
  int column = 0;
  for (const query::Pair& pair : problem.pairs) {
    ++column;
    const double use = pair.cost * problem.loads[pair.job];
    // GLPK counts from 1.
    const std::array<int, 3> rows{0, static_cast<int>(pair.job) + 1,
                                  static_cast<int>(jobs + pair.platform) + 1};
    const std::array<double, 3> factors{0, 1, use / problem.capacities[pair.platform]};
    glp_set_col_bnds(&glpk, column, GLP_LO, 0, 0);
    glp_set_obj_coef(&glpk, column, use);
    glp_set_mat_col(&glpk, column, 2, rows.data(), factors.data());
  }
}

}  // namespace

Result<double> min_cost_by_glpk(const query::PlacementProblem& problem) {
  const Problem glpk(glp_create_prob(), &glp_delete_prob);
  add_rows(problem, *glpk);
  add_columns(problem, *glpk);
  glp_smcp how;
  glp_init_smcp(&how);
  how.msg_lev = GLP_MSG_ERR;
  how.presolve = GLP_ON;
  if (glp_simplex(glpk.get(), &how) != 0 || glp_get_status(glpk.get()) != GLP_OPT) {
    return fail(ErrorCode::kUnsupported, "GLPK finds no optimum");
  }
  return glp_get_obj_val(glpk.get());
}

}  // namespace plimsoll::bench
