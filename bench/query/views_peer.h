// DuckDB beside the views: the rows of a snapshot in its tables, and a view's question as SQL.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bench/harness/scratch_folder.h"
#include "bench/store/peer.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"

namespace plimsoll::bench {

// As the question has no margins in DuckDB, and functions are numbers there, it has less to do. It keeps all rows three times, in
// different orders, and each question is asked of the one that answers it fastest.
class ViewsPeer {
 public:
  // Writes the rows as CSV below the folder and has DuckDB load them: about 2 s for each million. kNotFound without DuckDB.
  static Result<ViewsPeer> start(const query::Snapshot& snapshot, const ScratchFolder& folder);

  const std::string& name() const { return peer_.name(); }

  // `sql` has {} in place of the order of a table.
  Result<std::string> fastest_order(const std::string& sql);
  Result<double> time_ms(const std::string& sql, const std::string& order);

  // Functions by self: their numbers, self and total as shares of all that `where` selects; the largest 20.
  static std::string top_functions(std::string_view where);
  // Jobs, with their share of all, twice as top has it.
  static std::string top_jobs();
  // Functions by how much their share of self differs between the two selections; the largest 20.
  static std::string diff_functions(std::string_view base, std::string_view other);

  // A condition on `job`: those whose name passes.
  std::string jobs(const std::function<bool(std::string_view)>& passes) const;

  // kCorrupt where the answer of top_functions() or top_jobs() is not that of the table of a view, in the same order. Of equal rows the
  // order is anybody's: shares are compared.
  Status expect_same(const std::string& sql, const query::Table& table);

 private:
  ViewsPeer(Peer peer, std::string folder) : peer_(std::move(peer)), folder_(std::move(folder)) {}
  Status write_rows(const query::Snapshot& snapshot);

  Peer peer_;
  std::string folder_;
  std::vector<std::string> jobs_;  // by number
};

}  // namespace plimsoll::bench
