#include "config/toml.h"

#include <toml++/toml.h>

#include <algorithm>
#include <tuple>

namespace plimsoll::config {
namespace {

// Deeper tables than this hold no known key.
constexpr int kMaxDepth = 16;

bool is_bare_key(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::string key_below(const std::string& parent, std::string_view part) {
  const std::string text = is_bare_key(part) ? std::string(part) : quote_toml(part);
  return parent.empty() ? text : parent + "." + text;
}

std::string kind_of_node(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list with values other than strings";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
    default:
      return "a value of another kind";
  }
}

std::vector<TomlEntry> entries_of(const toml::table& table, int depth);

Value list_value(const toml::array& array, int depth) {
  if (!array.empty() && array.is_homogeneous(toml::node_type::table) && depth < kMaxDepth) {
    std::vector<TomlTable> tables;
    for (const toml::node& element : array) {
      tables.push_back({element.source().begin.line, entries_of(*element.as_table(), depth + 1)});
    }
    return tables;
  }
  std::vector<std::string> list;
  for (const toml::node& element : array) {
    const auto* const text = element.as_string();
    if (text == nullptr) {
      return OtherValue{kind_of_node(array)};
    }
    list.push_back(text->get());
  }
  return list;
}

Value value_of(const toml::node& node, int depth) {
  if (const auto* const text = node.as_string()) {
    return text->get();
  }
  if (const auto* const integer = node.as_integer()) {
    return integer->get();
  }
  if (const auto* const number = node.as_floating_point()) {
    return number->get();
  }
  if (const auto* const boolean = node.as_boolean()) {
    return boolean->get();
  }
  if (const auto* const array = node.as_array()) {
    return list_value(*array, depth);
  }
  return OtherValue{kind_of_node(node)};
}

void flatten(const toml::table& table, const std::string& parent, int depth,
             std::vector<TomlEntry>& entries) {
  for (const auto& [part, node] : table) {
    const std::string key = key_below(parent, part.str());
    const auto* const inner = node.as_table();
    if (inner != nullptr && !inner->empty() && depth < kMaxDepth) {
      flatten(*inner, key, depth + 1, entries);
    } else {
      entries.push_back({key, node.source().begin.line, value_of(node, depth)});
    }
  }
}

std::vector<TomlEntry> entries_of(const toml::table& table, int depth) {
  std::vector<TomlEntry> entries;
  flatten(table, {}, depth, entries);
  std::ranges::sort(entries, [](const TomlEntry& a, const TomlEntry& b) {
    return std::tie(a.line, a.key) < std::tie(b.line, b.key);
  });
  return entries;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

std::string_view key_text(std::string_view text) {
  const std::string_view key = trimmed(text);
  const bool dotted =
      std::ranges::all_of(key, [](char c) { return c == '.' || is_bare_key(std::string_view(&c, 1)); });
  return dotted ? key : std::string_view{};
}

// The key of a line by its looks, because what cannot be parsed has no nodes; empty where it cannot be told.
std::string guess_key(std::string_view text, uint32_t wanted_line) {
  std::string_view table;
  std::string_view key;
  for (uint32_t line = 1; line <= wanted_line; ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    key = {};
    if (content.starts_with('[')) {
      table = key_text(content.substr(1, std::min(content.find(']'), content.size()) - 1));
    } else if (const size_t equals = content.find('='); equals != std::string_view::npos) {
      key = key_text(content.substr(0, equals));
    }
  }
  if (key.empty() || table.empty()) {
    return std::string(key.empty() ? table : key);
  }
  return fmt::format("{}.{}", table, key);
}

std::unexpected<Error> syntax_error(const toml::parse_error& error, std::string_view text,
                                    std::string_view file) {
  const uint32_t line = error.source().begin.line;
  const bool twice = error.description().find("redefine") != std::string_view::npos;
  auto failure = fail(ErrorCode::kInvalid, "{}:{}: {}", file, line, error.description());
  failure = with_field(std::move(failure), guess_key(text, line));
  return with_hint(std::move(failure),
                   twice ? "give each key and table once" : "write TOML: key = value, text in double quotes");
}

}  // namespace

std::string quote_toml(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

Result<std::vector<TomlEntry>> parse_toml(std::string_view text, std::string_view file) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return syntax_error(parsed.error(), text, file);
  }
  return entries_of(parsed.table(), 0);
}

}  // namespace plimsoll::config
