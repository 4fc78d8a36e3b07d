// A profile that an application made of itself, whatever format it came in: values on stacks, every index checked.
//
// Plain data; one thread. Memory is bounded by the limits that its reader was given.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::formats {

// Of one mapping, and mappings of one profile.
inline constexpr size_t kMaxBuildIdBytes = 64;
inline constexpr size_t kMaxMappings = 65'536;

// Bounds on what is read, checked before anything of that size is allocated.
struct Limits {
  uint64_t max_encoded_bytes = uint64_t{64} << 20;
  uint64_t max_decoded_bytes = uint64_t{256} << 20;
  uint64_t max_entries = 2'000'000;         // samples, locations, frames, functions, texts: each
  uint64_t max_stack_entries = 32'000'000;  // locations on all stacks together
  uint64_t max_values() const { return max_entries * 4; }  // of all samples together
};

// What the values of every sample are, in the words of pprof: {"inuse_space", "bytes"}.
struct ValueType {
  std::string type;
  std::string unit;
  bool operator==(const ValueType&) const = default;
};

// Executable code of a file in the application's address space.
struct Mapping {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  std::string path = {};      // printable; empty where it was not told
  std::string build_id = {};  // binary, at most 64 bytes; empty where it was not told
};

struct Function {
  uint32_t name = 0;  // indexes into texts
  uint32_t file = 0;
  uint32_t linkage_name = 0;  // an empty text: not told
};

struct Frame {
  uint32_t function = 0;  // index into functions
  uint32_t line = 0;
  uint32_t column = 0;
};

struct Location {
  uint64_t address = 0;         // of the call, not of the instruction it returns to; 0: unknown
  uint32_t mapping_plus_1 = 0;  // index into mappings plus one; 0: in none
  uint32_t first_frame = 0;     // of its frames, innermost first; none: it came without names
  uint32_t frame_count = 0;
};

// Keys and values of a sample, as indexes into texts; by ascending keys, none twice.
using LabelSet = std::map<uint32_t, uint32_t>;

// Stacks and values as columns. Rows of the same stack may be repeated; their values add up.
class Samples {
 public:
  // `leaf_first` are indexes into locations; as many values as there are types. `label_set` is an index into label_sets.
  void add(std::span<const uint32_t> leaf_first, std::span<const int64_t> values, uint32_t label_set = 0);

  size_t size() const { return ends_.size(); }
  std::span<const uint32_t> stack(size_t sample) const;
  std::span<const int64_t> values(size_t sample) const;
  uint32_t label_set(size_t sample) const { return label_sets_[sample]; }
  size_t stack_entries() const { return locations_.size(); }

 private:
  std::vector<uint32_t> locations_;
  std::vector<size_t> ends_;  // of each sample's part of locations_
  std::vector<int64_t> values_;
  std::vector<uint32_t> label_sets_;
  size_t values_per_sample_ = 0;
};

struct ApplicationProfile {
  std::vector<ValueType> types;
  std::vector<Mapping> mappings;   // the first is the main binary
  std::vector<std::string> texts;  // printable
  std::vector<Function> functions;
  std::vector<Frame> frames;
  std::vector<Location> locations;
  std::vector<LabelSet> label_sets{1};  // the first is no labels
  Samples samples;

  ValueType period_type;
  int64_t period = 0;       // mean distance between samples, in period_type's unit; 0: unknown
  int64_t time_ns = 0;      // wall clock, when it began; 0: unknown
  int64_t duration_ns = 0;  // 0: unknown, or a moment
  uint64_t discarded = 0;   // samples that the application had no room for
  // pprof's: regular expressions of functions to leave out with all that they call, and of exceptions; empty: none.
  std::string drop_frames = {};
  std::string keep_frames = {};
  std::vector<std::string> remarks = {};  // of its reader: what was left out, and why
};

}  // namespace plimsoll::formats
