// spans/findings.db: what the diagnosis of each hour of request traces found, and statistics of its requests. They outlive the spans.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sqlite/database.h"

namespace plimsoll::store {

// A quantile with its 95 % confidence interval; low_ns > high_ns: too few requests for one.
struct LatencyQuantile {
  int64_t value_ns = 0;
  int64_t low_ns = 1;
  int64_t high_ns = 0;

  bool has_interval() const { return low_ns <= high_ns; }
  bool operator==(const LatencyQuantile&) const = default;
};

// Requests with the same services and operations.
struct CategoryStatistics {
  std::string service = {};    // of the root; empty: all categories that are not listed
  std::string operation = {};  // likewise
  std::string category = {};   // hash of all services and operations, in hexadecimal
  uint64_t requests = 0;
  double weight = 0;  // requests that these stand for
  LatencyQuantile p50 = {};
  LatencyQuantile p95 = {};
  LatencyQuantile p99 = {};
  double variation = 0;  // standard deviation of latencies as a share of their mean

  bool operator==(const CategoryStatistics&) const = default;
};

struct KeptFinding {
  std::string service = {};
  std::string operation = {};
  std::string replica = {};  // empty: no replica more than the others
  std::string machine = {};  // likewise
  std::string kind = {};
  double score = 0;
  double confidence = 0;
  std::string evidence = {};

  bool operator==(const KeptFinding&) const = default;
};

// The note of an hour of which there was nothing to diagnose.
inline constexpr std::string_view kNoRequests = "no requests";

struct DiagnosedHour {
  int64_t begin_ns = 0;  // wall clock
  uint64_t requests = 0;
  std::string note = {};  // why it was not diagnosed, or not as a whole, and what was damaged; empty: it was
  std::vector<CategoryStatistics> categories = {};
  std::vector<KeptFinding> findings = {};

  bool operator==(const DiagnosedHour&) const = default;
};

// One connection: one thread at a time.
class FindingStore {
 public:
  // Makes it for the writer, with the ID of its data directory.
  static Result<FindingStore> open(const std::string& spans_path, std::string_view directory_id);
  // For reading; nothing where no hour has been diagnosed.
  static Result<std::optional<FindingStore>> open_if_there(const std::string& spans_path);

  // All of it or nothing; in place of what there is of the same hour. Hours that began before `oldest_ns` go in the same transaction.
  Status add(const DiagnosedHour& hour, int64_t oldest_ns);

  // Gives the hours that began within these times, the newest first, of one state of the file: one at a time, since the categories of years
  // are many. Categories only where they are wanted. Ends early with the error of check_stop().
  Status visit(int64_t from_ns, int64_t to_ns, bool with_categories,
               const std::function<void(const DiagnosedHour& hour)>& visitor);
  // When the newest one began of those that began before `before_ns`; nothing: there is none.
  Result<std::optional<int64_t>> newest_ns(int64_t before_ns);

 private:
  explicit FindingStore(sqlite::Database database) : database_(std::move(database)) {}
  Status read_categories(DiagnosedHour& hour);
  Status read_findings(DiagnosedHour& hour);
  sqlite::Database database_;
};

// The file's name in the folder of blocks of spans.
inline constexpr std::string_view kFindingsFile = "findings.db";

}  // namespace plimsoll::store
