#include "sqlite/question/list_table.h"

#include <algorithm>

namespace plimsoll::sqlite {
namespace {

constexpr size_t kRowsBetweenChecks = 1024;

}  // namespace

class ListTable::Cursor : public VirtualCursor {
 public:
  Cursor(const ListTable& table, size_t rows, std::vector<Constraint> constraints, const StopCheck& check)
      : table_(table), rows_(rows), constraints_(std::move(constraints)), check_(check, kRowsBetweenChecks) {}

  Result<bool> next() override {
    for (; next_ < rows_; ++next_) {
      if (auto checked = check_.step(); !checked) {
        return propagate(checked);
      }
      if (passes(next_)) {
        at_ = next_++;
        return true;
      }
    }
    return false;
  }

  int64_t row_id() const override { return static_cast<int64_t>(at_); }

  void value(size_t column, ColumnResult& result) override { result.set_value(table_.values_[column](at_)); }

 private:
  bool passes(size_t row) const {
    return std::ranges::all_of(constraints_, [&](const Constraint& constraint) {
      return constraint.passes(table_.values_[constraint.column](row));
    });
  }

  const ListTable& table_;
  size_t rows_;
  std::vector<Constraint> constraints_;
  SteppedCheck check_;
  size_t next_ = 0;
  size_t at_ = 0;
};

ListTable::ListTable(std::vector<ListColumn> columns, Size size) : size_(std::move(size)) {
  for (ListColumn& column : columns) {
    columns_.push_back({.name = std::move(column.name),
                        .type = column.type,
                        .narrows = column.type != ColumnType::kReal,
                        .meaning = std::move(column.meaning)});
    values_.push_back(std::move(column.value));
  }
}

double ListTable::estimated_rows() const {
  return 10'000;
}

Result<std::unique_ptr<VirtualCursor>> ListTable::scan(const std::vector<Constraint>& constraints,
                                                       const StopCheck& check) {
  const auto rows = size_();
  if (!rows) {
    return propagate(rows);
  }
  return std::make_unique<Cursor>(*this, *rows, constraints, check);
}

}  // namespace plimsoll::sqlite
