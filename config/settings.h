// From a TOML file, PLIMSOLL_* variables and flags to a struct, by a table of its keys.
//
//   Settings settings;                       // defaults are the members' initial values
//   const auto sources = load(settings.keys(), {.path = "server.toml"});
//
// A flag beats a variable, which beats the file, which beats the default. PLIMSOLL_SERVER_LISTEN is the
// variable of server.listen; an empty variable counts as absent. In variables and flags a list is separated
// by commas.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
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

// Where a key's value goes; its kind is the kind of the key.
using Target =
    std::variant<std::string*, int64_t*, double*, bool*, std::vector<std::string>*, DurationNs, SizeBytes>;

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
// one table stand together.
std::string example(const std::vector<Key>& keys);

// "PLIMSOLL_SERVER_LISTEN" for "server.listen".
std::string variable_of(std::string_view key);

}  // namespace plimsoll::config
