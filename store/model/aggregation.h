// The one path from rows to numbers: sums of hits x factor by group.
//
// The store knows neither names nor what a factor means. Its caller reads the dictionaries, turns filters into sets of IDs,
// dimensions into group numbers, and weights and scales into factors, all by dictionary ID. What people group by that is
// no column is a grouping of one: buckets of time and attributes of machines group origins, functions group stacks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/huge_page_allocator.h"
#include "base/result.h"
#include "base/stop_check.h"
#include "store/model/damaged_part.h"
#include "store/model/id_grouping.h"
#include "store/model/id_set.h"
#include "store/model/id_table.h"
#include "store/model/row.h"

namespace plimsoll::store {

// Which rows: those whose IDs are all selected.
struct RowFilter {
  IdSet& operator[](Column column) { return ids[column]; }
  const IdSet& operator[](Column column) const { return ids[column]; }

  ByColumn<IdSet> ids = {};
};

// factors[event][origin]: by what a hit counts, 0 or more. Of events that the filter leaves out the table may be empty; every other
// origin of a row has one.
using Factors = std::vector<IdTable<double>>;

// Of what was worked out by event and origin.
Factors factors_of(std::vector<std::vector<double>> by_event);

// The groups that a cell stands for.
using CellKey = ByColumn<uint32_t>;

// 64 million, or what fits into an eighth of the memory that this process may have.
uint64_t default_max_sums();

struct AggregateRequest {
  RowFilter filter = {};

  // Into which group a row falls. Only stacks may have lists of groups.
  ByColumn<IdGrouping> group = {};

  // Which cells, whatever their event and origin (which are 0 here), in ascending order and none twice: rows of others count nowhere.
  // Empty: all. Few of many possible ones are so far cheaper.
  std::vector<CellKey> wanted = {};

  // Splits every sum, for margins of error: by origin, dense from 0; origins beyond the end are in group 0.
  IdTable<uint32_t> machine_group = {};

  // A sum for each, of hits x factor. At least one.
  std::vector<Factors> measures = {};

  // An answer of more sums (cells x measures x machine groups) is refused (kTooLarge).
  uint64_t max_sums = default_max_sums();
};

// Cells with a sum other than 0, in ascending order of their keys.
struct Cells {
  LargeVector<CellKey> keys;
  size_t measures = 1;
  size_t machine_groups = 1;
  LargeVector<double> sums;  // cell-major, then by measure, then by machine group

  size_t size() const { return keys.size(); }
  std::span<const double> by_machine_group(size_t cell, size_t measure = 0) const {
    return std::span(sums).subspan((cell * measures + measure) * machine_groups, machine_groups);
  }
  double sum(size_t cell, size_t measure = 0) const {
    double sum = 0;
    for (const double part : by_machine_group(cell, measure)) {
      sum += part;
    }
    return sum;
  }
};

// Rows one batch after the other. One thread.
class RowCursor {
 public:
  virtual ~RowCursor() = default;

  // The next rows, in no particular order; none: the end. Valid until the next call.
  virtual Result<std::span<const Row>> next() = 0;

  // next() may pass over any number of rows: it asks `check` for each chunk of them, and fails with what that fails with.
  void stop_when(StopCheck check) { check_ = std::move(check); }

 protected:
  Status check() const { return check_ ? check_() : Status(); }

 private:
  StopCheck check_;
};

// Rows wherever they are kept; an immutable set of them. Several threads may read at once.
class RowSource {
 public:
  virtual ~RowSource() = default;

  // Ends early, with that error, where check_stop() fails. kCorrupt where a row has no factor, or what is stored is found damaged: then there is no answer at all. The next one is without the
  // damaged part (damage()).
  virtual Result<Cells> aggregate(const AggregateRequest& request) const = 0;

  // The rows themselves. The source must outlive the cursor.
  virtual std::unique_ptr<RowCursor> scan(RowFilter filter) const = 0;

  // What is left out, as of now: it is found when it is read.
  virtual std::vector<DamagedPart> damage() const { return {}; }
};

}  // namespace plimsoll::store
