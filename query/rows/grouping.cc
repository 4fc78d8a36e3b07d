#include "query/rows/grouping.h"

#include <algorithm>
#include <boost/container_hash/hash.hpp>

namespace plimsoll::query {

size_t hash_value(const RowKey& key) {
  size_t seed = 0;
  for (const uint32_t number : {key.origin, key.workload, key.thread, key.frame, key.stack}) {
    boost::hash_combine(seed, number);
  }
  return seed;
}

Grouping::Grouping(std::span<const Dimension> by, std::shared_ptr<const HiddenFrames> hidden,
                   const Snapshot& snapshot, const StackLabels* labels)
    : by_(by), hidden_(std::move(hidden)), snapshot_(snapshot), labels_(labels) {
  std::map<DimensionSource, size_t> used;
  for (const Dimension& dimension : by_) {
    place_.push_back(used[dimension.source]++);
  }
  if (groups_by(DimensionSource::kFrame)) {
    frames_ = snapshot.frame_keys->of(snapshot, names_of(DimensionSource::kFrame), hidden_);
  }
}

bool Grouping::groups_by(DimensionSource source) const {
  return std::ranges::any_of(by_, [&](const Dimension& dimension) { return dimension.source == source; });
}

std::vector<std::string_view> Grouping::names_of(DimensionSource source) const {
  std::vector<std::string_view> names;
  for (const Dimension& dimension : by_) {
    if (dimension.source == source) {
      names.push_back(dimension.name);
    }
  }
  return names;
}

Grouping::Entries Grouping::number_entries(DimensionSource source, size_t entries,
                                           std::vector<uint32_t>& group, const ValueOf& value_of) const {
  const std::vector<std::string_view> names = names_of(source);
  Entries numbered{.dimensions = names.size(), .texts = {}};
  if (names.empty()) {
    return numbered;
  }
  std::map<std::vector<std::string>, uint32_t> numbers;
  // Entry 0 stands for nothing and has a number all the same, so that tables are indexed by ID.
  numbers.emplace(std::vector<std::string>(names.size()), 0);
  numbered.texts.resize(names.size());
  group.assign(entries, 0);
  for (uint32_t id = 1; id < entries; ++id) {
    std::vector<std::string> texts;
    for (const std::string_view name : names) {
      texts.push_back(value_of(name, id));
    }
    const auto [entry, is_new] = numbers.try_emplace(std::move(texts), static_cast<uint32_t>(numbers.size()));
    if (is_new) {
      numbered.texts.insert(numbered.texts.end(), entry->first.begin(), entry->first.end());
    }
    group[id] = entry->second;
  }
  return numbered;
}

void Grouping::add_groups(store::AggregateRequest& request) {
  const store::Dictionaries& dictionaries = snapshot_.dictionaries;
  origins_ =
      number_entries(DimensionSource::kOrigin, dictionaries.origins.size(), request.origin_group,
                     [&](std::string_view name, uint32_t id) { return origin_value(snapshot_, name, id); });
  workloads_ =
      number_entries(DimensionSource::kWorkload, dictionaries.workloads.size(), request.workload_group,
                     [&](std::string_view name, uint32_t id) { return workload_value(snapshot_, name, id); });
  threads_ = number_entries(DimensionSource::kThread, dictionaries.threads.size(), request.thread_group,
                            [&](std::string_view, uint32_t id) { return dictionaries.threads[id]; });
}

uint32_t Grouping::stack_number(uint32_t stack) {
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = stack_numbers_.try_emplace(stack, 0);
  if (is_new) {
    const auto [text, is_new_text] =
        number_of_text_.try_emplace(labels_ == nullptr ? stack_value(snapshot_, stack, hidden_.get())
                                                       : labels_->texts[labels_->label_of_stack[stack]],
                                    static_cast<uint32_t>(stack_texts_.size()));
    if (is_new_text) {
      stack_texts_.push_back(text->first);
    }
    entry->second = text->second;
  }
  return entry->second;
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

const std::string& Grouping::text(const RowKey& key, size_t column) const {
  switch (by_[column].source) {
    case DimensionSource::kOrigin:
      return origins_.text(key.origin, place_[column]);
    case DimensionSource::kWorkload:
      return workloads_.text(key.workload, place_[column]);
    case DimensionSource::kThread:
      return threads_.text(key.thread, place_[column]);
    case DimensionSource::kFrame:
      return frames_->text(key.frame, place_[column]);
    case DimensionSource::kStack:
      break;
  }
  return stack_texts_[key.stack];
}

void Grouping::add_texts(const RowKey& key, std::vector<Value>& row) const {
  for (size_t column = 0; column < by_.size(); ++column) {
    row.emplace_back(text(key, column));
  }
}

bool Grouping::less(const RowKey& a, const RowKey& b) const {
  for (size_t column = 0; column < by_.size(); ++column) {
    if (const auto order = text(a, column) <=> text(b, column); order != 0) {
      return order < 0;
    }
  }
  return false;
}

}  // namespace plimsoll::query
