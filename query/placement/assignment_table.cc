#include "query/placement/assignment_table.h"

#include "query/placement/assignment_parts.h"

namespace plimsoll::query {
namespace {

Result<Assignment> plan(const AssignmentRequest& request) {
  auto input = read_assignment(request.texts, request.unknown_at_most);
  if (!input) {
    return propagate(input);
  }
  if (!input->lost_jobs.empty()) {
    return fail_lost(*input);
  }
  Assignment assignment;
  assignment.input = std::move(*input);
  if (request.texts.today) {
    auto today = read_today(*request.texts.today, assignment.input);
    if (!today) {
      return propagate(today);
    }
    assignment.today = std::move(*today);
    assignment.has_today = true;
  }
  auto outcome = place_jobs(assignment.input.problem);
  if (!outcome) {
    return propagate(outcome);
  }
  if (const auto* shortage = std::get_if<Shortage>(&*outcome)) {
    return fail_short(assignment.input, *shortage);
  }
  assignment.placement = std::get<Placement>(std::move(*outcome));
  assignment.first_pairs = assignment.input.problem.first_pairs();
  return assignment;
}

}  // namespace

Result<Table> assignment_table(const AssignmentRequest& request) {
  if (request.rows == AssignmentRows::kMove && !request.texts.today) {
    return with_hint(fail(ErrorCode::kInvalid, "moves are away from today's assignment, which is not given"),
                     "give it with --today");
  }
  const auto assignment = plan(request);
  if (!assignment) {
    return propagate(assignment);
  }
  Table table;
  switch (request.rows) {
    case AssignmentRows::kPlacement:
      add_placement_rows(*assignment, table);
      break;
    case AssignmentRows::kPlatform:
      add_platform_rows(*assignment, table);
      break;
    case AssignmentRows::kMove:
      add_move_rows(*assignment, table);
      break;
  }
  table.notes = assignment_notes(*assignment, request.unknown_at_most);
  return table;
}

}  // namespace plimsoll::query
