// Writes pprof's profile format, as `go tool pprof` and everything built on it read it.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "proto/pprof.pb.h"

namespace plimsoll::formats {

struct PprofMapping {
  std::string filename;
  std::string build_id;  // hexadecimal; empty: unknown
};

struct PprofLine {
  std::string function;
  std::string file;               // empty: unknown
  int64_t line = 0;               // 0: unknown
  std::string linkage_name = {};  // empty: unknown
};

// Collects one profile, then lays it out. One thread; memory: the message.
//
// Addresses of locations are those of their own binary. Processes map binaries wherever they like, and the profile is
// of many processes: finish() gives each mapping a range of its own, in which a location keeps the low 32 bits of its
// address. file_offset is the address in the binary that memory_start stands for.
//
// Function names are complete and demangled. system_name is the linkage name where that is another, and empty otherwise: a
// reader that finds the two equal takes parameters and template arguments off, which would make one function of several.
class PprofWriter {
 public:
  // Unit as pprof spells it: "nanoseconds", "bytes", "count". Call before the first sample.
  void add_sample_type(std::string_view type, std::string_view unit);

  // The first is the main binary.
  uint64_t add_mapping(const PprofMapping& mapping);

  // `mapping` 0: none, and the address is written as it is. Lines innermost inlined function first; none where the
  // address has no name.
  uint64_t add_location(uint64_t mapping, uint64_t address, std::span<const PprofLine> lines);

  // Locations leaf first, a value for each sample type, labels in order.
  void add_sample(std::span<const uint64_t> locations, std::span<const int64_t> values,
                  std::span<const std::pair<std::string_view, std::string_view>> labels);

  void add_comment(std::string_view comment);
  void set_time(int64_t time_ns, int64_t duration_ns);
  void set_period(std::string_view type, std::string_view unit, int64_t period);
  void set_default_sample_type(std::string_view type);

  // Lays out mappings, says what each of them has (functions, files, lines, inlining: true where all of its locations
  // carry it), and gives the message. Call once.
  pprof::Profile finish();

 private:
  struct Extent {
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    bool has_functions = true;
    bool has_files = true;
    bool has_lines = true;
  };

  int64_t text(std::string_view text);
  uint64_t function(const PprofLine& line);
  void note_location(Extent& extent, uint64_t address, std::span<const PprofLine> lines);
  void lay_out();

  pprof::Profile profile_;
  boost::unordered_flat_map<std::string, int64_t> texts_;
  boost::unordered_flat_map<std::string, uint64_t>
      functions_;                // by name, file and linkage name, zero bytes between
  std::vector<Extent> extents_;  // by mapping ID - 1
};

// Message and gzip, with a header that holds no time: equal profiles give equal bytes. kTooLarge past 1 GiB.
Result<std::string> encode_pprof(const pprof::Profile& profile);

}  // namespace plimsoll::formats
