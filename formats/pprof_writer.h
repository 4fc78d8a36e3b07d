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
#include "formats/gzip.h"
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

// Writes one profile, gzipped. One thread. Samples are compressed as they come, so that a profile of gigabytes takes what it comes to
// compressed, with 50 bytes for each location and the names, which come last: readers take fields in any order (protobuf).
//
// Addresses of locations are those of their own binary. Processes map binaries wherever they like, and the profile is
// of many processes: finish() gives each mapping a range of its own, in which a location keeps the low 32 bits of its
// address. file_offset is the address in the binary that memory_start stands for.
//
// Function names are complete and demangled. system_name is the linkage name where that is another, and empty otherwise: a
// reader that finds the two equal takes parameters and template arguments off, which would make one function of several.
class PprofWriter {
 public:
  static constexpr uint64_t kMaxMessageBytes = uint64_t{1} << 30;

  // kTooLarge is for messages over `max_bytes`, before compression: readers refuse those over kMaxMessageBytes.
  explicit PprofWriter(uint64_t max_bytes = kMaxMessageBytes) : max_bytes_(max_bytes) {}

  // Unit as pprof spells it: "nanoseconds", "bytes", "count". Call before the first sample.
  void add_sample_type(std::string_view type, std::string_view unit);

  // The first is the main binary.
  uint64_t add_mapping(const PprofMapping& mapping);

  // `mapping` 0: none, and the address is written as it is. Lines innermost inlined function first; none where the
  // address has no name.
  uint64_t add_location(uint64_t mapping, uint64_t address, std::span<const PprofLine> lines);

  // Locations leaf first, a value for each sample type, labels in order. Or kTooLarge.
  Status add_sample(std::span<const uint64_t> locations, std::span<const int64_t> values,
                    std::span<const std::pair<std::string_view, std::string_view>> labels);

  void add_comment(std::string_view comment);
  void set_time(int64_t time_ns, int64_t duration_ns);
  void set_period(std::string_view type, std::string_view unit, int64_t period);
  void set_default_sample_type(std::string_view type);

  // Lays out mappings, says what each of them has (functions, files, lines, inlining: true where all of its locations
  // carry it), and gives the gzipped message, whose header holds no time: equal profiles give equal bytes. Or kTooLarge. Call once.
  Result<std::string> finish();

 private:
  struct Extent {
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    bool has_functions = true;
    bool has_files = true;
    bool has_lines = true;
  };

  struct Line {
    uint64_t function;
    int64_t line;
  };

  // Its lines are those of lines_ up to where the next location's begin.
  struct Location {
    uint64_t mapping;
    uint64_t address;
    size_t first_line;
  };

  int64_t text(std::string_view text);
  uint64_t function(const PprofLine& line);
  void note_location(Extent& extent, uint64_t address, std::span<const PprofLine> lines);
  void lay_out();
  Status write_locations();
  Status write(const pprof::Profile& part);
  Status write_part();

  uint64_t max_bytes_;
  pprof::Profile profile_;  // all but samples and locations
  pprof::Profile part_;     // samples, later locations, that are not compressed yet
  size_t part_size_ = 0;    // their locations and lines
  GzipWriter compressed_;
  std::string encoded_;              // of one part; kept for its memory
  std::vector<Location> locations_;  // by location ID - 1
  std::vector<Line> lines_;
  boost::unordered_flat_map<std::string, int64_t> texts_;
  boost::unordered_flat_map<std::string, uint64_t>
      functions_;                // by name, file and linkage name, zero bytes between
  std::vector<Extent> extents_;  // by mapping ID - 1
};

}  // namespace plimsoll::formats
