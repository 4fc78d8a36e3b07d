// Options whose value is one of a few words.
#pragma once

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace plimsoll::cli {

// For transform() of an option that sets an enum: takes the words, in any case. CLI::CheckedTransformer does so too, but puts a dump of
// its table into help and errors.
template <typename Enum>
CLI::Validator choice(const std::map<std::string, Enum>& values) {
  return CLI::Validator(
      [values](std::string& text) {
        const auto found = values.find(CLI::detail::to_lower(text));
        if (found == values.end()) {
          std::vector<std::string> words;
          for (const auto& [word, value] : values) {
            words.push_back(word);
          }
          return fmt::format("must be {}, not \"{}\"", fmt::join(words, ", "), text);
        }
        // CLI11 reads enums from their numbers.
        text = std::to_string(static_cast<std::underlying_type_t<Enum>>(found->second));
        return std::string();
      },
      "");
}

}  // namespace plimsoll::cli
