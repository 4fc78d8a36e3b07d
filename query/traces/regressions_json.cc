#include <nlohmann/json.hpp>

#include "base/time.h"
#include "diagnosis/buckets/version_scores.h"
#include "query/traces/regressions_report.h"

namespace plimsoll::query {
namespace {

using OrderedJson = nlohmann::ordered_json;
using diagnosis::BucketComparison;
using diagnosis::RegressionReport;

// Of deep recursion the last.
constexpr size_t kMaxPathCalls = 100;

OrderedJson of_change(const diagnosis::ValueChange& change) {
  return {{"base", change.base},
          {"new", change.current},
          {"difference", change.difference()},
          {"low", change.low},
          {"high", change.high}};
}

// Writes the parts of one report.
class JsonReport {
 public:
  JsonReport(const RegressionReport& report, const traces::Names& names) : report_(report), names_(names) {}

  OrderedJson document(const std::vector<std::string>& file_notes) const;

 private:
  OrderedJson of_terms(const std::vector<diagnosis::BucketTerm>& terms) const {
    OrderedJson made = OrderedJson::object();
    for (const diagnosis::BucketTerm& term : terms) {
      const diagnosis::BucketAttribute& attribute = report_.table.requests.attributes[term.attribute];
      made[attribute.name] = attribute.values[term.value];
    }
    return made;
  }
  OrderedJson of_call(uint32_t path) const {
    const diagnosis::CallPath& call = report_.forest.paths[path];
    OrderedJson made{{"service", names_.services.name(call.service)},
                     {"method", names_.operations.name(call.operation)},
                     {"is_gap", call.is_edge}};
    if (call.is_edge) {
      made["callee"] = names_.services.name(call.callee);
    }
    return made;
  }
  OrderedJson of_path(uint32_t path) const {
    std::vector<uint32_t> from_root;
    for (uint32_t at = path; at != diagnosis::kNoCall && from_root.size() < kMaxPathCalls;
         at = report_.forest.paths[at].parent) {
      from_root.push_back(at);
    }
    OrderedJson calls = OrderedJson::array();
    for (auto at = from_root.rbegin(); at != from_root.rend(); ++at) {
      calls.push_back(of_call(*at));
    }
    return calls;
  }
  OrderedJson of_method(const diagnosis::MethodChange& method) const {
    OrderedJson made = of_call(method.path);
    made["on_path_ms"] = of_change(method.on_path_ms);
    made["min_growth_ms"] = method.min_growth_ms;
    made["calls"] = {{"base", method.base_calls}, {"new", method.current_calls}};
    made["self_ms_per_call"] = {{"base", method.base_self_ms}, {"new", method.current_self_ms}};
    return made;
  }
  OrderedJson of_bottleneck(const diagnosis::Bottleneck& bottleneck) const {
    if (bottleneck.kind == diagnosis::Bottleneck::Kind::kNone) {
      return nullptr;
    }
    OrderedJson made = of_method(bottleneck.method);
    made["kind"] = name_of(bottleneck.kind);
    made["path"] = of_path(bottleneck.method.path);
    if (bottleneck.caller != diagnosis::kNoCall) {
      made["caller"] = of_call(bottleneck.caller);
      made["calls_at_once"] = of_change(bottleneck.at_once);
    }
    return made;
  }
  OrderedJson of_search() const;
  OrderedJson of_comparison(const BucketComparison& comparison) const;
  OrderedJson of_forest(const diagnosis::BucketForest& forest) const;

