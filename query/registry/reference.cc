#include "query/registry/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "query/registry/view.h"

namespace plimsoll::query {
namespace {

std::string escaped(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    cell += c == '|' ? "\\|" : std::string(1, c);
  }
  return cell;
}

std::string command_of(const View& view) {
  return fmt::format("`plimsoll {}`", view.command.empty() ? view.taken_by : view.command);
}

std::string command_of(const View& view, const OrderSpec& order) {
  return fmt::format("`plimsoll {} {}`", view.command.empty() ? view.taken_by : view.command, order.flag);
}

std::string method_of(const View& view) {
  return view.answer ? "GET" : "POST";
}

std::string overview() {
  std::string text = "| command | API | question | for | answer |\n|---|---|---|---|---|\n";
  constexpr std::string_view kAnswers[] = {"table", "tree", "table", "file"};
  for (const View& view : views()) {
    text +=
        fmt::format("| {} | `{} /api/v1/{}` | {} | {} | {} |\n", command_of(view), method_of(view), view.name,
                    escaped(view.summary), view.audience == Audience::kReaders ? "readers" : "operators",
                    kAnswers[static_cast<size_t>(view.answer_kind)]);
    for (const OrderSpec& order : view.orders) {
      text += fmt::format("| {} | `{} /api/v1/{}` | {} | operators | table |\n", command_of(view, order),
                          order.method, order.path, escaped(order.help));
    }
  }
  return text;
}

std::string parameters_of(const View& view) {
  if (view.parameters.empty()) {
    return {};
  }
  std::string text = "\n| flag | API parameter | value | meaning |\n|---|---|---|---|\n";
  for (const ParameterSpec& parameter : view.parameters) {
    const std::string value = placeholder_of(parameter);
    text += fmt::format("| `{}` | `{}` | {} | {} |\n", flag_of(parameter), parameter.name,
                        value.empty() ? "yes, no" : escaped(value), escaped(help_of(parameter)));
  }
  return text;
}

// X_margin, X_low and X_high of a column X: said once for all.
bool is_of_margin(const ColumnSpec& column, const View& view) {
  return std::ranges::any_of(view.columns, [&](const ColumnSpec& x) {
    return column.name == x.name + "_margin" || column.name == x.name + "_low" ||
           column.name == x.name + "_high";
  });
}

std::string failure_of(const View& view) {
  return view.fails_where ? fmt::format("\nThe exit status is 1 where a row has `{}` `{}`.\n",
                                        view.fails_where->column, view.fails_where->value)
                          : std::string();
}

std::string summary_of(const View& view) {
  return view.text_summary
             ? "\nAs text, the command prints a summary of these rows; `--long` prints the rows.\n"
             : "";
}

std::string columns_of(const View& view) {
  if (view.columns.empty()) {
    return {};
  }
  std::string text = "\n| column | unit | meaning |\n|---|---|---|\n";
  for (const ColumnSpec& column : view.columns) {
    if (is_of_margin(column, view)) {
      continue;
    }
    text += fmt::format("| `{}` | {} | {} |\n", column.name, column.unit, escaped(column.meaning));
  }
  return text;
}

}  // namespace

std::string view_reference() {
  std::string text = R"(# Views: every question, its parameters and its columns

This page is generated from the registry of views (`query/registry`); a test compares it with what the programs take.
`plimsoll help COMMAND` shows the same with examples, `GET /api/v1/openapi.json` gives it to programs.
Every view takes `--server ADDR` or `--data DIR`; every table takes `--json` and `--csv`, and every table and tree that
is asked for with GET takes `--watch [SECONDS]`, except that of `sql`. Behind a column X with a
`margin_kind`, JSON and CSV also have `X_margin`, `X_low` and `X_high`: its 95 % confidence interval.

)";
  text += overview();
  for (const View& view : views()) {
    text += fmt::format("\n## {} ({})\n{}.\n", view.name, command_of(view), view.summary);
    text += parameters_of(view);
    text += columns_of(view);
    text += failure_of(view);
    text += summary_of(view);
  }
  return text;
}

}  // namespace plimsoll::query
