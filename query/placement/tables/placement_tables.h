// What a placement is computed from: costs, loads, capacities and where load runs today. Read from CSV files here; what a store has measured
// becomes the same types (query/placement/measured).
//
// Pure: no I/O; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace plimsoll::query {

// A CSV text, and what errors call it. Borrowed.
struct NamedText {
  std::string name;
  std::string_view text;
};

// What one CPU can do, where costs are CPU-nanoseconds.
inline constexpr double kCpuNsPerSecond = 1e9;

enum class CostUnit : uint8_t { kCycles, kNanoseconds };  // of a CPU, an instruction

// Each table has the name by which errors call it, each row its line there.
struct CostTable {
  struct Row {
    std::string job;
    std::string platform;
    double cost = 0;                    // above 0
    std::optional<double> margin = {};  // 95 %, in the same unit; nothing: unknown
    uint64_t line = 0;
  };
  std::string name = {};
  CostUnit unit = CostUnit::kCycles;
  std::vector<Row> rows = {};
};

struct LoadTable {
  struct Row {
    std::string job;
    double load = 0;  // instructions a second, at least 0
    uint64_t line = 0;
  };
  std::string name = {};
  std::vector<Row> rows = {};
};

struct CapacityTable {
  struct Row {
    std::string platform;
    double capacity = 0;  // cost x load: cycles a second, or CPU-nanoseconds a second; above 0
    uint64_t line = 0;
  };
  std::string name = {};
  std::vector<Row> rows = {};
};

struct TodayTable {
  struct Row {
    std::string job;
    std::string platform;
    double load = 0;  // at least 0
    uint64_t line = 0;
  };
  std::string name = {};
  std::vector<Row> rows = {};
};

struct PlacementTables {
  CostTable costs;
  LoadTable jobs;
  CapacityTable platforms;
  std::optional<TodayTable> today = {};
};

// The readers of CSV texts. kInvalid, with the text's name and the line, for a missing column and for what is no number or has the wrong
// sign.
// job, platform, cpi or ns_per_instruction, and may have margin.
Result<CostTable> read_costs(const NamedText& text);
// job, load
Result<LoadTable> read_loads(const NamedText& text);
// platform, capacity or, for costs in nanoseconds, cpus
Result<CapacityTable> read_capacities(const NamedText& text, CostUnit unit);
// job, platform, load
Result<TodayTable> read_today(const NamedText& text);

}  // namespace plimsoll::query
