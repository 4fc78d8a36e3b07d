#include "tests/e2e/shown_commands.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/places.h"

namespace plimsoll::testing {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string read_document(const std::string& name) {
  std::ifstream file(source_file(name));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Shown> shown_in(const std::string& document) {
  std::vector<Shown> all;
  bool is_code = false;
  for (const std::string& line : lines_of(document)) {
    if (line.starts_with("```")) {
      is_code = !is_code;
    } else if (is_code && line.starts_with("$ ")) {
      all.push_back({line.substr(2), {}});
    } else if (is_code && !all.empty()) {
      all.back().lines.push_back(line);
    }
  }
  return all;
}

bool matches(const std::vector<std::string>& shown, const std::vector<std::string>& real) {
  size_t at = 0;
  for (size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] != "...") {
      if (at == real.size() || real[at] != shown[i]) {
        return false;
      }
      ++at;
      continue;
    }
    // The lines up to the next "..." follow somewhere: at their first occurrence, or at the end where none follows.
    const auto from = shown.begin() + static_cast<ptrdiff_t>(i) + 1;
    const auto to = std::find(from, shown.end(), "...");
    const auto found = to == shown.end()
                           ? std::find_end(real.begin() + static_cast<ptrdiff_t>(at), real.end(), from, to)
                           : std::search(real.begin() + static_cast<ptrdiff_t>(at), real.end(), from, to);
    if (found == real.end() && from != to) {
      return false;
    }
    at = from == to ? real.size() : static_cast<size_t>(found - real.begin());
  }
  return at == real.size();
}

std::string with_output(const std::string& document, const std::vector<Shown>& shown) {
  std::string text;
  size_t next = 0;
  bool is_code = false;
  bool is_output = false;
  for (const std::string& line : lines_of(document)) {
    if (line.starts_with("```")) {
      is_code = !is_code;
      is_output = false;
    } else if (is_code && line.starts_with("$ ")) {
      is_output = true;
      text +=
          line + "\n" + (next < shown.size() ? fmt::format("{}", fmt::join(shown[next].lines, "\n")) : "");
      text += next < shown.size() && !shown[next].lines.empty() ? "\n" : "";
      ++next;
      continue;
    }
    text += is_output ? "" : line + "\n";
  }
  return text;
}

Finished run_as_shown(const std::string& command, const std::string& folder,
                      const std::vector<std::string>& as) {
  const std::string programs = program("plimsoll").substr(0, program("plimsoll").rfind('/'));
  std::vector<std::string> argv = as;
  argv.insert(argv.end(), {"/bin/bash", "-c",
                           fmt::format("export PATH={}:$PATH COLUMNS=110 HOME={}; unset PLIMSOLL_SERVER "
                                       "PLIMSOLL_TOKEN XDG_CONFIG_HOME; cd {} && {}",
                                       programs, folder, folder, command)});
  return run(argv);
}

}  // namespace plimsoll::testing
