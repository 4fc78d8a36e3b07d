#include "cli/views/view_command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <span>

#include "cli/views/flags.h"

namespace plimsoll::cli {
namespace {

void add_order(CLI::App& command, const query::OrderSpec& order, std::optional<GivenOrder>& given) {
  if (order.parameters.empty()) {
    command.add_flag_callback(order.flag, [&order, &given] { given = GivenOrder{&order, {}}; }, order.help);
    return;
  }
  const query::ParameterSpec& parameter = order.parameters.front();
  command
      .add_option_function<std::string>(
          order.flag,
          [&order, &parameter, &given](const std::string& text) {
            given = GivenOrder{&order, {{parameter.name, text}}};
          },
          order.help)
      ->type_name(query::placeholder_of(parameter));
}

void add_orders(CLI::App& command, const query::View& view, std::optional<GivenOrder>& given) {
  for (const query::OrderSpec& order : view.orders) {
    add_order(command, order, given);
  }
  for (const query::OrderSpec& order : view.orders) {
    for (const query::OrderSpec& other : view.orders) {
      if (&order != &other) {
        command.get_option(order.flag)->excludes(other.flag);
      }
    }
  }
}

struct FormFlag {
  const char* flag;
  AnswerForm form;
  const char* help;
};

constexpr FormFlag kJsonFlag{"--json", AnswerForm::kJson, "Print one JSON document"};
constexpr std::array kTableForms{kJsonFlag, FormFlag{"--csv", AnswerForm::kCsv, "Print CSV"}};
constexpr std::array kFlameForms{
    kJsonFlag,
    FormFlag{"--folded", AnswerForm::kFolded,
             "Print a line per stack, \"main;parse;lex 12\", as flame graph tools read it"},
    FormFlag{"--svg", AnswerForm::kSvg, "Print a picture (SVG) for a report or a ticket"},
    FormFlag{"--html", AnswerForm::kHtml, "Print a page (HTML) to zoom and search in; it loads nothing"}};

std::span<const FormFlag> forms_of(query::AnswerKind kind) {
  return kind == query::AnswerKind::kFlame ? std::span<const FormFlag>(kFlameForms)
                                           : std::span<const FormFlag>(kTableForms);
}

void add_answer_forms(CLI::App& command, query::AnswerKind kind, AnswerForm& form) {
  std::vector<CLI::Option*> flags;
  for (const FormFlag& one : forms_of(kind)) {
    flags.push_back(
        command.add_flag_callback(one.flag, [&form, of_flag = one.form] { form = of_flag; }, one.help));
    for (size_t before = 0; before + 1 < flags.size(); ++before) {
      flags.back()->excludes(flags[before]);
    }
  }
}

// Of an answer that a terminal can show: printed again and again, so that no other form goes with it, and no order.
void add_watch(CLI::App& command, const query::View& view, double& interval_s) {
  const bool is_shown =
      view.answer_kind == query::AnswerKind::kTable || view.answer_kind == query::AnswerKind::kFlame;
  if (!view.answer || !is_shown) {
    return;
  }
  const std::vector<CLI::Option*> others = command.get_options([&](const CLI::Option* option) {
    const bool is_form = std::ranges::any_of(
        forms_of(view.answer_kind), [&](const FormFlag& form) { return option->check_name(form.flag); });
    const bool is_order = std::ranges::any_of(
        view.orders, [&](const query::OrderSpec& order) { return option->check_name(order.flag); });
    return is_form || is_order;
  });
  auto* const watch =
      command.add_option("--watch", interval_s, "Ask again every SECONDS (default 2) and redraw, until ^C")
          ->expected(0, 1)
          ->default_str("2")
          ->type_name("[SECONDS]")
          ->check([](const std::string& text) {
            double seconds = 0;
            return CLI::detail::lexical_cast(text, seconds) && seconds >= 0.1 && seconds <= 86'400
                       ? std::string()
                       : fmt::format("{} is no number of seconds from 0.1 to 86400", text);
          });
  for (CLI::Option* other : others) {
    watch->excludes(other);
  }
}

std::string footer_of(const query::View& view) {
  std::string text = view.details;
  text += view.examples.empty() ? "" : "Examples:\n";
  for (const query::Example& example : view.examples) {
    text += fmt::format("  # {}\n  {}\n", example.meaning, example.command);
  }
  return text;
}

}  // namespace

void ViewCommands::add_to(CLI::App& app) {
  for (const query::View& view : query::views()) {
    if (!view.command.empty()) {
      add_view(app, view);
    }
  }
  add_export(app);
}

bool ViewCommands::is_given() const {
  return std::ranges::any_of(commands_, [](const Command& command) { return command.parsed->parsed(); });
}

Status ViewCommands::run() const {
  const auto given =
      std::ranges::find_if(commands_, [](const Command& command) { return command.parsed->parsed(); });
  if (!is_named(*given->source)) {
    return fail(ErrorCode::kInvalid, "{} requires --server ADDR or --data DIR", given->parsed->get_name());
  }
  return given->run();
}

void ViewCommands::add_view(CLI::App& app, const query::View& view) {
  ViewOptions& options = views_.emplace_back();
  options.view = &view;
  auto* command = app.add_subcommand(view.command, view.summary);
  add_source(*command, options.source);
  add_answer_forms(*command, view.answer_kind, options.form);
  if (view.text_summary) {
    command->add_flag("--long", options.is_long, "Print every row of the answer instead of a summary");
  }
  add_parameters(*command, view.parameters, options.parameters);
  add_orders(*command, view, options.order);
  add_watch(*command, view, options.watch_interval_s);
  command->footer(footer_of(view));
  commands_.push_back({command, &options.source, [&options] { return run_view(options); }});
}

void ViewCommands::add_export(CLI::App& app) {
  ExportOptions& options = export_;
  auto* command = app.add_subcommand("export", "Write samples for pprof");
  add_source(*command, options.source);
  const auto add_format = [&](const char* flag, const std::string& name) {
    const query::View& view = *query::find_view(name);
    return command
        ->add_option_function<std::string>(
            flag,
            [&options, name](const std::string& path) {
              options.view = name;
              options.output = path;
            },
            view.summary + " (-: to standard output)")
        ->type_name("FILE");
  };
  add_format("--pprof", "export/pprof")->excludes(add_format("--gperftools", "export/gperftools"));
  add_parameters(*command, query::find_view("export/pprof")->parameters, options.parameters);
  command->footer(R"(Examples:
  # read by Go's pprof
  plimsoll export --data DIR --pprof out.pb.gz && go tool pprof -top out.pb.gz
  # read by the pprof written in Perl
  plimsoll export --data DIR --gperftools out && google-pprof --text out
)");
  commands_.push_back({command, &options.source, [this] { return run_export(export_); }});
}

}  // namespace plimsoll::cli
