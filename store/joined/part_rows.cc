#include "store/joined/part_rows.h"

#include <cstddef>
#include <span>
#include <utility>

namespace plimsoll::store {
namespace {

class PartsCursor : public RowCursor {
 public:
  PartsCursor(std::vector<PartRows> parts, RowFilter filter)
      : parts_(std::move(parts)), filter_(std::move(filter)) {}

  Result<std::span<const Row>> next() override {
    for (; next_part_ <= parts_.size(); cursor_ = nullptr) {
      if (cursor_ == nullptr && !open_next()) {
        break;
      }
      const auto rows = cursor_->next();
      if (!rows || !rows->empty()) {
        return rows ? translated(*rows) : rows;
      }
    }
    return std::span<const Row>();
  }

 private:
  bool open_next() {
    if (next_part_ == parts_.size()) {
      return false;
    }
    const PartRows& part = parts_[next_part_++];
    cursor_ = part.rows->scan(translate(filter_, part.translation));
    cursor_->stop_when([this] { return check(); });
    return true;
  }

  std::span<const Row> translated(std::span<const Row> rows) {
    rows_.clear();
    for (const Row& row : rows) {
      rows_.push_back(translate(row, parts_[next_part_ - 1].translation));
    }
    return rows_;
  }

  const std::vector<PartRows> parts_;
  const RowFilter filter_;
  size_t next_part_ = 0;
  std::unique_ptr<RowCursor> cursor_;  // of the part before
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<RowCursor> scan_parts(std::vector<PartRows> parts, RowFilter filter) {
  return std::make_unique<PartsCursor>(std::move(parts), std::move(filter));
}

}  // namespace plimsoll::store
