// How a RequestTable is made, step by step. Internal to diagnosis/buckets.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnosis/buckets/request_table.h"
#include "diagnosis/buckets/span_column.h"

namespace plimsoll::diagnosis {

inline constexpr size_t kMaxSearchedValues = 32;     // of an attribute
inline constexpr size_t kMinRequestsOfVersion = 20;  // in all, for it to count as one
inline constexpr size_t kMaxShownNames = 12;         // in errors

// Borrows all; build() once.
class TableBuilder {
 public:
  TableBuilder(const traces::SpanSet& spans, const traces::Assembly& assembly,
               const RequestTableOptions& options)
      : spans_(spans), assembly_(assembly), options_(options) {}

  Result<RequestTable> build();

 private:
  void choose_traces();
  Status find_versions();
  void count_versions();
  void find_changing_services();
  // The span that ran the version, null for none, and the IDs of what it ran: of the attribute's value, or of the version of each changing
  // service.
  const traces::Span* versions_in(uint32_t trace, const SpanColumn* version,
                                  std::vector<uint32_t>& ids) const;
  std::string version_text(const SpanColumn* version, const std::vector<uint32_t>& ids) const;
  void add_requests(const SpanColumn* version);
  std::vector<size_t> versions_by_age() const;
  size_t from_start() const;
  Status choose_newest(std::optional<size_t> base);
  Status choose_sides();
  Result<size_t> version_named(const std::string& name, const char* flag) const;
  Status one_version_only() const;
  Status rare_versions_of_services() const;
  Status rare_versions() const;
  Status too_few_requests(const std::vector<std::string>& counts, const std::string& service) const;
  void keep_sides();
  std::vector<uint32_t> machines_of_replicas() const;
  void set_hosts();
  void add_times();
  Status add_attributes();
  Status choose_hardware();
  Status add_named(const std::string& name, uint32_t& index);
  template <typename IdOf, typename TextOf>
  void add_values(const std::string& name, const IdOf& id_of, const TextOf& text_of);
  void add_column(const std::string& name, const SpanColumn& column);
  void add_workload();
  std::vector<std::string> attribute_names() const;
  Status add_all_attributes();
  bool is_comparable(const BucketAttribute& attribute) const;

  std::span<const traces::Node> nodes_of(uint32_t trace) const {
    return assembly_.nodes_of(assembly_.traces[trace]);
  }
  const traces::Span& span_of(const traces::Node& node) const { return spans_.spans()[node.span]; }

  const traces::SpanSet& spans_;
  const traces::Assembly& assembly_;
  const RequestTableOptions& options_;
  RequestTable made_;
  std::vector<uint32_t> chosen_;                                // traces
  std::map<uint32_t, std::map<uint32_t, size_t>> requests_of_;  // by service and version
  std::vector<uint32_t> changing_;                              // services that ran several versions, by name
  std::vector<uint32_t> place_of_service_;                      // in changing_
  std::vector<uint32_t> version_of_;                            // by request
  std::vector<const traces::Span*> ran_by_;                     // by request: the span that has the version
};

}  // namespace plimsoll::diagnosis
