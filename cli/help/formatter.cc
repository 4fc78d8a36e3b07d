#include "cli/help/formatter.h"

#include <CLI/CLI.hpp>

namespace plimsoll::cli {
namespace {

class PlainFormatter : public CLI::Formatter {
 public:
  PlainFormatter() { column_width(26); }

  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = option->get_items_expected_max() != 0 ? " " + option->get_type_name() : "";
    text += option->get_required() ? " (required)" : "";
    return text;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string& variable = option->get_envname();
    return option->get_description() + (variable.empty() ? "" : " [" + variable + "]");
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> plain_formatter() {
  return std::make_shared<PlainFormatter>();
}

}  // namespace plimsoll::cli
