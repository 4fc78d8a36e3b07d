// Solves systems of a grounded graph Laplacian: potentials from currents, as in a network of resistors. Only query/fdo/code includes this.
//
// Symmetric elimination in the order of minimum degree. Control flow graphs of structured programs have a small tree width (Thorup, "All structured programs
// have small tree width and good register allocation", 1998), so that elimination fills in little and costs about as much as reading the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plimsoll::fdo {

struct Arc {
  uint32_t tail = 0;
  uint32_t head = 0;
};
// A node whose potential is 0; each connected part of a graph needs a way to it.
constexpr uint32_t kGround = UINT32_MAX;

class Elimination {
 public:
  // Nothing where it would take more than `max_updates` multiplications.
  static std::optional<Elimination> plan(uint32_t nodes, std::span<const Arc> arcs, uint64_t max_updates);

  // Multiplications of a factor().
  uint64_t updates() const { return updates_.size() + rows_.size(); }
  // `conductances` > 0, one for each arc; for the calls of solve() that follow.
  void factor(std::span<const double> conductances);
  // `currents` by node become potentials.
  void solve(std::vector<double>& currents);

 private:
  Elimination() = default;
  bool order(std::vector<std::vector<uint32_t>> neighbors, uint64_t max_updates);
  void place(std::span<const Arc> arcs);
  // Where a column has the entry of a row.
  uint32_t entry_of(uint32_t column, uint32_t row) const;

  std::span<const uint32_t> rows_of(uint32_t column) const {
    return std::span(rows_).subspan(starts_[column], starts_[column + 1] - starts_[column]);
  }

  // Columns and rows by their turn in the elimination.
  std::vector<uint32_t> turns_;   // of nodes
  std::vector<uint32_t> starts_;  // of columns in rows_
  std::vector<uint32_t> rows_;    // below the diagonal, ascending
  std::vector<uint32_t>
      updates_;  // entries that the pairs of each column's rows change, in the order of factor()
  std::vector<uint32_t> entries_;  // of arcs: their entry, or none
  std::vector<Arc> arcs_;          // by turns
  std::vector<double> values_;
  std::vector<double> diagonal_;
  std::vector<double> ordered_;
};

}  // namespace plimsoll::fdo
