// What `plimsoll import` reports of each file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/perf_data/event_tally.h"
#include "proto/profile.pb.h"
#include "query/table/table.h"

namespace plimsoll::cli {

// What became of one event of a file.
using EventReport = perf_data::EventTally::Summary;

// Of any raw profile.
std::vector<EventReport> event_reports(const wire::RawProfile& profile);

// "300 MB of heap-inuse-bytes in 570 samples, ..."
std::string summary_line(const std::vector<EventReport>& events);

// What `--json` prints: a table with a row for each event of each file, and one for each file that could not be imported, which has
// `error` and no event.
class ImportTable {
 public:
  ImportTable();
  void add(const std::string& file, const std::vector<EventReport>& events);
  void add_failure(const std::string& file, const Error& error);
  void add_note(std::string note) { table_.notes.push_back(std::move(note)); }
  const query::Table& table() const { return table_; }
  // As query::to_json() has it, but with each row on a line of its own that is an object, for tools that read lines: no other line begins
  // with a brace.
  std::string json_by_line() const;

 private:
  query::Table table_;
};

}  // namespace plimsoll::cli
