#include "query/registry/view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "query/registry/decision_views.h"
#include "query/registry/fdo_views.h"
#include "query/registry/fleet_views.h"
#include "query/registry/profile_views.h"
#include "query/registry/trace_views.h"
#include "query/snapshot/dimension.h"
#include "query/table/values.h"
#include "store/directory/disk_usage.h"

namespace plimsoll::query {
namespace {

// For people: what to do with profiles comes first, then comparisons, then the fleet.
std::vector<View> all_views() {
  std::vector<View> views = profile_views();
  std::ranges::move(fleet_views(), std::back_inserter(views));
  std::ranges::move(decision_views(), std::back_inserter(views));
  std::ranges::move(fdo_views(), std::back_inserter(views));
  std::ranges::move(trace_views(), std::back_inserter(views));
  return views;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

constexpr std::string_view kDimensionPlaceholder = "{dimension}";
constexpr std::string_view kEventPlaceholder = "{event}";

// Whether `name` is `pattern` with some text for each "{event}".
bool stands_for(std::string_view pattern, std::string_view name) {
  const size_t place = pattern.find(kEventPlaceholder);
  if (place == std::string_view::npos) {
    return pattern == name;
  }
  if (!name.starts_with(pattern.substr(0, place))) {
    return false;
  }
  const std::string_view rest = pattern.substr(place + kEventPlaceholder.size());
  for (size_t end = place + 1; end <= name.size(); ++end) {
    if (stands_for(rest, name.substr(end))) {
      return true;
    }
  }
  return false;
}

bool is_dimension(std::string_view name) {
  return find_dimension(name).has_value();
}

// The longest that matches: "{event}_share" says more of cycles_share than "{event}". Null: none does.
const ColumnSpec* spec_of(std::string_view column, const View& view) {
  const ColumnSpec* found = nullptr;
  for (const ColumnSpec& spec : view.columns) {
    if (spec.name == column) {
      return &spec;
    }
    const bool matches =
        spec.name == kDimensionPlaceholder ? is_dimension(column) : stands_for(spec.name, column);
    if (matches && (found == nullptr || spec.name.size() > found->name.size())) {
      found = &spec;
    }
  }
  return found;
}

}  // namespace

std::span<const View> views() {
  static const std::vector<View> all = all_views();
  return all;
}

const View* find_view(std::string_view name) {
  const auto view = std::ranges::find(views(), name, &View::name);
  return view == views().end() ? nullptr : &*view;
}

void prioritize(const View& view, Table& table) {
  for (TableColumn& column : table.columns) {
    if (const ColumnSpec* const spec = spec_of(column.name, view)) {
      column.priority = spec->priority;
    }
  }
}

std::string flag_of(const ParameterSpec& parameter) {
  if (parameter.is_positional) {
    return upper(parameter.name);
  }
  std::string flag = parameter.name;
  std::ranges::replace(flag, '_', '-');
  const bool denies = parameter.kind == ValueKind::kFlag && parameter.default_value == "yes";
  return (denies ? "--no-" : "--") + flag;
}

std::string placeholder_of(const ParameterSpec& parameter) {
  switch (parameter.kind) {
    case ValueKind::kText:
      return upper(parameter.name);
    case ValueKind::kEvent:
      return "EVENT";
    case ValueKind::kEvents:
      return "EVENT,...";
    case ValueKind::kRatio:
      return "RATIO";
    case ValueKind::kDimension:
      return "DIM";
    case ValueKind::kDimensions:
      return "DIM,...";
    case ValueKind::kPredicate:
      return "PREDICATE";
    case ValueKind::kRegex:
      return "REGEX";
    case ValueKind::kTime:
      return "TIME";
    case ValueKind::kDuration:
      return "DURATION";
    case ValueKind::kCount:
    case ValueKind::kNumber:
      return "N";
    case ValueKind::kShare:
      return "SHARE";
    case ValueKind::kChoice:
      return fmt::format("{}", fmt::join(parameter.choices, "|"));
    case ValueKind::kFlag:
      return "";
    case ValueKind::kFunction:
      return "FUNCTION";
    case ValueKind::kJob:
      return "JOB";
    case ValueKind::kMachine:
      return "MACHINE";
    case ValueKind::kDraw:
      return "DRAW";
    case ValueKind::kStatement:
      return "SELECT";
  }
  return "";
}

std::string help_of(const ParameterSpec& parameter) {
  std::string help = parameter.help;
  help += parameter.is_repeatable ? "; may be repeated" : "";
  const bool says_default = !parameter.default_value.empty() && parameter.kind != ValueKind::kFlag;
  return says_default ? fmt::format("{} (default: {})", help, parameter.default_value) : help;
}

Result<store::RetentionLimits> ViewSources::retention_limits() {
  const auto disk = store::disk_bytes(data_dir());
  return disk ? Result<store::RetentionLimits>(store::RetentionLimits().on_disk_of(*disk)) : propagate(disk);
}

Result<store::StoreAccount> ViewSources::store_account(int64_t now_ns) {
  return store::account_store(data_dir(), now_ns);
}

size_t failed_rows(const View& view, const Answer& answer) {
  const Table* const table = std::get_if<Table>(&answer);
  const std::optional<FailureRule>& fails_where = view.fails_where;
  if (!fails_where || table == nullptr) {
    return 0;
  }
  const FailureRule& rule = *fails_where;
  const auto column = find_column(*table, rule.column);  // a server may be of another version
  if (!column) {
    return 0;
  }
  return static_cast<size_t>(std::ranges::count_if(
      table->rows, [&, place = *column](const auto& row) { return text_in(row[place]) == rule.value; }));
}

std::string body_of(const Answer& answer) {
  return std::visit(
      [](const auto& given) {
        if constexpr (requires { given.bytes; }) {
          return given.bytes;
        } else {
          return to_json(given);
        }
      },
      answer);
}

std::string_view content_type_of(AnswerKind kind) {
  return kind == AnswerKind::kFile ? "application/octet-stream" : "application/json";
}

Result<Answer> answer_from(const View& view, std::string body) {
  const auto as_answer = [](auto given) {
    return given ? Result<Answer>(*std::move(given)) : propagate(given);
  };
  switch (view.answer_kind) {
    case AnswerKind::kTable:
      return as_answer(from_json(body));
    case AnswerKind::kFlame:
      return as_answer(flame_from_json(body));
    case AnswerKind::kSql:
      return as_answer(sql_answer_from_json(body));
    case AnswerKind::kFile:
      return FileAnswer{std::move(body)};
  }
  return fail(ErrorCode::kInvalid, "the view {} has an unknown kind of answer", view.name);
}

}  // namespace plimsoll::query
