// Margins of error of a view's rows: query/statistics, fed with what each machine brought.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "query/rows/per_machine_rows.h"
#include "query/rows/row_sums.h"
#include "query/selection/machine_sample.h"
#include "statistics/design.h"
#include "statistics/estimate.h"
#include "statistics/linearized_row.h"

namespace plimsoll::query {

// Some units of a sample, that an estimate is of: all, or those of a platform, a cluster, one machine.
struct Domain {
  std::vector<uint32_t> sampling_units;  // ascending
  statistics::Design design;
};

Domain whole_domain(const MachineSample& sample);
// Of those origins that the sample knows.
Domain domain_of_origins(const MachineSample& sample, const std::vector<bool>& origins);
// By group of origins, as the table of an AggregateRequest has them; where that is empty, one of all units.
std::vector<Domain> domains_of(const MachineSample& sample, std::span<const uint32_t> origin_group);

// What each unit of a domain brought to a row.
struct UnitColumn {
  std::vector<double> values;
  std::vector<double> squares;
};

// Fills `column`, whose memory is kept. Costs a search for each unit that has some of the row.
void fill(const PerMachineRows& rows, size_t row, size_t event, double RowValues::* part,
          const Domain& domain, UnitColumn& column);
// The same of all that was selected.
void fill_whole(const PerMachineRows& rows, size_t event, const Domain& domain, UnitColumn& column);

// The shares that rows' parts (self, total) have in all of the first event's value in the selection: row-major, by part. Costs some passes
// over the domain's units for each, on two threads.
std::vector<statistics::Estimate> estimate_shares(const PerMachineRows& rows,
                                                  std::span<double RowValues::* const> parts,
                                                  const Domain& domain);

// The row's self of one event over its self of another.
statistics::Estimate estimate_ratio(const PerMachineRows& rows, size_t row, size_t numerator,
                                    size_t denominator, const Domain& domain);

// For statistics over machines; borrows the columns.
statistics::RowSums row_sums_of(const UnitColumn& numerator, const UnitColumn& denominator);

}  // namespace plimsoll::query
