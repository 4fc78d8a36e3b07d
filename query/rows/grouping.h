// What the rows of a view are called: the values of dimensions, as numbers while rows are summed and as texts once they are shown.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/rows/named_stacks.h"
#include "query/rows/neighbours.h"
#include "query/snapshot/dimension.h"
#include "query/snapshot/frame_keys.h"
#include "query/snapshot/hidden_frames.h"
#include "query/snapshot/snapshot.h"
#include "query/table/table.h"
#include "store/model/aggregation.h"

namespace plimsoll::query {

// A row, as numbers of a Grouping; 0 in what its dimensions say nothing about.
struct RowKey {
  store::ByColumn<uint32_t> group = {};  // of kEntryColumns; of kStack the text of a whole stack
  uint32_t frame = 0;                    // key of FrameKeys

  auto operator<=>(const RowKey&) const = default;
  friend size_t hash_value(const RowKey& key);
};

// What a cell says of a row, its stack aside.
RowKey groups_of(const store::CellKey& cell);

// One thread, but for stack_number(). Borrows all: the dimensions, the snapshot, the labels. Numbers are dense from 0.
class Grouping {
 public:
  // Frames that are hidden are in no row. Dimensions whose source is kStack are of whole stacks as text; or, where there are any, of
  // these labels.
  Grouping(std::span<const Dimension> by, std::shared_ptr<const HiddenFrames> hidden,
           const Snapshot& snapshot, const StackLabels* labels = nullptr);

  // Sets the request's groups of kEntryColumns; before any key is asked for its texts.
  void add_groups(store::AggregateRequest& request);

  // Whether groups depend on frames or stacks: then cells must be by stack.
  bool needs_stacks() const { return frames_ != nullptr || groups_by_stack(); }
  // Works out what sums by frames need of the stacks, unless an earlier question did. Any thread.
  void make_ready() const;
  // Absent where no dimension is of frames.
  const FrameKeys* frames() const { return frames_.get(); }
  bool groups_by_stack() const { return groups_by(DimensionSource::kStack); }
  bool groups_by(DimensionSource source) const;
  bool groups_by(Column column) const { return !dimensions_of(column).empty(); }
  // The number of a whole stack's text. Any thread; nothing else meanwhile.
  uint32_t stack_number(uint32_t stack);
  // The texts that there are numbers of, by stack: of those that were asked for.
  const std::map<uint32_t, uint32_t>& stack_numbers() const { return stack_numbers_; }

  std::vector<TableColumn> columns() const;
  // A text for each column.
  std::vector<std::string> texts(const RowKey& key) const;
  // Appends them to a row, a cell for each.
  void add_texts(const RowKey& key, std::vector<Value>& row) const;
  // The order of the texts; of whole stacks, that of their names from the root on. Once all stacks have their numbers.
  bool less(const RowKey& a, const RowKey& b) const;

 private:
  // The entries of one dictionary, numbered by their values in the dimensions of one source.
  struct Entries {
    size_t dimensions = 0;
    std::vector<std::string> texts;  // number-major

    const std::string& text(uint32_t number, size_t dimension) const {
      return texts[number * dimensions + dimension];
    }
  };

  std::vector<const Dimension*> dimensions_of(Column column) const;
  Entries number_entries(Column column, store::IdGrouping& grouping) const;
  std::string text(const RowKey& key, size_t column) const;
  std::strong_ordering order(const RowKey& a, const RowKey& b, size_t column) const;
  uint32_t new_stack_number(uint32_t stack);

  std::span<const Dimension> by_;
  const std::shared_ptr<const HiddenFrames> hidden_;
  const Snapshot& snapshot_;
  const StackLabels* labels_;
  std::vector<size_t> place_;         // of each dimension among those of its source
  store::ByColumn<Entries> entries_;  // of kEntryColumns
  std::shared_ptr<const FrameKeys> frames_;
  std::mutex mutex_;
  // Protected by mutex_ while stacks are numbered.
  std::map<uint32_t, uint32_t> stack_numbers_;
  std::unique_ptr<NamedStacks> named_stacks_;  // without labels, where there is a dimension of whole stacks
  std::map<std::string, uint32_t> number_of_text_;  // of labels
  std::vector<std::string> label_texts_;
  mutable std::vector<uint32_t> stack_ranks_;  // made when they are first asked for
};

}  // namespace plimsoll::query
