#include "cli/views/terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace plimsoll::cli {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

// In COLUMNS, a positive number of characters; 0: not set, or to something else.
size_t wanted_width() {
  const std::string_view text = environment("COLUMNS");
  size_t width = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), width);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? width : 0;
}

size_t terminal_width() {
  constexpr size_t kUsualWidth = 80;
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualWidth;
}

// By the locale's variables: of those that are set the first one counts (POSIX, 8.2).
bool encodes_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (std::string locale(environment(name)); !locale.empty()) {
      std::ranges::transform(locale, locale.begin(), [](unsigned char c) { return std::tolower(c); });
      return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    }
  }
  return false;
}

}  // namespace

query::TextStyle style_of_output() {
  const size_t wanted = wanted_width();
  if (::isatty(STDOUT_FILENO) != 1) {
    return {.width = wanted, .has_blocks = wanted > 0 && encodes_utf8()};
  }
  const std::string_view terminal = environment("TERM");
  return {.width = wanted > 0 ? wanted : terminal_width(),
          .has_colors = environment("NO_COLOR").empty() && !terminal.empty() && terminal != "dumb",
          .has_blocks = encodes_utf8()};
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
