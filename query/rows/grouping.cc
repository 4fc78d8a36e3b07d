#include "query/rows/grouping.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>

namespace plimsoll::query {

size_t hash_value(const RowKey& key) {
  size_t seed = key.frame;
  for (const uint32_t number : key.group.of) {
    boost::hash_combine(seed, number);
  }
  return seed;
}

RowKey groups_of(const store::CellKey& cell) {
  RowKey key;
  for (const Column column : kEntryColumns) {
    key.group[column] = cell[column];
  }
  return key;
}

Grouping::Grouping(std::span<const Dimension> by, std::shared_ptr<const HiddenFrames> hidden,
                   const Snapshot& snapshot, const StackLabels* labels)
    : by_(by), hidden_(std::move(hidden)), snapshot_(snapshot), labels_(labels) {
  std::map<DimensionSource, size_t> used;
  for (const Dimension& dimension : by_) {
    place_.push_back(used[dimension.source]++);
  }
  if (groups_by(DimensionSource::kFrame)) {
    std::vector<std::string_view> names;
    for (const Dimension& dimension : by_) {
      if (dimension.source == DimensionSource::kFrame) {
        names.emplace_back(dimension.name);
      }
    }
    frames_ = snapshot.frame_keys->of(snapshot, names, hidden_);
  }
  if (groups_by_stack() && labels_ == nullptr) {
    named_stacks_ = std::make_unique<NamedStacks>(snapshot_, hidden_);
  }
}

bool Grouping::groups_by(DimensionSource source) const {
  return std::ranges::any_of(by_, [&](const Dimension& dimension) { return dimension.source == source; });
}

std::vector<const Dimension*> Grouping::dimensions_of(Column column) const {
  std::vector<const Dimension*> dimensions;
  for (const Dimension& dimension : by_) {
    if (column_of(dimension.source) == column) {
      dimensions.push_back(&dimension);
    }
  }
  return dimensions;
}

Grouping::Entries Grouping::number_entries(Column column, store::IdGrouping& grouping) const {
  const std::vector<const Dimension*> dimensions = dimensions_of(column);
  Entries numbered{.dimensions = dimensions.size(), .texts = {}};
  if (dimensions.empty()) {
    return numbered;
  }
  const size_t entries = entries_of(snapshot_, column);
  std::map<std::vector<std::string>, uint32_t> numbers;
  // Entry 0 stands for nothing and has a number all the same, so that tables are indexed by ID.
  numbers.emplace(std::vector<std::string>(dimensions.size()), 0);
  numbered.texts.resize(dimensions.size());
  std::vector<uint32_t> group(entries);
  for (uint32_t id = 1; id < entries; ++id) {
    std::vector<std::string> texts;
    for (const Dimension* dimension : dimensions) {
      texts.push_back(entry_value(snapshot_, *dimension, id));
    }
    const auto [entry, is_new] = numbers.try_emplace(std::move(texts), static_cast<uint32_t>(numbers.size()));
    if (is_new) {
      numbered.texts.insert(numbered.texts.end(), entry->first.begin(), entry->first.end());
    }
    group[id] = entry->second;
  }
  grouping = store::IdGrouping::by(std::move(group));
  return numbered;
}

void Grouping::add_groups(store::AggregateRequest& request) {
  for (const Column column : kEntryColumns) {
    entries_[column] = number_entries(column, request.group[column]);
  }
}

uint32_t Grouping::stack_number(uint32_t stack) {
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = stack_numbers_.try_emplace(stack, 0);
  if (is_new) {
    entry->second = new_stack_number(stack);
  }
  return entry->second;
}

uint32_t Grouping::new_stack_number(uint32_t stack) {
  if (named_stacks_ != nullptr) {
    return named_stacks_->number_of(stack);
  }
  const auto [text, is_new] = number_of_text_.try_emplace(labels_->texts[labels_->label_of_stack[stack]],
                                                          static_cast<uint32_t>(label_texts_.size()));
  if (is_new) {
    label_texts_.push_back(text->first);
  }
  return text->second;
}

void Grouping::make_ready() const {
  if (frames_ != nullptr) {
    frames_->stacks();
  }
}

std::vector<TableColumn> Grouping::columns() const {
  std::vector<TableColumn> columns;
  for (const Dimension& dimension : by_) {
    columns.push_back({std::string(dimension.name), ""});
  }
  return columns;
}

std::string Grouping::text(const RowKey& key, size_t column) const {
  switch (by_[column].source) {
    case DimensionSource::kFrame:
      return frames_->text(key.frame, place_[column]);
    case DimensionSource::kStack:
      return named_stacks_ != nullptr ? named_stacks_->text(key.group[Column::kStack])
                                      : label_texts_[key.group[Column::kStack]];
    default:
      break;
  }
  const Column of_rows = column_of(by_[column].source);
  return entries_[of_rows].text(key.group[of_rows], place_[column]);
}

std::vector<std::string> Grouping::texts(const RowKey& key) const {
  std::vector<std::string> texts;
  for (size_t column = 0; column < by_.size(); ++column) {
    texts.push_back(text(key, column));
  }
  return texts;
}

void Grouping::add_texts(const RowKey& key, std::vector<Value>& row) const {
  for (size_t column = 0; column < by_.size(); ++column) {
    row.emplace_back(text(key, column));
  }
}

std::strong_ordering Grouping::order(const RowKey& a, const RowKey& b, size_t column) const {
  switch (by_[column].source) {
    case DimensionSource::kFrame:
      return frames_->text(a.frame, place_[column]) <=> frames_->text(b.frame, place_[column]);
    case DimensionSource::kStack:
      if (named_stacks_ == nullptr) {
        return label_texts_[a.group[Column::kStack]] <=> label_texts_[b.group[Column::kStack]];
      }
      if (stack_ranks_.empty()) {
        stack_ranks_ = named_stacks_->ranks();
      }
      return stack_ranks_[a.group[Column::kStack]] <=> stack_ranks_[b.group[Column::kStack]];
    default:
      break;
  }
  const Column of_rows = column_of(by_[column].source);
  return entries_[of_rows].text(a.group[of_rows], place_[column]) <=>
         entries_[of_rows].text(b.group[of_rows], place_[column]);
}

bool Grouping::less(const RowKey& a, const RowKey& b) const {
  for (size_t column = 0; column < by_.size(); ++column) {
    if (const auto in_column = order(a, b, column); in_column != 0) {
      return in_column < 0;
    }
  }
  return false;
}

}  // namespace plimsoll::query
