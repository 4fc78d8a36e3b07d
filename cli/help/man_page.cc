#include "cli/help/man_page.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "base/version.h"
#include "cli/usage/suggestions.h"

namespace plimsoll::cli {
namespace {

// A backslash, and a dot or an apostrophe at the start of a line, mean something to man (groff_char(7)).
std::string escaped(const std::string& text) {
  std::string result;
  bool is_line_start = true;
  for (const char c : text) {
    if (is_line_start && (c == '.' || c == '\'')) {
      result += "\\&";
    }
    result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    is_line_start = c == '\n';
  }
  return result;
}

std::string options_of(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    const std::string placeholder = option->get_items_expected_max() != 0 ? option->get_type_name() : "";
    text += fmt::format(".TP\n\\fB{}\\fR {}\n{}\n", escaped(option->get_name()), escaped(placeholder),
                        escaped(option->get_description()));
  }
  return text;
}

}  // namespace

std::string man_page(const CLI::App& command, const std::string& name) {
  std::string spaced = name;
  std::ranges::replace(spaced, '-', ' ');
  std::string text =
      fmt::format(".TH {} 1 \"\" \"Plimsoll {}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n", name,
                  version(), escaped(name), escaped(command.get_description()), escaped(spaced));
  text += command_names(command).empty() ? "[OPTIONS]\n" : "COMMAND [OPTIONS]\n";
  text += ".SH OPTIONS\n" + options_of(command);
  if (!command_names(command).empty()) {
    text += ".SH COMMANDS\n";
    for (const std::string& sub : command_names(command)) {
      text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(sub),
                          escaped(command.get_subcommand(sub)->get_description()));
    }
  }
  if (!command.get_footer().empty()) {
    text += ".SH NOTES\n.nf\n" + escaped(command.get_footer()) + "\n.fi\n";
  }
  return text;
}

}  // namespace plimsoll::cli
