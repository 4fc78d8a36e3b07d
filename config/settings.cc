#include "config/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/file.h"
#include "base/suggest.h"
#include "base/time.h"
#include "config/toml.h"

namespace plimsoll::config {
namespace {

// More could nest so many tables that freeing them overflows the stack.
constexpr uint64_t kMaxFileBytes = 64 << 10;

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

struct Unit {
  std::string_view name;
  int64_t factor;
};

// Largest first.
constexpr std::array kDurationUnits{
    Unit{"h", 3600 * kNsPerSecond},
    Unit{"min", 60 * kNsPerSecond},
    Unit{"s", kNsPerSecond},
    Unit{"ms", 1'000'000},
    Unit{"us", 1000},
    Unit{"ns", 1},
};
constexpr std::array kSizeUnits{
    Unit{"GiB", int64_t{1} << 30},
    Unit{"MiB", int64_t{1} << 20},
    Unit{"KiB", int64_t{1} << 10},
    Unit{"B", 1},
};

// In the largest unit that leaves no fraction.
std::string format_in(std::span<const Unit> units, int64_t amount) {
  if (amount == 0) {
    return fmt::format("0{}", units.back().name);
  }
  const auto unit = std::ranges::find_if(units, [&](const Unit& u) { return amount % u.factor == 0; });
  return fmt::format("{}{}", amount / unit->factor, unit->name);
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<int64_t> parse_size_bytes(std::string_view text) {
  for (const Unit& unit : kSizeUnits) {
    if (text.ends_with(unit.name)) {
      text.remove_suffix(unit.name.size());
      const auto amount = parse_integer(text);
      int64_t bytes = 0;
      if (!amount || __builtin_mul_overflow(*amount, unit.factor, &bytes)) {
        return std::nullopt;
      }
      return bytes;
    }
  }
  return parse_integer(text);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> list;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    list.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return list;
}

std::string format_list(const std::vector<std::string>& list) {
  std::string text = "[";
  for (const std::string& element : list) {
    text += (text.size() > 1 ? ", " : "") + quote_toml(element);
  }
  return text + "]";
}

// TOML tells 1.0 from 1, and has no other names for the special values.
std::string format_number(double value) {
  if (!std::isfinite(value)) {
    return fmt::format("{}", value);
  }
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string toml_of(const Target& target);

// As inline tables, of what is not as it would be anyway.
std::string format_tables(const TableList& tables) {
  const std::vector<Key> defaults = tables.default_keys();
  std::string text = "[";
  for (size_t i = 0; i < tables.size(); ++i) {
    std::string table;
    const std::vector<Key> keys = tables.keys(i);
    for (size_t key = 0; key < keys.size(); ++key) {
      const std::string value = toml_of(keys[key].target);
      if (value != toml_of(defaults[key].target)) {
        table += fmt::format("{}{} = {}", table.empty() ? "" : ", ", keys[key].name, value);
      }
    }
    text += fmt::format("{}{{{}}}", i == 0 ? "" : ", ", table);
  }
  return text + "]";
}

std::string toml_of(const Target& target) {
  return std::visit(
      Overloaded{
          [](const std::string* text) { return quote_toml(*text); },
          [](const int64_t* integer) { return fmt::format("{}", *integer); },
          [](const double* number) { return format_number(*number); },
          [](const bool* boolean) { return std::string(*boolean ? "true" : "false"); },
          [](const std::vector<std::string>* list) { return format_list(*list); },
          [](const DurationNs& duration) { return quote_toml(format_in(kDurationUnits, *duration.ns)); },
          [](const SizeBytes& size) { return quote_toml(format_in(kSizeUnits, *size.bytes)); },
          [](const TableList& tables) { return format_tables(tables); },
      },
      target);
}

std::string_view kind_of(const Target& target) {
  constexpr std::array<std::string_view, std::variant_size_v<Target>> kKinds{
      "a string",
      "an integer",
      "a number",
      "true or false",
      "a list of strings",
      "a duration such as \"10s\"",
      "a size such as \"64MiB\" or a number of bytes",
      "a list of tables in the file",
  };
  return kKinds[target.index()];
}

std::string kind_of(const Value& value) {
  return std::visit(Overloaded{
                        [](const std::string& text) { return quote_toml(text); },
                        [](int64_t integer) { return fmt::format("the integer {}", integer); },
                        [](double number) { return fmt::format("the number {}", format_number(number)); },
                        [](bool boolean) { return std::string(boolean ? "true" : "false"); },
                        [](const std::vector<std::string>&) { return std::string("a list"); },
                        [](const std::vector<TomlTable>&) { return std::string("a list of tables"); },
                        [](const OtherValue& other) { return other.kind; },
                    },
                    value);
}

// False where the value is of the wrong kind.
bool assign(const Target& target, const Value& value) {
  const auto same_kind = [&value]<typename T>(T* place) {
    const T* const found = std::get_if<T>(&value);
    if (found != nullptr) {
      *place = *found;
    }
    return found != nullptr;
  };
  const auto converted = [](int64_t* place, std::optional<int64_t> parsed) {
    *place = parsed.value_or(*place);
    return parsed.has_value();
  };
  const auto* const text = std::get_if<std::string>(&value);
  const auto* const integer = std::get_if<int64_t>(&value);
  return std::visit(Overloaded{
                        [&](auto* place) { return same_kind(place); },
                        [&](double* place) {
                          if (integer != nullptr) {
                            *place = static_cast<double>(*integer);
                            return true;
                          }
                          return same_kind(place);
                        },
                        [&](const DurationNs& duration) {
                          return text != nullptr && converted(duration.ns, parse_duration_ns(*text));
                        },
                        [&](const SizeBytes& size) {
                          if (text == nullptr) {
                            return same_kind(size.bytes);
                          }
                          return converted(size.bytes, parse_size_bytes(*text));
                        },
                        [&](const TableList& tables) {
                          // An empty list has no kind of its own; one of tables is taken table by table.
                          const auto* const list = std::get_if<std::vector<std::string>>(&value);
                          tables.clear();
                          return list != nullptr && list->empty();
                        },
                    },
                    target);
}

// What the text of a variable or flag would be in a file; text that cannot be it stays text.
Value value_of_text(const Target& target, std::string_view text) {
  Value unchanged = std::string(text);
  if (std::holds_alternative<int64_t*>(target)) {
    const auto integer = parse_integer(text);
    return integer ? Value(*integer) : unchanged;
  }
  if (std::holds_alternative<double*>(target)) {
    const auto number = parse_number(text);
    return number ? Value(*number) : unchanged;
  }
  if (std::holds_alternative<bool*>(target)) {
    return text == "true" || text == "false" ? Value(text == "true") : unchanged;
  }
  if (std::holds_alternative<std::vector<std::string>*>(target)) {
    return split_list(text);
  }
  return unchanged;
}

bool in_range(const Target& target, const Range& range) {
  const auto within = [&range](int64_t value) { return value >= range.min && value <= range.max; };
  return std::visit(Overloaded{
                        [&](const int64_t* integer) { return within(*integer); },
                        [&](const double* number) {
                          return *number >= static_cast<double>(range.min) &&
                                 *number <= static_cast<double>(range.max);
                        },
                        [&](const DurationNs& duration) { return within(*duration.ns); },
                        [&](const SizeBytes& size) { return within(*size.bytes); },
                        [](const TableList&) { return true; },
                        [](const auto*) { return true; },
                    },
                    target);
}

std::string format_limit(const Target& target, int64_t limit) {
  if (std::holds_alternative<DurationNs>(target)) {
    return format_in(kDurationUnits, limit);
  }
  if (std::holds_alternative<SizeBytes>(target)) {
    return format_in(kSizeUnits, limit);
  }
  return fmt::format("{}", limit);
}

std::string range_text(const Target& target, const Range& range) {
  return fmt::format("between {} and {}", format_limit(target, range.min), format_limit(target, range.max));
}

bool is_section(const std::vector<Key>& keys, std::string_view name) {
  const std::string prefix = std::string(name) + ".";
  return std::ranges::any_of(keys, [&](const Key& key) { return key.name.starts_with(prefix); });
}

std::unexpected<Error> unknown_key(const std::vector<Key>& keys, const std::string& where,
                                   const std::string& name) {
  if (is_section(keys, name)) {
    return with_field(fail(ErrorCode::kInvalid, "{}: {} must be a table", where, name), name);
  }
  std::vector<std::string_view> known;
  known.reserve(keys.size());
  for (const Key& key : keys) {
    known.emplace_back(key.name);
  }
  const auto nearest = nearest_word(name, known);
  auto failure = with_field(fail(ErrorCode::kInvalid, "{}: unknown key {}", where, name), name);
  return with_hint(std::move(failure),
                   nearest ? fmt::format("did you mean {}?", *nearest) : "the example file lists every key");
}

std::optional<size_t> index_of(const std::vector<Key>& keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &Key::name);
  return found == keys.end() ? std::nullopt : std::optional<size_t>(found - keys.begin());
}

// `name` is that of the key in full.
Status set_value(const Key& key, const Value& value, const std::string& where, const std::string& name) {
  if (!assign(key.target, value)) {
    return with_field(fail(ErrorCode::kInvalid, "{}: {} must be {}, not {}", where, name, kind_of(key.target),
                           kind_of(value)),
                      name);
  }
  if (key.range && !in_range(key.target, *key.range)) {
    auto failure =
        fail(ErrorCode::kInvalid, "{}: {} is {}, which is out of range", where, name, toml_of(key.target));
    return with_hint(with_field(std::move(failure), name),
                     "give a value " + range_text(key.target, *key.range));
  }
  return {};
}

Status set_table(const std::vector<Key>& keys, const TomlTable& table, std::string_view path,
                 const std::string& name) {
  for (const TomlEntry& entry : table.entries) {
    const std::string where = fmt::format("{}:{}", path, entry.line);
    const auto index = index_of(keys, entry.key);
    const std::string full_name = fmt::format("{}.{}", name, entry.key);
    auto set = index ? set_value(keys[*index], entry.value, where, full_name)
                     : Status(with_field(unknown_key(keys, where, entry.key), full_name));
    if (!set) {
      return set;
    }
  }
  return {};
}

Status set_tables(const Key& key, const std::vector<TomlTable>& tables, std::string_view path) {
  const TableList& list = std::get<TableList>(key.target);
  list.clear();
  for (size_t i = 0; i < tables.size(); ++i) {
    if (auto set = set_table(list.append(), tables[i], path, fmt::format("{}[{}]", key.name, i)); !set) {
      return set;
    }
  }
  return {};
}

class Loader {
 public:
  explicit Loader(const std::vector<Key>& keys) : keys_(keys) {
    for (const Key& key : keys_) {
      sources_.push_back({key.name, {}, Origin::kDefault, "default"});
    }
  }

  Status read_file_at(const std::string& path) {
    const auto text = read_file(path, kMaxFileBytes);
    if (!text) {
      return propagate(text, "loading the configuration");
    }
    const auto entries = parse_toml(*text, path);
    if (!entries) {
      return propagate(entries);
    }
    for (const TomlEntry& entry : *entries) {
      if (auto taken = take_entry(entry, path); !taken) {
        return taken;
      }
    }
    return {};
  }

  Status read_environment(const std::function<const char*(const char*)>& look_up) {
    for (size_t i = 0; i < keys_.size(); ++i) {
      const std::string name = variable_of(keys_[i].name);
      const char* const text = look_up(name.c_str());
      if (text == nullptr || *text == '\0') {
        continue;
      }
      if (auto taken = take(i, value_of_text(keys_[i].target, text), Origin::kEnvironment, name); !taken) {
        return taken;
      }
    }
    return {};
  }

  Status read_flag(const std::string& name, std::string_view text) {
    const auto index = index_of(keys_, name);
    if (!index) {
      return unknown_key(keys_, "command line", name);
    }
    return take(*index, value_of_text(keys_[*index].target, text), Origin::kFlag, "command line");
  }

  Sources finish() && {
    for (size_t i = 0; i < keys_.size(); ++i) {
      sources_[i].value = toml_of(keys_[i].target);
    }
    return std::move(sources_);
  }

 private:
  Status take_entry(const TomlEntry& entry, const std::string& path) {
    const std::string where = fmt::format("{}:{}", path, entry.line);
    const auto* const other = std::get_if<OtherValue>(&entry.value);
    if (other != nullptr && other->kind == "a table" && is_section(keys_, entry.key)) {
      return {};
    }
    const auto index = index_of(keys_, entry.key);
    if (!index) {
      return unknown_key(keys_, where, entry.key);
    }
    const auto* const tables = std::get_if<std::vector<TomlTable>>(&entry.value);
    if (tables != nullptr && std::holds_alternative<TableList>(keys_[*index].target)) {
      note_source(*index, Origin::kFile, where);
      return set_tables(keys_[*index], *tables, path);
    }
    return take(*index, entry.value, Origin::kFile, where);
  }

  Status take(size_t index, const Value& value, Origin origin, const std::string& where) {
    note_source(index, origin, where);
    return set_value(keys_[index], value, where, keys_[index].name);
  }

  void note_source(size_t index, Origin origin, const std::string& where) {
    sources_[index].origin = origin;
    sources_[index].where = where;
  }

  const std::vector<Key>& keys_;
  Sources sources_;
};

// The keys of one element, as a comment that stays one when the keys around it are made to count.
std::string table_comment(const std::string& name, const TableList& tables) {
  std::string text = fmt::format("\n    [[{}]]\n", name);
  for (const Key& key : tables.default_keys()) {
    std::string doc = key.doc;
    for (size_t end = doc.find('\n'); end != std::string::npos; end = doc.find('\n', end + 1)) {
      doc.insert(end + 1, "    # ");
    }
    text += fmt::format("    # {}\n    {} = {}\n", doc, key.name, toml_of(key.target));
  }
  text.pop_back();
  return text;
}

std::string comment_lines(std::string_view doc) {
  std::string text = "# ";
  for (const char c : doc) {
    text += c;
    if (c == '\n') {
      text += "# ";
    }
  }
  return text + "\n";
}

// `before`: in front of each key.
std::string documented(const std::vector<Key>& keys, std::string_view before) {
  std::string text;
  std::string section;
  for (const Key& key : keys) {
    const size_t dot = std::min(key.name.rfind('.'), key.name.size());
    if (dot < key.name.size() && key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      text += fmt::format("\n[{}]\n", section);
    } else {
      text += '\n';
    }
    const auto* const tables = std::get_if<TableList>(&key.target);
    text += comment_lines(key.doc + (tables == nullptr ? "" : table_comment(key.name, *tables)));
    if (key.range) {
      text += comment_lines(fmt::format("Permitted: {}.", range_text(key.target, *key.range)));
    }
    text += fmt::format("{}{} = {}\n", before, dot < key.name.size() ? key.name.substr(dot + 1) : key.name,
                        toml_of(key.target));
  }
  return text;
}

}  // namespace

Result<Sources> load(const std::vector<Key>& keys, const LoadInputs& inputs) {
  Loader loader(keys);
  if (inputs.path) {
    if (const auto read = loader.read_file_at(*inputs.path); !read) {
      return propagate(read);
    }
  }
  if (inputs.environment) {
    if (const auto read = loader.read_environment(inputs.environment); !read) {
      return propagate(read);
    }
  }
  for (const auto& [name, text] : inputs.flags) {
    if (const auto read = loader.read_flag(name, text); !read) {
      return propagate(read);
    }
  }
  return std::move(loader).finish();
}

std::string file_of(const std::vector<Key>& keys) {
  return documented(keys, "");
}

std::string example(const std::vector<Key>& keys) {
  return "# Every key with its default. Remove the '#' in front of a key to change it.\n"
         "# A variable PLIMSOLL_TABLE_KEY overrides this file, and a flag overrides both.\n" +
         documented(keys, "#");
}

std::string variable_of(std::string_view key) {
  std::string name = "PLIMSOLL_";
  for (const char c : key) {
    const bool lower = c >= 'a' && c <= 'z';
    name += c == '.' || c == '-' ? '_' : static_cast<char>(lower ? c - 'a' + 'A' : c);
  }
  return name;
}

}  // namespace plimsoll::config
