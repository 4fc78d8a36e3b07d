// The groups of a chunk as a request sees them: which are selected, by what their hits count, which cells they fall into.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "store/aggregation/cell_sums.h"
#include "store/model/aggregation.h"
#include "store/segments/segment.h"

namespace plimsoll::store {

// Works column by column, and only on those that a filter or a grouping asks for: a chunk has the same event throughout, often
// the same workload. About 1 ns a group and column, where they are few enough to stay in the cache. Borrows request and space. One
// thread.
class WeighedGroups {
 public:
  // Looks for factors that are the same for all origins of an event: of those nothing need be read for each row. Costs a pass over
  // the factors, up to the first that differs.
  WeighedGroups(const AggregateRequest& request, const CellSpace& space);

  // What of a chunk's groups there is to be known, by its zones.
  GroupColumns wanted(const ChunkZones& zones) const;

  // `count` of the chunk's groups, from `first` on, which are numbered from 0 below. Replaces what was there. False where none is
  // selected: then there is nothing else to ask for.
  bool weigh(const ChunkGroups& groups, const ChunkZones& zones, size_t first, size_t count);

  size_t size() const { return size_; }
  bool has_every_factor() const { return has_every_factor_; }
  // Whether all groups fall into the same cells and machine group: then the first stands for all.
  bool is_one_cell() const { return is_one_cell_; }
  // Whether they have the same factor in each measure besides.
  bool is_one_weight() const { return is_one_weight_; }

  // By group: the factor of its hits; 0 where it is not selected, NaN where it has none. Of one weight, its first entry alone.
  const std::vector<double>& weights(size_t measure) const { return weights_[measure]; }
  // By group: the first of its cells (a stack's number is to be added), and the machine group. Of one cell, its first entry alone.
  const std::vector<uint64_t>& first_cell() const { return first_cell_; }
  const std::vector<uint32_t>& machine() const { return machine_; }

  // Of a group without a factor. kCorrupt.
  std::unexpected<Error> missing_factor() const;

 private:
  // A column of the groups at hand: IDs where they differ.
  struct Ids {
    Zone zone = {};
    std::span<const uint32_t> ids = {};  // empty: the zone's only one throughout, or not requested

    static Ids of(std::span<const uint32_t> ids, Zone zone);

    uint32_t operator[](size_t group) const { return ids.empty() ? zone.min : ids[group]; }
  };
  using IdsByColumn = ByColumn<Ids>;

  // The factor of every origin in the zones, where they are of one event, and it is the same.
  std::optional<double> common_factor(size_t measure, const ChunkZones& zones) const;
  void select(const IdsByColumn& columns);
  void select(const std::vector<bool>& flags, const Ids& column);
  void weigh(const IdsByColumn& columns, const ChunkZones& zones);
  void weigh(const IdsByColumn& columns, std::span<const std::span<const double>> factors,
             std::vector<double>& weights);
  void place(const IdsByColumn& columns);
  void place(const IdGrouping& grouping, const Ids& column, uint64_t stride);
  void place_machines(const Ids& origins);
  template <typename Use>
  void for_each_number(std::span<const uint32_t> table, const Ids& column, Use use) const;

  const AggregateRequest& request_;
  const CellSpace& space_;
  std::vector<std::vector<std::span<const double>>> factors_;  // by measure and event, the request's tables
  std::vector<std::vector<std::optional<double>>> common_factors_;  // by measure and event
  size_t size_ = 0;
  bool is_any_selected_ = false;
  bool is_every_selected_ = false;
  ByColumn<const std::vector<bool>*> flags_;  // of the request's filter, whose sets keep them
  std::vector<uint8_t> is_selected_;          // by group, unless every one is
  bool has_every_factor_ = false;
  struct {
    uint32_t event = 0;
    uint32_t origin = 0;
  } without_factor_;  // one that has none
  std::vector<std::vector<double>> weights_;
  bool is_one_cell_ = false;
  bool is_one_weight_ = false;
  bool has_places_ = false;         // groups differ in their cells
  uint64_t first_cell_of_all_ = 0;  // what the cells of all groups have in common
  std::vector<uint64_t> first_cell_;
  std::vector<uint32_t> machine_;
};

}  // namespace plimsoll::store
