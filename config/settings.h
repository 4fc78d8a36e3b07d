// From a TOML file, PLIMSOLL_* variables and flags to a struct, by a table of its keys.
//
//   Settings settings;                       // defaults are the members' initial values
//   const auto sources = load(settings.keys(), {.path = "server.toml"});
//
// A list of tables ("[[identity.rules]]") is given in the file alone.
//
// A flag beats a variable, which beats the file, which beats the default. PLIMSOLL_SERVER_LISTEN is the
// variable of server.listen; an empty variable counts as absent. In variables and flags a list is separated
// by commas.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace plimsoll::config {

// Written as "10s", "250ms", "5min".
struct DurationNs {
  int64_t* ns;
};

// Written as "64MiB", or as a number of bytes.
struct SizeBytes {
  int64_t* bytes;
};

struct Key;

// Written as "[[NAME]]", once for each element of a list of structs. The struct has `std::vector<Key> keys()`, as what is
// loaded has. Borrows the list.
class TableList {
 public:
  template <typename T>
  explicit TableList(std::vector<T>* list)
      : clear_([list] { list->clear(); }),
        append_([list] { return list->emplace_back().keys(); }),
        size_([list] { return list->size(); }),
        keys_([list](size_t index) { return (*list)[index].keys(); }),
        defaults_([fresh = std::make_shared<T>()] { return fresh->keys(); }) {}

  void clear() const { clear_(); }
  // Adds an element; its keys hold until the next is added.
  std::vector<Key> append() const;
  size_t size() const { return size_(); }
  std::vector<Key> keys(size_t index) const;
  // Of an element in which nothing is given.
  std::vector<Key> default_keys() const;

 private:
  std::function<void()> clear_;
  std::function<std::vector<Key>()> append_;
  std::function<size_t()> size_;
  std::function<std::vector<Key>(size_t)> keys_;
  std::function<std::vector<Key>()> defaults_;
};

// Where a key's value goes; its kind is the kind of the key.
using Target = std::variant<std::string*, int64_t*, double*, bool*, std::vector<std::string>*, DurationNs,
                            SizeBytes, TableList>;

// Both ends included, in the target's own unit (nanoseconds, bytes). For numbers only.
struct Range {
  int64_t min;
  int64_t max;
};

struct Key {
  std::string name;  // "server.listen"
  std::string doc;   // for the example file; may have several lines
  Target target;
  std::optional<Range> range = {};
};

inline std::vector<Key> TableList::append() const {
  return append_();
}
inline std::vector<Key> TableList::keys(size_t index) const {
  return keys_(index);
}
inline std::vector<Key> TableList::default_keys() const {
  return defaults_();
}

enum class Origin { kDefault, kFile, kEnvironment, kFlag };

struct Source {
  std::string key;
  std::string value;  // as TOML
  Origin origin = Origin::kDefault;
  std::string where;  // "default", "server.toml:12", "PLIMSOLL_SERVER_LISTEN", "command line"
};

// One for each key, in the order of the keys.
using Sources = std::vector<Source>;

struct LoadInputs {
  std::optional<std::string> path = {};
  std::function<const char*(const char*)> environment = [](const char* name) { return std::getenv(name); };
  std::vector<std::pair<std::string, std::string>> flags = {};  // key name and text
};

// Sets the targets and says where each value came from. An unknown key, a wrong kind, a value out of range or
// a file that is not TOML is kInvalid, names the place (file and line, variable, command line) and has the
// key as its field; a file that cannot be read has the code of that. After an error the targets hold
// anything.
Result<Sources> load(const std::vector<Key>& keys, const LoadInputs& inputs);

// The documented example file: every key, commented out, with the value that its target has now. The keys of
// one table stand together; a list of tables shows the keys of one element.
std::string example(const std::vector<Key>& keys);

// A file that gives every key the value that its target has now, documented likewise.
std::string file_of(const std::vector<Key>& keys);

// "PLIMSOLL_SERVER_LISTEN" for "server.listen".
std::string variable_of(std::string_view key);

}  // namespace plimsoll::config
