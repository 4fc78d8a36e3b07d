// Rows and cells as tests write them down.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "store/model/aggregation.h"

namespace plimsoll::store {

struct PlainRow {
  uint32_t event = 0, workload = 0, origin = 0, thread = 0, stack = 0;
  uint64_t hits = 0;
  uint32_t labels = 0;
};

inline Row row_of(const PlainRow& plain) {
  return {.ids = {{plain.event, plain.origin, plain.workload, plain.thread, plain.labels, plain.stack}},
          .hits = plain.hits};
}

inline std::vector<Row> rows_of(std::initializer_list<PlainRow> plain) {
  std::vector<Row> rows;
  for (const PlainRow& row : plain) {
    rows.push_back(row_of(row));
  }
  return rows;
}

struct PlainCell {
  uint32_t event = 0, origin = 0, workload = 0, thread = 0, stack = 0, labels = 0;
};

inline CellKey cell_of(const PlainCell& plain) {
  return {{plain.event, plain.origin, plain.workload, plain.thread, plain.labels, plain.stack}};
}

inline std::vector<CellKey> cells_of(std::initializer_list<PlainCell> plain) {
  std::vector<CellKey> cells;
  for (const PlainCell& cell : plain) {
    cells.push_back(cell_of(cell));
  }
  return cells;
}

// "event 1, origin 3, ..."
inline std::string text_of(const ByColumn<uint32_t>& ids) {
  return fmt::format("event {}, origin {}, workload {}, thread {}, labels {}, stack {}", ids.of[0], ids.of[1],
                     ids.of[2], ids.of[3], ids.of[4], ids.of[5]);
}

}  // namespace plimsoll::store
