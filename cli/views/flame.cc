#include "query/views/flame.h"

#include <algorithm>

#include "base/time.h"
#include "cli/views/commands.h"
#include "cli/views/terminal.h"

namespace plimsoll::cli {
namespace {

Result<query::Flame> flame_of_directory(const AnswerSource& source, const query::Parameters& parameters) {
  const auto request = query::parse_flame(parameters, wall_now_ns());
  if (!request) {
    return propagate(request);
  }
  const auto snapshot = query::Snapshot::load(source.data_dir);
  if (!snapshot) {
    return propagate(snapshot);
  }
  return query::flame(*request, **snapshot);
}

Result<query::Flame> flame_of_server(const AnswerSource& source, const query::Parameters& parameters) {
  const auto body = ask_server(source, "/api/v1/flame", parameters);
  return body ? query::flame_from_json(*body) : propagate(body);
}

Result<std::string> in_form(const query::Flame& flame, FlameForm form) {
  switch (form) {
    case FlameForm::kText:
      return query::to_text(flame, style_of_output());
    case FlameForm::kFolded:
      return query::to_folded(flame);
    case FlameForm::kJson:
      return query::to_json(flame);
  }
  return {};
}

}  // namespace

Status run_flame(const FlameOptions& options) {
  query::Parameters parameters = options.parameters;
  const bool says_share =
      std::ranges::any_of(parameters, [](const auto& parameter) { return parameter.first == "min_share"; });
  if (options.form == FlameForm::kText && !says_share) {
    parameters.emplace_back("min_share", "0.5%");
  }
  if (options.form == FlameForm::kFolded) {
    parameters.emplace_back("margins", "no");  // there is no place for them
  }
  const auto flame = options.source.server.empty() ? flame_of_directory(options.source, parameters)
                                                   : flame_of_server(options.source, parameters);
  if (!flame) {
    return propagate(flame);
  }
  const auto text = in_form(*flame, options.form);
  return text ? write_output("-", *text) : propagate(text);
}

}  // namespace plimsoll::cli
