#include "cli/help/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "cli/usage/suggestions.h"
#include "cli/views/commands.h"
#include "cli/views/user_config.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/event_pair.h"

namespace plimsoll::cli {
namespace {

constexpr const char* kBash = R"(_plimsoll() {
  local IFS=$'\n'
  COMPREPLY=($(plimsoll complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
}
complete -o default -F _plimsoll plimsoll
)";

constexpr const char* kZsh = R"(#compdef plimsoll
_plimsoll() {
  local -a candidates
  candidates=("${(@f)$(plimsoll complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n ${candidates[1]-} ]]; then compadd -Q -- "${candidates[@]}"; else _files; fi
}
compdef _plimsoll plimsoll
)";

constexpr const char* kFish = R"(function __plimsoll_complete
  set -l words (commandline -opc) (commandline -ct)
  plimsoll complete $words[2..-1] 2>/dev/null
end
complete -c plimsoll -a '(__plimsoll_complete)'
)";

// The words as far as they go: which command, which flag waits for its value, and the source that is named.
struct Position {
  const CLI::App* command;
  const CLI::Option* flag = nullptr;  // waits for a value
  AnswerSource source;
};

const CLI::Option* find_option(const CLI::App& command, const std::string& flag) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->check_name(flag)) {
      return option;
    }
  }
  return nullptr;
}

void take_source(const std::string& flag, const std::string& value, AnswerSource& source) {
  if (flag == "--server") {
    source.server = value;
  } else if (flag == "--data") {
    source.data_dir = value;
  } else if (flag == "--token-file") {
    source.token_file = value;
  } else if (flag == "--server-ca") {
    source.server_ca = value;
  }
}

Position position_of(const CLI::App& app, const std::vector<std::string>& words) {
  Position position{.command = &app, .source = {}};
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (position.flag != nullptr) {
      take_source(words[i - 1], word, position.source);
      position.flag = nullptr;
    } else if (word.starts_with("--")) {
      const CLI::Option* const option = find_option(*position.command, word);
      position.flag = option != nullptr && option->get_items_expected_max() != 0 ? option : nullptr;
    } else if (const CLI::App* const sub = find_subcommand(*position.command, word)) {
      position.command = sub;
    }
  }
  // A faulty configuration is reported by the command; while it is typed, names are just not completed.
  if (const Status completed = complete_source(position.source); !completed) {
    position.source = {};
  }
  return position;
}

// The first column of a table; nothing where it cannot be had.
std::vector<std::string> first_column(std::string_view view, const AnswerSource& source,
                                      query::Parameters parameters) {
  std::vector<std::string> texts;
  if (!is_named(source)) {
    return texts;
  }
  const auto table = ask_table(view, {.source = source, .parameters = std::move(parameters)});
  if (table) {
    for (const auto& row : table->rows) {
      const auto* const text = std::get_if<std::string>(&row.front());
      texts.push_back(text == nullptr ? std::string() : *text);
    }
  }
  return texts;
}

std::vector<std::string> events_of(const AnswerSource& source) {
  std::vector<std::string> names;
  if (!is_named(source)) {
    return names;
  }
  const auto answer = ask_view(*query::find_view("sql"), source, {{"q", "SELECT event FROM events"}});
  if (answer) {
    for (const auto& row : std::get<query::SqlAnswer>(*answer).rows) {
      const auto* const text = std::get_if<std::string>(&row.front());
      names.push_back(text == nullptr ? std::string() : *text);
    }
  }
  return names;
}

std::vector<std::string> dimension_names(std::string_view before, std::string_view after) {
  std::vector<std::string> names;
  for (const query::Dimension& dimension : query::dimensions()) {
    names.push_back(std::string(before) + std::string(dimension.name) + std::string(after));
  }
  return names;
}

std::vector<std::string> values_of(const query::ParameterSpec& parameter, const AnswerSource& source,
                                   const std::string& word) {
  using query::ValueKind;
  switch (parameter.kind) {
    case ValueKind::kChoice:
      return parameter.choices;
    case ValueKind::kDimension:
      return dimension_names("", "");
    case ValueKind::kDimensions:
      return dimension_names(word.substr(0, word.rfind(',') + 1), "");
    case ValueKind::kPredicate:
      return dimension_names("", "=");
    case ValueKind::kRatio: {
      std::vector<std::string> names;
      for (const query::NamedRatio& ratio : query::named_ratios()) {
        names.emplace_back(ratio.name);
      }
      return names;
    }
    case ValueKind::kEvent:
      return events_of(source);
    case ValueKind::kJob:
      return first_column("jobs", source, {{"limit", "10000"}});
    case ValueKind::kMachine:
      return first_column("machines", source, {});
    case ValueKind::kDraw:
      return first_column("draws", source, {});
    case ValueKind::kFunction:
      return first_column("top", source, {{"limit", "1000"}, {"margins", "no"}});
    default:
      return {};
  }
}

// Of a view's command; of a flag, or of what stands by its place.
std::vector<std::string> values_at(const Position& position, const std::string& word) {
  for (const query::View& view : query::views()) {
    if (view.command != position.command->get_name()) {
      continue;
    }
    for (const query::ParameterSpec& parameter : view.parameters) {
      const bool is_meant = position.flag != nullptr ? position.flag->check_name(query::flag_of(parameter))
                                                     : parameter.is_positional;
      if (is_meant) {
        return values_of(parameter, position.source, word);
      }
    }
  }
  return {};
}

}  // namespace

Result<std::string> completion_script(const std::string& shell) {
  if (shell == "bash" || shell == "zsh" || shell == "fish") {
    return std::string(shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish);
  }
  return fail(ErrorCode::kInvalid, "no completion for {}: choose bash, zsh or fish", shell);
}

std::vector<std::string> completions(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string word = words.empty() ? std::string() : words.back();
  const Position position = position_of(app, words);
  std::vector<std::string> candidates;
  if (position.flag == nullptr && word.starts_with("-")) {
    candidates = flag_names(*position.command);
  } else {
    candidates = position.flag == nullptr ? command_names(*position.command) : std::vector<std::string>();
    std::ranges::copy(values_at(position, word), std::back_inserter(candidates));
  }
  std::erase_if(candidates, [&](const std::string& candidate) { return !candidate.starts_with(word); });
  return candidates;
}

}  // namespace plimsoll::cli
