#include "query/sql/samples_table.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/checksum.h"
#include "query/selection/selected_events.h"
#include "query/selection/selection.h"
#include "query/sql/time_text.h"
#include "store/model/label_set.h"

namespace plimsoll::query {
namespace {

using sqlite::ColumnType;

constexpr size_t kEntriesBetweenChecks = 256;  // the text of a stack takes microseconds

void keep_common(std::vector<bool> passing, store::IdSet& set) {
  set = store::intersection_of(set, store::IdSet::of_flags(std::move(passing)));
}

std::string json_of_labels(std::string_view encoded) {
  nlohmann::json labels = nlohmann::json::object();
  store::for_each_label(encoded, [&](std::string_view key, std::string_view value) {
    if (key != store::kAnyLabel) {
      labels[std::string(key)] = std::string(value);
    }
  });
  return labels.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

class SamplesTable::Cursor : public sqlite::VirtualCursor {
 public:
  Cursor(SamplesTable& table, std::unique_ptr<store::RowCursor> rows)
      : table_(table), rows_(std::move(rows)) {}

  Result<bool> next() override {
    if (++at_ >= batch_.size()) {
      const auto batch = rows_->next();
      if (!batch) {
        return propagate(batch);
      }
      batch_ = *batch;
      at_ = 0;
    }
    if (!batch_.empty() && !table_.is_known(batch_[at_])) {
      return fail(ErrorCode::kCorrupt, "a row has an ID that is in no dictionary");
    }
    return !batch_.empty();
  }

  int64_t row_id() const override { return table_.row_id(batch_[at_]); }

  void value(size_t column, sqlite::ColumnResult& result) override {
    table_.value(column, batch_[at_], result);
  }

 private:
  SamplesTable& table_;
  std::unique_ptr<store::RowCursor> rows_;
  std::span<const store::Row> batch_;
  size_t at_ = 0;
};

SamplesTable::SamplesTable(const Snapshot& snapshot, const std::vector<store::Factors>& factors)
    : snapshot_(snapshot), factors_(factors) {
  add_column("event", "name in the views", ColumnType::kText, Key::kEvent);
  add_column("unit", "unit of value: ns, bytes or count", ColumnType::kText, Key::kEvent);
  for (const Dimension& dimension : dimensions()) {
    add_column(dimension.name, dimension.meaning, ColumnType::kText, key_of(dimension.source));
  }
  add_column("labels", "all labels, as a JSON object: json_extract(labels, '$.KEY')", ColumnType::kText,
             Key::kLabels);
  add_column("from_time", "start of the profile's window, UTC", ColumnType::kText, Key::kOrigin);
  add_column("to_time", "its end", ColumnType::kText, Key::kOrigin);
  add_column("from_ns", "start of the profile's window, since 1970", ColumnType::kInteger, Key::kOrigin);
  add_column("to_ns", "its end", ColumnType::kInteger, Key::kOrigin);
  add_column("hits", "as stored", ColumnType::kInteger, Key::kRow);
  add_column("value", "in the event's unit, with the weights of the views", ColumnType::kReal, Key::kRow);
  add_column("samples", "behind the hits", ColumnType::kReal, Key::kRow);
  texts_.resize(columns_.size());
}

// Frames are those of the leaf.
SamplesTable::Key SamplesTable::key_of(DimensionSource source) {
  switch (source) {
    case DimensionSource::kOrigin:
      return Key::kOrigin;
    case DimensionSource::kWorkload:
      return Key::kWorkload;
    case DimensionSource::kThread:
      return Key::kThread;
    case DimensionSource::kLabels:
      return Key::kLabels;
    case DimensionSource::kFrame:
      return Key::kLeaf;
    case DimensionSource::kStack:
      return Key::kStack;
  }
  return Key::kRow;
}

void SamplesTable::add_column(std::string_view name, std::string_view meaning, ColumnType type, Key key) {
  columns_.push_back({.name = std::string(name),
                      .type = type,
                      .narrows = key != Key::kRow,
                      .meaning = std::string(meaning)});
  keys_.push_back(key);
}

double SamplesTable::estimated_rows() const {
  return 1e8;  // so that whatever it is joined with comes first
}

size_t SamplesTable::entries(Key key) const {
  return key == Key::kRow    ? 0
         : key == Key::kLeaf ? snapshot_.dictionaries.locations.size()
                             : entries_of(snapshot_, column_of(key));
}

Column SamplesTable::column_of(Key key) {
  switch (key) {
    case Key::kEvent:
      return Column::kEvent;
    case Key::kOrigin:
      return Column::kOrigin;
    case Key::kWorkload:
      return Column::kWorkload;
    case Key::kThread:
      return Column::kThread;
    case Key::kLabels:
      return Column::kLabels;
    case Key::kLeaf:
    case Key::kStack:
    case Key::kRow:
      break;
  }
  return Column::kStack;
}

uint32_t SamplesTable::id_of(Key key, const store::Row& row) const {
  const uint32_t id = row[column_of(key)];
  return key == Key::kLeaf ? snapshot_.dictionaries.stacks[id].location : id;  // of stack 0: 0
}

bool SamplesTable::is_known(const store::Row& row) const {
  return std::ranges::all_of(store::kColumns,
                             [&](Column column) { return row[column] < entries_of(snapshot_, column); });
}

int64_t SamplesTable::row_id(const store::Row& row) const {
  uint64_t packed = 0;
  unsigned bits = 0;
  for (const Column column : store::kColumns) {
    const auto width = static_cast<unsigned>(std::bit_width(entries_of(snapshot_, column)));
    packed = packed << width | row[column];
    bits += width;
  }
  return static_cast<int64_t>(bits <= 64 ? packed : checksum64(std::as_bytes(std::span(row.ids.of))));
}

// Of a dimension of an entry.
std::string SamplesTable::dimension_text(std::string_view name, uint32_t id) const {
  const auto dimension = std::ranges::find(dimensions(), name, &Dimension::name);
  return entry_value(snapshot_, *dimension, id);
}

std::string SamplesTable::text(size_t column, uint32_t id) const {
  const std::string_view name = columns_[column].name;
  const store::Dictionaries& dictionaries = snapshot_.dictionaries;
  switch (keys_[column]) {
    case Key::kEvent:
      return name == "event" ? dictionaries.events[id].name
                             : std::string(unit_name(dictionaries.events[id].unit));
    case Key::kOrigin:
      return name == "from_time" ? time_text(dictionaries.origins[id].from_ns)
             : name == "to_time" ? time_text(dictionaries.origins[id].to_ns)
                                 : dimension_text(name, id);
    case Key::kWorkload:
    case Key::kThread:
      return dimension_text(name, id);
    case Key::kLabels:
      return json_of_labels(dictionaries.label_sets[id]);
    case Key::kLeaf:
      return frame_value(snapshot_, name, {id, 0});
    case Key::kStack:
      return stack_value(snapshot_, id);
    case Key::kRow:
      return {};
  }
  return {};
}

int64_t SamplesTable::integer(size_t column, uint32_t origin) const {
  const store::OriginEntry& entry = snapshot_.dictionaries.origins[origin];
  return columns_[column].name == "from_ns" ? entry.from_ns : entry.to_ns;
}

Result<std::vector<bool>> SamplesTable::passing(const sqlite::Constraint& constraint,
                                                const StopCheck& check) const {
  const bool is_integer = columns_[constraint.column].type == ColumnType::kInteger;
  SteppedCheck checked(check, kEntriesBetweenChecks);
  std::vector<bool> passing(entries(keys_[constraint.column]));
  for (uint32_t id = 0; id < passing.size(); ++id) {
    if (auto go_on = checked.step(); !go_on) {
      return propagate(go_on);
    }
    passing[id] = is_integer ? constraint.passes(integer(constraint.column, id))
                             : constraint.passes(text(constraint.column, id));
  }
  return passing;
}

void SamplesTable::narrow(Key key, const std::vector<bool>& passing, store::RowFilter& filter) const {
  if (key == Key::kRow) {
    return;
  }
  if (key != Key::kLeaf) {
    return keep_common(passing, filter[column_of(key)]);
  }
  std::vector<bool> stacks(entries(Key::kStack));
  for (size_t id = 0; id < stacks.size(); ++id) {
    stacks[id] = passing[snapshot_.dictionaries.stacks[id].location];
  }
  keep_common(std::move(stacks), filter[Column::kStack]);
}

Result<std::unique_ptr<sqlite::VirtualCursor>> SamplesTable::scan(
    const std::vector<sqlite::Constraint>& constraints, const StopCheck& check) {
  store::RowFilter filter;
  filter[Column::kEvent] = shown_events(snapshot_);
  for (const sqlite::Constraint& constraint : constraints) {
    const auto those = passing(constraint, check);
    if (!those) {
      return propagate(those);
    }
    narrow(keys_[constraint.column], *those, filter);
  }
  auto rows = snapshot_.rows->scan(std::move(filter));
  rows->stop_when(check);
  return std::make_unique<Cursor>(*this, std::move(rows));
}

double SamplesTable::factor(size_t measure, const store::Row& row) const {
  return factors_[measure][row[Column::kEvent]][row[Column::kOrigin]];
}

std::string_view SamplesTable::lasting_text(size_t column, uint32_t id) {
  Texts& texts = texts_[column];
  if (texts.by_id.empty()) {
    texts.by_id.resize(entries(keys_[column]));
    texts.is_made.resize(texts.by_id.size());
  }
  if (!texts.is_made[id]) {
    texts.by_id[id] = text(column, id);
    texts.is_made[id] = true;
  }
  return texts.by_id[id];
}

void SamplesTable::value(size_t column, const store::Row& row, sqlite::ColumnResult& result) {
  const std::string_view name = columns_[column].name;
  const Key key = keys_[column];
  if (key == Key::kStack) {
    if (last_stack_text_.empty() || last_stack_ != row[Column::kStack]) {
      last_stack_ = row[Column::kStack];
      last_stack_text_ = text(column, row[Column::kStack]);
    }
    result.set_copy(last_stack_text_);
  } else if (key != Key::kRow) {
    const uint32_t id = id_of(key, row);
    columns_[column].type == ColumnType::kInteger ? result.set(integer(column, id))
                                                  : result.set_lasting(lasting_text(column, id));
  } else if (name == "hits") {
    result.set(static_cast<int64_t>(std::min<uint64_t>(row.hits, INT64_MAX)));
  } else {
    result.set(static_cast<double>(row.hits) * factor(name == "value" ? kValue : kSamples, row));
  }
}

}  // namespace plimsoll::query
