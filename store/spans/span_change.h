// A transaction of the newest block of spans. For LocalSpanSink alone, which stands in several sources.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "sqlite/database.h"
#include "store/spans/local_span_sink.h"

namespace plimsoll::store {

// Makes the times that a block touches those of these spans, too.
inline void widen(SpanBlockState& state, std::span<const SpanRecord> records) {
  for (const SpanRecord& record : records) {
    state.from_ns = std::min(state.from_ns, first_ns_of(record));
    state.to_ns = std::max(state.to_ns, last_ns_of(record));
  }
}

// With the file that it shows. Whatever fails, memory must not know what the catalogue has rolled back.
class LocalSpanSink::Change {
 public:
  explicit Change(LocalSpanSink& sink) : sink_(sink) {}
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() {
    if (is_done_) {
      return;
    }
    transaction_.reset();
    sink_.block_->loaded.reset();
    if (is_committing_ && !file_.empty()) {
      sink_.doubtful_.push_back(std::move(file_));
    } else if (!file_.empty()) {
      ::unlink(file_.c_str());
    }
  }

  Status begin() {
    auto begun = sqlite::Transaction::begin(sink_.block_->catalogue.database());
    if (!begun) {
      return propagate(begun);
    }
    transaction_ = std::make_unique<sqlite::Transaction>(std::move(*begun));
    return {};
  }
  void set_file(std::string path) { file_ = std::move(path); }
  Status commit() {
    is_committing_ = true;
    if (Status committed = transaction_->commit(); !committed) {
      return committed;
    }
    is_done_ = true;
    sink_.remove_doubtful();
    return {};
  }

 private:
  LocalSpanSink& sink_;
  std::unique_ptr<sqlite::Transaction> transaction_;
  std::string file_;
  bool is_committing_ = false;
  bool is_done_ = false;
};

}  // namespace plimsoll::store
