#include "cli/wsmeter.h"

#include <fmt/core.h>

#include "base/file.h"
#include "cli/views/terminal.h"

namespace plimsoll::cli {
namespace {

// Ten million jobs.
constexpr size_t kMaxTableBytes = size_t{1} << 30;

}  // namespace

Status run_wsmeter_plan(const WsmeterPlanOptions& options) {
  const auto text = read_file(options.table == "-" ? "/dev/stdin" : options.table, kMaxTableBytes);
  if (!text) {
    return propagate(text, "reading the table of jobs");
  }
  const auto table = query::plan_table(*text, options.request);
  if (!table) {
    return propagate(table, "{}", options.table);
  }
  fmt::print("{}", query::to_form(*table, options.form, style_of_output()));
  return {};
}

}  // namespace plimsoll::cli
