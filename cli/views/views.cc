#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/file.h"
#include "base/printable.h"
#include "base/time.h"
#include "cli/views/commands.h"
#include "cli/views/terminal.h"
#include "cli/views/watch.h"
#include "query/views/flame_picture.h"
#include "scheduler/assignments/draw_method.h"

namespace plimsoll::cli {
namespace {

constexpr uint64_t kMaxStatementBytes = uint64_t{1} << 20;

// A data directory, maybe next to the server that writes it.
class DirectorySources : public query::ViewSources {
 public:
  explicit DirectorySources(const std::string& data_dir)
      : data_dir_(data_dir), fleet_(store::open_fleet(data_dir)) {}

  Result<std::shared_ptr<const query::Snapshot>> snapshot(const store::TimeSpans& times) override {
    return query::Snapshot::load(data_dir_, times);
  }
  const std::string& data_dir() const override { return data_dir_; }
  const store::Fleet& fleet() const override { return *fleet_; }
  query::KnownDraws::DrawAgain draw_again() const override { return scheduler::draw_again; }

 private:
  const std::string data_dir_;
  const std::unique_ptr<const store::Fleet> fleet_;
};

std::string path_of(std::string_view name) {
  return fmt::format("/api/v1/{}", name);
}

query::TableForm table_form(AnswerForm form) {
  return form == AnswerForm::kJson  ? query::TableForm::kJson
         : form == AnswerForm::kCsv ? query::TableForm::kCsv
                                    : query::TableForm::kText;
}

bool has(const query::Parameters& parameters, std::string_view name) {
  return std::ranges::any_of(parameters, [name](const auto& parameter) { return parameter.first == name; });
}

// What is smaller cannot be seen in a form; null: nothing is cut.
const char* min_share_of(AnswerForm form) {
  switch (form) {
    case AnswerForm::kText:
      return "0.5%";
    case AnswerForm::kSvg:
      return "0.03%";  // a third of a pixel of 1,200
    case AnswerForm::kHtml:
      return "0.005%";  // zoomed in ten times, say
    case AnswerForm::kJson:
    case AnswerForm::kCsv:
    case AnswerForm::kFolded:
      break;
  }
  return nullptr;
}

// What a form needs that the command line did not say.
Result<query::Parameters> completed(const ViewOptions& options) {
  query::Parameters parameters = options.parameters;
  switch (options.view->answer_kind) {
    case query::AnswerKind::kFlame:
      if (const char* const share = min_share_of(options.form);
          share != nullptr && !has(parameters, "min_share")) {
        parameters.emplace_back("min_share", share);
      }
      if (options.form == AnswerForm::kFolded) {
        parameters.emplace_back("margins", "no");  // the form has no place for them
      }
      break;
    case query::AnswerKind::kSql:
      if (!has(parameters, "q")) {
        auto statement = read_file("/dev/stdin", kMaxStatementBytes);
        if (!statement) {
          return propagate(statement, "reading the statement");
        }
        parameters.emplace_back("q", *std::move(statement));
      }
      break;
    case query::AnswerKind::kTable:
    case query::AnswerKind::kFile:
      break;
  }
  return parameters;
}

Result<std::string> in_form(const query::Table& table, const ViewOptions& options) {
  const query::TextStyle style = style_of_output();
  const query::TableForm form = table_form(options.form);
  if (!options.view->text_summary || form != query::TableForm::kText || options.is_long) {
    return query::to_form(table, form, style);
  }
  const auto summary = options.view->text_summary(table, style);
  return summary ? Result<std::string>(query::to_form(*summary, form, style)) : propagate(summary);
}

Result<std::string> in_form(const query::Flame& flame, const ViewOptions& options) {
  switch (options.form) {
    case AnswerForm::kFolded:
      return query::to_folded(flame);
    case AnswerForm::kJson:
      return query::to_json(flame);
    case AnswerForm::kSvg:
      return query::to_svg(flame);
    case AnswerForm::kHtml:
      return query::to_html(flame);
    case AnswerForm::kText:
    case AnswerForm::kCsv:
      break;
  }
  return query::to_text(flame, style_of_output());
}

Result<std::string> in_form(const query::SqlAnswer& answer, const ViewOptions& options) {
  for (const std::string& note : answer.notes) {
    fmt::print(stderr, "note: {}\n", printable(note));
  }
  return query::to_form(answer, table_form(options.form), style_of_output());
}

Result<std::string> in_form(const query::FileAnswer& file, const ViewOptions& /*options*/) {
  return file.bytes;
}

Result<std::string> in_form(const query::Answer& answer, const ViewOptions& options) {
  return std::visit([&](const auto& given) { return in_form(given, options); }, answer);
}

// The server answers an order with a table.
Result<query::Table> give_order(const AnswerSource& source, const std::string& path,
                                const query::Parameters& parameters) {
  const auto body = order_server(source, path, parameters);
  return body ? query::from_json(*body) : propagate(body);
}

// Fails where the answer meets the view's failure rule: the exit status is 1.
Status judge(const query::View& view, const query::Answer& answer) {
  const std::optional<query::FailureRule>& rule = view.fails_where;
  if (!rule) {
    return {};
  }
  const size_t failed = query::failed_rows(view, answer);
  if (failed == 0) {
    return {};
  }
  return fail(ErrorCode::kUnavailable, "{}: {} {} {} {}", view.command, failed,
              failed == 1 ? "row has" : "rows have", rule->column, rule->value);
}

Result<query::Answer> plain_answer(const query::View& view, const AnswerSource& source,
                                   const query::Parameters& parameters) {
  if (!view.answer) {
    auto table = give_order(source, path_of(view.name), parameters);
    return table ? Result<query::Answer>(*std::move(table)) : propagate(table);
  }
  if (source.server.empty()) {
    DirectorySources sources(source.data_dir);
    return view.answer({.parameters = parameters, .now_ns = wall_now_ns()}, sources);
  }
  auto body = ask_server(source, path_of(view.name), parameters);
  return body ? query::answer_from(view, *std::move(body)) : propagate(body);
}

}  // namespace

Result<query::Answer> ask_view(const query::View& view, const AnswerSource& source,
                               const query::Parameters& parameters) {
  auto answer = plain_answer(view, source, parameters);
  if (auto* table = answer ? std::get_if<query::Table>(&*answer) : nullptr) {
    query::prioritize(view, *table);
  }
  return answer;
}

Result<query::Table> ask_table(std::string_view view, const TableOptions& options) {
  auto answer = ask_view(*query::find_view(view), options.source, options.parameters);
  return answer ? Result<query::Table>(std::get<query::Table>(*std::move(answer))) : propagate(answer);
}

namespace {

Status watch_view(const ViewOptions& options, const query::Parameters& parameters) {
  const AnswerSource& source = options.source;
  return watch({.title = fmt::format("plimsoll {}  {}", options.view->command,
                                     printable(source.server.empty() ? source.data_dir : source.server)),
                .interval_s = options.watch_interval_s},
               [&]() -> Result<std::string> {
                 const auto answer = ask_view(*options.view, source, parameters);
                 return answer ? in_form(*answer, options) : propagate(answer);
               });
}

}  // namespace

Status run_view(const ViewOptions& options) {
  if (options.order) {
    return print(give_order(options.source, path_of(options.order->spec->path), options.order->parameters),
                 table_form(options.form));
  }
  const auto parameters = completed(options);
  if (!parameters) {
    return propagate(parameters);
  }
  if (options.watch_interval_s > 0) {
    return watch_view(options, *parameters);
  }
  const auto answer = ask_view(*options.view, options.source, *parameters);
  const auto text = answer ? in_form(*answer, options) : propagate(answer);
  const Status printed = text ? write_output("-", *text) : propagate(text);
  return printed ? judge(*options.view, *answer) : printed;
}

Status run_export(const ExportOptions& options) {
  if (options.view.empty()) {
    return fail(ErrorCode::kInvalid, "export requires --pprof FILE or --gperftools FILE");
  }
  const auto answer = ask_view(*query::find_view(options.view), options.source, options.parameters);
  return answer ? write_output(options.output, std::get<query::FileAnswer>(*answer).bytes)
                : propagate(answer);
}

}  // namespace plimsoll::cli
