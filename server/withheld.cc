#include "server/withheld.h"

#include <algorithm>
#include <variant>

namespace plimsoll::server {
namespace {

constexpr std::string_view kBeforePaths = " \t\n\"'`(=:,";
constexpr std::string_view kBehindPaths = " \t\n\"'`),;";

bool begins_word(std::string_view text, size_t at) {
  return at == 0 || kBeforePaths.find(text[at - 1]) != std::string_view::npos;
}

void name_relative(std::string_view data_dir, std::string& text) {
  std::string folder(data_dir);
  while (folder.size() > 1 && folder.ends_with('/')) {
    folder.pop_back();
  }
  if (folder.empty()) {
    return;  // it would be found everywhere
  }
  const std::string within = folder + "/";
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder, at + 1)) {
    const size_t end = at + folder.size();
    const bool is_whole = end == text.size() || text[end] == '/' || begins_word(text, end + 1) ||
                          kBehindPaths.find(text[end]) != std::string_view::npos;
    if (!begins_word(text, at) || !is_whole) {
      continue;
    }
    if (text.compare(at, within.size(), within) == 0) {
      text.erase(at, within.size());
    } else {
      text.replace(at, folder.size(), "the data directory");
    }
  }
}

void hide_absolute(std::string& text) {
  for (size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    if (begins_word(text, at) && at + 1 < text.size() && text[at + 1] != ' ') {
      size_t end = std::min(text.find_first_of(kBehindPaths, at), text.size());
      // "opening /a/b: denied"
      end -= text[end - 1] == ':' ? 1 : 0;
      text.replace(at, end - at, "[path]");
    }
  }
}

}  // namespace

void withhold_reasons(query::Answer& answer) {
  std::visit(
      [](auto& given) {
        if constexpr (requires { given.coverage.unsymbolized_by; }) {
          for (query::UnsymbolizedBinary& binary : given.coverage.unsymbolized_by) {
            if (!binary.reason.empty()) {
              binary.reason =
                  "the server has no complete symbols of this build; the reason requires a token of role "
                  "admin";
            }
          }
        }
      },
      answer);
}

void withhold_paths(const query::View& view, std::string_view data_dir, query::Answer& answer) {
  const bool is_of_server = view.name == "store" || view.name == "status";
  const auto withhold = [&](std::string& text) {
    name_relative(data_dir, text);
    if (is_of_server) {
      hide_absolute(text);
    }
  };
  std::visit(
      [&](auto& given) {
        if constexpr (requires { given.notes; }) {
          std::ranges::for_each(given.notes, withhold);
        }
      },
      answer);
  auto* const table = std::get_if<query::Table>(&answer);
  if (!is_of_server || table == nullptr) {
    return;
  }
  for (auto& row : table->rows) {
    for (query::Value& value : row) {
      if (auto* const text = std::get_if<std::string>(&value)) {
        withhold(*text);
      }
    }
  }
}

void withhold_paths(std::string_view data_dir, std::vector<std::string>& notes) {
  for (std::string& note : notes) {
    name_relative(data_dir, note);
  }
}

void withhold_paths(std::string_view data_dir, Error& error) {
  name_relative(data_dir, error.message);
  name_relative(data_dir, error.hint);
}

Error without_reasons(Error error, const http::Caller& caller) {
  const size_t line_end = error.hint.find('\n');
  if (line_end == std::string::npos) {
    return error;
  }
  if (http::permits(caller.role, http::Right::kOrder)) {
    error.hint.replace(line_end, 1, "; the search: ");
  } else {
    error.hint.resize(line_end);
    error.hint += "; a token of role admin gets the reasons";
  }
  return error;
}

}  // namespace plimsoll::server
