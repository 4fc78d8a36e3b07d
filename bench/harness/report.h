// What a benchmark measured, beside its peer and its goal: as a table for people (GitHub's Markdown), or a JSON line each.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace plimsoll::bench {

enum class Better { kLower, kHigher };

struct Measurement {
  std::string name;  // with its unit at the end, words joined by hyphens
  double value = 0;
  std::string unit;
  Better better = Better::kLower;
  std::string peer = {};  // whose figure stands beside ours; empty: nobody's
  double peer_value = 0;
  // At most this where lower is better, at least this where higher is.
  std::optional<double> goal = {};
  std::optional<double> goal_ratio = {};  // at least
  std::string note = {};                  // of the table alone

  // How many times better than the peer we are; nothing without a peer, or where either figure is 0.
  std::optional<double> ratio() const;
  // Whether all goals that there are are met; nothing where there are none.
  std::optional<bool> is_met() const;
};

// {"name", "value", "unit", "peer", "peer_value", "ratio"}; null for what there is not.
std::string json_line(const Measurement& measurement);
// {"name", "skipped": why}.
std::string skipped_json_line(std::string_view part, std::string_view why);
std::string table_heading();
std::string table_row(const Measurement& measurement);
std::string skipped_table_row(std::string_view part, std::string_view why);

// Prints measurements as they come. Borrows the stream.
class Report {
 public:
  Report(std::ostream& out, bool as_json);
  void add(const Measurement& measurement);
  // Says that a part is not measured, and why: a tool is missing.
  void skip(std::string_view part, std::string_view why);
  int skipped() const { return skipped_; }

 private:
  std::ostream& out_;
  const bool as_json_;
  int skipped_ = 0;
};

// "Intel Xeon, 2 CPUs, Linux 6.18.5, virtual (kvm), load 0.42": what the figures were taken on.
std::string describe_machine();

}  // namespace plimsoll::bench
