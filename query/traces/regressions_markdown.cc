#include <fmt/ranges.h>

#include <algorithm>

#include "base/time.h"
#include "diagnosis/buckets/version_scores.h"
#include "query/traces/regressions_report.h"

namespace plimsoll::query {
namespace {

using diagnosis::Bottleneck;
using diagnosis::BucketComparison;
using diagnosis::BucketForest;
using diagnosis::RegressionReport;
using diagnosis::ValueChange;

// Cells of a table have no line ends (names are printable), and no bars.
std::string cell(std::string text) {
  for (size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

double percent(const ValueChange& change) {
  return change.base > 0 ? 100 * change.difference() / change.base : 0;
}

std::string interval(const ValueChange& change) {
  return fmt::format("{:+.2f} ({:+.2f} to {:+.2f})", change.difference(), change.low, change.high);
}

// Prints one report.
class MarkdownReport {
 public:
  MarkdownReport(const RegressionReport& report, const traces::Names& names)
      : report_(report), names_(names) {}

  std::string text(const std::vector<std::string>& file_notes);

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  void add_versions();
  void add_verdict();
  void add_regression(size_t number, const diagnosis::Regression& regression);
  void add_latencies(const BucketComparison& comparison);
  void add_bottleneck(const Bottleneck& bottleneck);
  void add_methods(const BucketComparison& comparison);
  void add_forest(const std::string& version, const BucketForest& forest);
  void add_buckets();
  std::string bucket_text(const std::vector<diagnosis::BucketTerm>& terms) const {
    return describe(terms, report_.table.requests);
  }
  std::string current() const { return report_.table.current_version(); }
  std::string base() const { return report_.table.base_version(); }

  const RegressionReport& report_;
  const traces::Names& names_;
  std::string text_;
};

void MarkdownReport::add_versions() {
  line("| version | | requests | first seen |");
  line("|---|---|---|---|");
  for (const diagnosis::VersionGroup& version : report_.table.versions) {
    line("| {} | {} | {} | {} |", cell(version.name),
         version.is_current ? "new"
         : version.is_base  ? "base"
                            : "left out",
         version.requests, format_time(version.first_ns));
  }
  line("");
}

void MarkdownReport::add_verdict() {
  const diagnosis::BucketSearch& search = report_.search;
  if (search.verdict() == diagnosis::SearchVerdict::kTooFewHosts ||
      search.verdict() == diagnosis::SearchVerdict::kTooFewWays) {
    line("**No answer**: a regression could not be told from chance in these requests.");
  } else if (search.found.empty()) {
    line("**No regression found** in {} buckets of up to {} values of attributes.", search.buckets,
         search.terms);
    if (search.strongest.t > 0) {
      line("The largest difference is in {} (p about {:.2f}).", bucket_text(search.strongest.terms),
           search.strongest.p);
    }
  } else {
    line("**{} regression{} found** in {} buckets of up to {} values of attributes.", search.found.size(),
         search.found.size() == 1 ? "" : "s", search.buckets, search.terms);
  }
  if (search.is_limited) {
    line("There are too many buckets of more values: name fewer attributes with --attribute.");
  }
  if (search.verdict() == diagnosis::SearchVerdict::kTooFewHosts) {
    line("No bucket has {} hosts of each version: give traces of more hosts.", search.options.min_hosts);
  } else if (search.verdict() == diagnosis::SearchVerdict::kTooFewWays) {
    line(
        "Versions could have been rolled out over these hosts in {:.0f} ways only: at least 100 are needed "
        "to "
        "tell a regression "
        "from chance. Give traces of more hosts.",
        1 / search.smallest_p);
  }
  if (search.overlap < diagnosis::kMinOverlap) {
    line("");
    line(
        "Only {:.0f} % of the requests ran while both versions did: whatever else changed at that time "
        "counts for the "
        "version.",
        100 * search.overlap);
  }
  line("");
}

void MarkdownReport::add_latencies(const BucketComparison& comparison) {
  line("| | {} | {} | difference (95 % interval) | % |", cell(base()), cell(current()));
  line("|---|---|---|---|---|");
  line("| requests | {} | {} | | |", comparison.base_requests, comparison.current_requests);
  line("| hosts | {} | {} | | |", comparison.base_hosts, comparison.current_hosts);
  for (size_t i = 0; i < diagnosis::kComparedShares.size(); ++i) {
    const ValueChange& change = comparison.percentiles_ms[i];
    line("| p{:.0f}, ms | {:.2f} | {:.2f} | {} | {:+.0f} |", 100 * diagnosis::kComparedShares[i], change.base,
         change.current, interval(change), percent(change));
  }
  line("");
  line("Intervals are by {}. The paper's score is {:.2f} (over 3: regression).",
       comparison.is_by_hosts ? "hosts" : "blocks of time, because a version has fewer than five hosts",
       comparison.paper_score);
  line("");
}

void MarkdownReport::add_bottleneck(const Bottleneck& bottleneck) {
  if (bottleneck.kind == Bottleneck::Kind::kNone) {
    line(
        "- bottleneck: no method's part of the critical path has grown beyond chance, all methods "
        "considered");
    return;
  }
  const diagnosis::MethodChange& method = bottleneck.method;
  line("- path: {}", path_text(report_.forest, method.path, names_));
  line("- bottleneck: {}, {} ms on the critical path: {}", method_text(report_.forest, method.path, names_),
       interval(method.on_path_ms), name_of(bottleneck.kind));
  if (bottleneck.kind == Bottleneck::Kind::kSequential) {
    const ValueChange& at_once = bottleneck.at_once;
    line("- of the calls of {} {:.2f} ran at once, and {:.2f} do now: {}",
         method_text(report_.forest, bottleneck.caller, names_), at_once.base, at_once.current,
         interval(at_once));
  }
  line("- one call takes {:.2f} ms itself ({:.2f} before), {:.2f} calls a request ({:.2f} before)",
       method.current_self_ms, method.base_self_ms, method.current_calls, method.base_calls);
}

void MarkdownReport::add_methods(const BucketComparison& comparison) {
  constexpr size_t kShown = 6;
  line("| method | on the critical path, ms | before | difference (95 % interval) |");
  line("|---|---|---|---|");
  for (size_t i = 0; i < std::min(kShown, comparison.methods.size()); ++i) {
    const diagnosis::MethodChange& method = comparison.methods[i];
    line("| {}{} | {:.2f} | {:.2f} | {} |", cell(method_text(report_.forest, method.path, names_)),
         report_.forest.paths[method.path].is_edge ? " (network, queues)" : "", method.on_path_ms.current,
         method.on_path_ms.base, interval(method.on_path_ms));
  }
  line("");
}

void MarkdownReport::add_forest(const std::string& version, const BucketForest& forest) {
  constexpr size_t kShown = 20;
  line("Call forest of {}, {} requests:", version, forest.requests);
  line("");
  line("```");
  line("{:>9} {:>9} {:>9} {:>9} {:>9}  call", "calls", "p50 ms", "p95 ms", "self ms", "path ms");
  std::vector<size_t> depths(report_.forest.paths.size(), 0);
  for (size_t i = 0; i < std::min(kShown, forest.calls.size()); ++i) {
    const diagnosis::CallStatistics& call = forest.calls[i];
    const uint32_t parent = report_.forest.paths[call.path].parent;
    depths[call.path] = parent == diagnosis::kNoCall ? 0 : depths[parent] + 1;
    // Per request of the bucket, as the two columns to the right.
    const double calls =
        call.calls * static_cast<double>(call.requests) / static_cast<double>(forest.requests);
    constexpr size_t kMaxIndent = 40;
    line("{:9.2f} {:9.2f} {:9.2f} {:9.2f} {:9.2f}  {}{}", calls, call.p50_ms, call.p95_ms, call.self_ms,
         call.on_path_ms, std::string(std::min(2 * depths[call.path], kMaxIndent), ' '),
         method_text(report_.forest, call.path, names_));
  }
  if (forest.calls.size() > kShown) {
    line("... {} more calls: see --json", forest.calls.size() - kShown);
  }
  line("```");
  line("");
  line(
      "The path column adds up to the mean of the requests, {:.2f} ms; the self column to {:.2f} ms, more "
      "where calls run "
      "at once. Percentiles do not add up along a path.",
      forest.mean_ms, forest.self_sum_ms);
  line("");
}

void MarkdownReport::add_regression(size_t number, const diagnosis::Regression& regression) {
  const BucketComparison& comparison = regression.comparison;
  line("## {}. {}: median {:+.0f} %", number, bucket_text(regression.bucket.terms),
       percent(comparison.percentiles_ms.front()));
  line("");
  line("- version: {} {}, compared with {}", report_.table.versions_of, current(), base());
  if (number > 1) {
    line("- requests: those of this bucket that are in none of the regressions above");
  }
  line("- since: {}, the first request of {} in this bucket", format_time(comparison.first_current_ns),
       current());
  line("- chance: p = {:.3f} for any of the {} buckets", regression.bucket.p, report_.search.buckets);
  add_bottleneck(comparison.bottleneck);
  line("");
  add_latencies(comparison);
  add_methods(comparison);
  add_forest(base(), regression.base_forest);
  add_forest(current(), regression.current_forest);
}

void MarkdownReport::add_buckets() {
  if (report_.buckets.empty()) {
    return;
  }
  line("## Buckets by hardware and workload");
  line("");
  line(
      "| bucket | requests | p50, ms | difference (95 % interval) | p95, ms | difference (95 % interval) | "
      "paper's score | "
      "grew most on the critical path |");
  line("|---|---|---|---|---|---|---|---|");
  for (const diagnosis::ComparedBucket& bucket : report_.buckets) {
    const BucketComparison& comparison = bucket.comparison;
    const bool has_grown = comparison.bottleneck.kind != Bottleneck::Kind::kNone;
    line("| {} | {} + {} | {:.2f} | {} | {:.2f} | {} | {:.2f} | {} |", cell(bucket_text(bucket.terms)),
         comparison.base_requests, comparison.current_requests, comparison.percentiles_ms[0].current,
         interval(comparison.percentiles_ms[0]), comparison.percentiles_ms[1].current,
         interval(comparison.percentiles_ms[1]), comparison.paper_score,
         has_grown ? cell(method_text(report_.forest, comparison.bottleneck.method.path, names_)) + ": " +
                         name_of(comparison.bottleneck.kind)
                   : "");
  }
  line("");
  line(
      "Each interval is by itself: of 20 buckets without a change one is beyond its interval. Regressions "
      "above allow for that; what grew most allows for the methods of its bucket.");
  if (report_.buckets_left_out > 0) {
    line("{} more buckets left out: under {} requests of a version, or beyond the {} largest.",
         report_.buckets_left_out, diagnosis::kMinBucketRequests, diagnosis::kMaxBuckets);
  }
  line("");
}

std::string MarkdownReport::text(const std::vector<std::string>& file_notes) {
  const diagnosis::ComparedRequests& requests = report_.table.requests;
  line("# Regressions of {} {}", report_.table.versions_of, current());
  line("");
  const auto [first, last] = std::ranges::minmax_element(requests.start_ns);
  line("{} requests from {} to {} on {} {}.", requests.size(), format_time(*first), format_time(*last),
       requests.hosts, report_.table.has_hosts ? "hosts" : "blocks of time");
  line("");
  add_versions();
  add_verdict();
  for (size_t i = 0; i < report_.regressions.size(); ++i) {
    add_regression(i + 1, report_.regressions[i]);
  }
  add_buckets();
  std::vector<std::string> notes = report_.table.notes;
  notes.insert(notes.end(), file_notes.begin(), file_notes.end());
  for (const std::string& note : notes) {
    line("- note: {}", note);
  }
  return text_;
}

}  // namespace

std::string regressions_markdown(const RegressionReport& report, const traces::Names& names,
                                 const std::vector<std::string>& notes) {
  return MarkdownReport(report, names).text(notes);
}

}  // namespace plimsoll::query
