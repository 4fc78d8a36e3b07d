#include "cli/views/terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace plimsoll::cli {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

size_t terminal_width() {
  constexpr size_t kUsualWidth = 80;
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualWidth;
}

}  // namespace

query::TextStyle style_of_output() {
  if (::isatty(STDOUT_FILENO) != 1) {
    return {};
  }
  const std::string_view terminal = environment("TERM");
  return {.width = terminal_width(),
          .has_colors = environment("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb"};
}

Status print(Result<query::Table> table, query::TableForm form, const std::vector<std::string>& notes) {
  if (!table) {
    return propagate(table);
  }
  table->notes.insert(table->notes.end(), notes.begin(), notes.end());
  fmt::print("{}", query::to_form(*table, form, style_of_output()));
  return {};
}

}  // namespace plimsoll::cli
