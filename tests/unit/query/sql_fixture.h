// Statements to a small fleet.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "query/sql/sql.h"
#include "tests/unit/query/fleet_fixture.h"
#include "tests/unit/query/sql_model.h"

namespace plimsoll::query {

// Counts the rows that a statement reads.
class CountingRows : public store::RowSource {
 public:
  CountingRows(const store::RowSource& rows, uint64_t& count) : rows_(rows), count_(count) {}

  Result<store::Cells> aggregate(const store::AggregateRequest& request) const override {
    return rows_.aggregate(request);
  }
  std::unique_ptr<store::RowCursor> scan(store::RowFilter filter) const override {
    return std::make_unique<Cursor>(rows_.scan(std::move(filter)), count_);
  }

 private:
  class Cursor : public store::RowCursor {
   public:
    Cursor(std::unique_ptr<store::RowCursor> rows, uint64_t& count) : rows_(std::move(rows)), count_(count) {}
    Result<std::span<const store::Row>> next() override {
      auto batch = rows_->next();
      count_ += batch ? batch->size() : 0;
      return batch;
    }

   private:
    std::unique_ptr<store::RowCursor> rows_;
    uint64_t& count_;
  };

  const store::RowSource& rows_;
  uint64_t& count_;
};

class SqlTest : public ::testing::Test {
 protected:
  void load() {
    loaded_ = *Snapshot::load(fleet_.path());
    snapshot_.dictionaries = loaded_->dictionaries;
    snapshot_.bindings = loaded_->bindings;
    snapshot_.origins = loaded_->origins;
    snapshot_.responses = loaded_->responses;
    snapshot_.application_responses = loaded_->application_responses;
    snapshot_.rows = std::make_unique<CountingRows>(*loaded_->rows, rows_read_);
  }

  void add_profiles() {
    for (const ProfileSpec& spec : sql_profiles()) {
      fleet_.add(spec);
    }
    load();
  }

  Result<SqlAnswer> ask(const std::string& statement, const sqlite::QuestionLimits& limits = {}) {
    rows_read_ = 0;
    return sql({.statement = statement, .now_ns = now_ns_, .limits = limits}, snapshot_, [&] {
      ++fleet_reads_;
      return LiveFleet::load(*store::open_fleet(fleet_.path()));
    });
  }

  // The rows, cells between bars; an error's text where there is one.
  std::string answer(const std::string& statement) {
    const auto answered = ask(statement);
    if (!answered) {
      return answered.error().text();
    }
    return lines_of(*answered);
  }

  Fleet fleet_;
  std::shared_ptr<const Snapshot> loaded_;
  Snapshot snapshot_;
  uint64_t rows_read_ = 0;
  int64_t now_ns_ = 0;
  int fleet_reads_ = 0;
};

}  // namespace plimsoll::query