  const RegressionReport& report_;
  const traces::Names& names_;
};

// What was tested, and whether "regressions": [] means that there are none.
OrderedJson JsonReport::of_search() const {
  const diagnosis::BucketSearch& search = report_.search;
  OrderedJson strongest = nullptr;
  if (search.strongest.t > 0) {
    strongest = {
        {"bucket", of_terms(search.strongest.terms)}, {"t", search.strongest.t}, {"p", search.strongest.p}};
  }
  return {{"verdict", name_of(search.verdict())},
          {"buckets_tested", search.buckets},
          {"max_terms", search.terms},
          {"is_limited", search.is_limited},
          {"min_hosts", search.options.min_hosts},
          {"max_p", search.options.max_p},
          {"smallest_p", search.smallest_p},
          {"strongest_not_found", std::move(strongest)},
          {"overlap", search.overlap},
          {"ran_at_once", search.overlap >= diagnosis::kMinOverlap},
          {"is_within_hosts", search.is_within_hosts},
          {"strata", search.strata}};
}

OrderedJson JsonReport::of_comparison(const BucketComparison& comparison) const {
  OrderedJson methods = OrderedJson::array();
  for (const diagnosis::MethodChange& method : comparison.methods) {
    methods.push_back(of_method(method));
  }
  return {{"requests", {{"base", comparison.base_requests}, {"new", comparison.current_requests}}},
          {"hosts", {{"base", comparison.base_hosts}, {"new", comparison.current_hosts}}},
          {"since", format_time(comparison.first_current_ns)},
          {"p50_ms", of_change(comparison.percentiles_ms[0])},
          {"p95_ms", of_change(comparison.percentiles_ms[1])},
          {"p99_ms", of_change(comparison.percentiles_ms[2])},
          {"intervals_by", comparison.is_by_hosts ? "hosts" : "blocks of time"},
          {"paper_score", comparison.paper_score},
          {"bottleneck", of_bottleneck(comparison.bottleneck)},
          {"methods", std::move(methods)}};
}

// Calls are numbered by their place; "parent" is the place of the caller.
OrderedJson JsonReport::of_forest(const diagnosis::BucketForest& forest) const {
  std::vector<size_t> places(report_.forest.paths.size(), 0);
  OrderedJson calls = OrderedJson::array();
  for (size_t i = 0; i < forest.calls.size(); ++i) {
    const diagnosis::CallStatistics& call = forest.calls[i];
    places[call.path] = i;
    OrderedJson made = of_call(call.path);
    const uint32_t parent = report_.forest.paths[call.path].parent;
    made["parent"] = parent == diagnosis::kNoCall ? OrderedJson(nullptr) : OrderedJson(places[parent]);
    made["requests"] = call.requests;
    made["calls_per_request"] = call.calls;
    made["mean_ms"] = call.mean_ms;
    made["p50_ms"] = call.p50_ms;
    made["p95_ms"] = call.p95_ms;
    made["p99_ms"] = call.p99_ms;
    made["self_ms"] = call.self_ms;
    made["on_path_ms"] = call.on_path_ms;
    calls.push_back(std::move(made));
  }
  return {{"requests", forest.requests},
          {"on_path_sum_ms", forest.mean_ms},
          {"self_sum_ms", forest.self_sum_ms},
          {"calls", std::move(calls)}};
}

OrderedJson JsonReport::document(const std::vector<std::string>& file_notes) const {
  const diagnosis::RequestTable& table = report_.table;
  OrderedJson document{{"versions_of", table.versions_of},
                       {"new", table.current_version()},
                       {"base", table.base_version()},
                       {"requests", table.requests.size()},
                       {"hosts", table.requests.hosts},
                       {"hosts_are", table.has_hosts ? "hosts" : "blocks of time"},
                       {"search", of_search()}};
  for (const diagnosis::VersionGroup& version : table.versions) {
    document["versions"].push_back({{"version", version.name},
                                    {"requests", version.requests},
                                    {"first", format_time(version.first_ns)},
                                    {"is_new", version.is_current},
                                    {"is_base", version.is_base}});
  }
  document["regressions"] = OrderedJson::array();
  for (const diagnosis::Regression& regression : report_.regressions) {
    OrderedJson made{{"bucket", of_terms(regression.bucket.terms)},
                     {"version", table.current_version()},
                     {"p", regression.bucket.p},
                     {"t", regression.bucket.t}};
    made.update(of_comparison(regression.comparison));
    made["forest"] = {{"base", of_forest(regression.base_forest)},
                      {"new", of_forest(regression.current_forest)}};
    document["regressions"].push_back(std::move(made));
  }
  document["buckets"] = OrderedJson::array();
  for (const diagnosis::ComparedBucket& bucket : report_.buckets) {
    OrderedJson made{{"bucket", of_terms(bucket.terms)}};
    made.update(of_comparison(bucket.comparison));
    document["buckets"].push_back(std::move(made));
  }
  std::vector<std::string> notes = table.notes;
  notes.insert(notes.end(), file_notes.begin(), file_notes.end());
  document["notes"] = notes;
  return document;
}

}  // namespace

std::string regressions_json(const RegressionReport& report, const traces::Names& names,
                             const std::vector<std::string>& notes) {
  const OrderedJson document = JsonReport(report, names).document(notes);
  return document.dump(1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace plimsoll::query
