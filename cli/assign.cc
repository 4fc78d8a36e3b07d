#include "cli/assign.h"

#include <fmt/core.h>

#include <array>

#include "base/file.h"
#include "cli/views/terminal.h"

namespace plimsoll::cli {
namespace {

// Ten million pairs.
constexpr size_t kMaxTableBytes = size_t{1} << 30;

Result<std::string> read_table(const std::string& path) {
  return read_file(path == "-" ? "/dev/stdin" : path, kMaxTableBytes);
}

}  // namespace

Status run_assign(const AssignOptions& options) {
  const std::array paths{&options.costs, &options.jobs, &options.platforms, &options.today};
  std::array<std::string, paths.size()> texts;
  for (size_t i = 0; i < paths.size(); ++i) {
    auto text = paths.at(i)->empty() ? Result<std::string>() : read_table(*paths.at(i));
    if (!text) {
      return propagate(text);
    }
    texts.at(i) = std::move(*text);
  }
  query::AssignmentRequest request{.texts = {.costs = {options.costs, texts[0]},
                                             .jobs = {options.jobs, texts[1]},
                                             .platforms = {options.platforms, texts[2]}},
                                   .unknown_at_most = options.unknown_at_most,
                                   .rows = options.rows};
  if (!options.today.empty()) {
    request.texts.today = {options.today, texts[3]};
  }
  const auto table = query::assignment_table(request);
  if (!table) {
    return propagate(table);
  }
  fmt::print("{}", query::to_form(*table, options.form, style_of_output()));
  return {};
}

}  // namespace plimsoll::cli
