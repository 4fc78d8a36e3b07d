#include "store/clickhouse/batches.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "base/random.h"
#include "store/clickhouse/schema.h"

namespace plimsoll::store::clickhouse {
namespace {

// In the order of the columns.
constexpr std::array kSizes{
    &DictionarySizes::machines,  &DictionarySizes::events,    &DictionarySizes::origins,
    &DictionarySizes::workloads, &DictionarySizes::threads,   &DictionarySizes::label_sets,
    &DictionarySizes::binaries,  &DictionarySizes::locations, &DictionarySizes::stacks};

// Of an answer, which has a limit: of a busy fleet a day has some 29,000 marks of 125 bytes.
constexpr size_t kMarksPerStatement = 250'000;

BatchMark read_mark(ByteReader& reader) {
  BatchMark mark;
  mark.epoch = reader.read<uint32_t>();
  mark.batch = reader.read<uint64_t>();
  mark.place = reader.read<uint64_t>();
  mark.follows = reader.read<uint64_t>();
  mark.after_sequence = reader.read<int64_t>();
  mark.last_sequence = reader.read<int64_t>();
  mark.written_ns = reader.read<int64_t>();
  for (const auto size : kSizes) {
    mark.entries.*size = reader.read<uint64_t>();
  }
  mark.is_complete = reader.read<uint8_t>() != 0;
  mark.shards = std::max(1U, reader.read<uint32_t>());
  return mark;
}

// IDs have 32 bits, and 0 is in each dictionary. Tables are allocated for as many.
bool has_possible_sizes(const BatchMark& mark) {
  return std::ranges::all_of(kSizes, [&](const auto size) {
    const size_t entries = mark.entries.*size;
    return entries >= 1 && entries <= UINT32_MAX;
  });
}

// The newest mark and those that it follows, the newest first: up to the one that follows batch `known`, or, where that is 0, to the first one
// whose epoch has none before it.
Result<std::vector<const BatchMark*>> chain_of(const std::vector<BatchMark>& marks, uint64_t known) {
  std::vector<const BatchMark*> by_batch;
  by_batch.reserve(marks.size());
  for (const BatchMark& one : marks) {
    by_batch.push_back(&one);
  }
  std::ranges::sort(by_batch, {}, &BatchMark::batch);
  const BatchMark* mark = by_batch.empty() ? nullptr : by_batch.back();
  std::vector<const BatchMark*> chain;
  while (mark != nullptr) {
    if (!has_possible_sizes(*mark)) {
      return fail(ErrorCode::kCorrupt, "the table batches has impossible numbers of entries in batch {}",
                  mark->batch);
    }
    chain.push_back(mark);
    if (known != 0 && mark->follows == known) {
      return chain;
    }
    const auto before = std::ranges::lower_bound(by_batch, mark->follows, {}, &BatchMark::batch);
    const bool is_there = before != by_batch.end() && (*before)->batch == mark->follows;
    // Numbers ascend, so that this ends whatever is in the table.
    if (is_there ? mark->follows >= mark->batch : known != 0 || mark->place != 0) {
      return fail(ErrorCode::kCorrupt, "the table batches lacks batch {}, which batch {} of epoch {} follows",
                  mark->follows, mark->batch, mark->epoch);
    }
    mark = is_there ? *before : nullptr;
  }
  return chain;
}

void add_to_epochs(const std::vector<const BatchMark*>& chain, std::map<uint32_t, EpochBatches>& epochs) {
  for (const BatchMark* one : chain | std::views::reverse) {
    const auto [place, is_first] = epochs.try_emplace(one->epoch);
    EpochBatches& epoch = place->second;
    if (is_first) {
      epoch.epoch = one->epoch;
      epoch.first_written_ns = one->written_ns;
    }
    epoch.newest = *one;
    epoch.add(one->batch);
  }
}

}  // namespace

bool EpochBatches::has(uint64_t batch) const {
  return std::ranges::any_of(
      ranges, [&](const auto& range) { return range.first <= batch && batch <= range.second; });
}

void EpochBatches::add(uint64_t batch) {
  if (!ranges.empty() && ranges.back().second + 1 == batch) {
    ranges.back().second = batch;
  } else {
    ranges.emplace_back(batch, batch);
  }
}

std::string EpochBatches::condition() const {
  std::string batches;
  for (const auto& [from, to] : ranges) {
    batches += fmt::format("{}batch BETWEEN {} AND {}", batches.empty() ? "" : " OR ", from, to);
  }
  return fmt::format("epoch = {} AND ({})", epoch, batches.empty() ? "0" : batches);
}

Result<std::map<uint32_t, EpochBatches>> committed_among(const std::vector<BatchMark>& marks) {
  const auto chain = chain_of(marks, 0);
  if (!chain) {
    return propagate(chain);
  }
  std::map<uint32_t, EpochBatches> epochs;
  add_to_epochs(*chain, epochs);
  return epochs;
}

Result<std::vector<BatchMark>> read_marks(Queryable& server, uint64_t after) {
  std::vector<BatchMark> marks;
  while (true) {
    const size_t before = marks.size();
    const auto answer = server.query(fmt::format(
        "SELECT {} FROM batches WHERE batch > {} ORDER BY batch LIMIT {} FORMAT RowBinary",
        table_called("batches").columns(), before == 0 ? after : marks.back().batch, kMarksPerStatement));
    if (!answer) {
      return propagate(answer);
    }
    const Status read = for_each_row(*answer, "the table batches", [&](ByteReader& reader) -> Status {
      marks.push_back(read_mark(reader));
      return {};
    });
    if (!read) {
      return propagate(read);
    }
    if (marks.size() - before < kMarksPerStatement) {
      return marks;
    }
  }
}

void write_mark(const BatchMark& mark, RowBinaryWriter& writer) {
  writer.number(mark.epoch)
      .number(mark.batch)
      .number(mark.place)
      .number(mark.follows)
      .number(mark.after_sequence)
      .number(mark.last_sequence)
      .number(mark.written_ns);
  for (const auto size : kSizes) {
    writer.number(uint64_t{mark.entries.*size});
  }
  writer.number(static_cast<uint8_t>(mark.is_complete)).number(mark.shards);
}

Result<uint32_t> newest_session(Queryable& server) {
  const auto answer = server.query("SELECT max(session) FROM sessions FORMAT RowBinary");
  if (!answer) {
    return propagate(answer);
  }
  ByteReader reader(as_bytes(*answer));
  const auto session = reader.read<uint32_t>();
  return reader.ok() ? Result<uint32_t>(session)
                     : fail(ErrorCode::kCorrupt, "reading the table sessions: the answer is empty");
}

// Nothing is written under the number before it is known to be stored. So one of which the answer was lost is no other's either. Of two processes
// that store the same number at the same moment, the one that looks last sees both, and takes another.
Result<uint32_t> begin_session(Connection& connection, uint32_t known) {
  constexpr int kMaxSessionAttempts = 3;
  const OneHost one_host(connection);
  for (int attempt = 0; attempt < kMaxSessionAttempts; ++attempt) {
    const auto newest = newest_session(connection);
    if (!newest) {
      return propagate(newest);
    }
    const uint32_t session = std::max(*newest, known) + 1;
    const Status written = connection.insert("sessions", table_called("sessions").columns(),
                                             RowBinaryWriter().number(session).number(random_seed()).bytes());
    const auto with_number =
        written ? connection.query(fmt::format(
                      "SELECT count() FROM sessions WHERE session = {} FORMAT RowBinary", session))
                : propagate(written, "beginning a session");
    if (!with_number) {
      return propagate(with_number);
    }
    ByteReader reader(as_bytes(*with_number));
    if (reader.read<uint64_t>() == 1) {
      return session;
    }
  }
  return with_hint(
      fail(ErrorCode::kConflict, "another server begins to write to the database {} at the same moment",
           connection.options().database),
      "run one server that writes, and restart it");
}

Result<std::shared_ptr<const CommittedBatches::Epochs>> CommittedBatches::newest(Queryable& server) {
  const std::lock_guard lock(mutex_);
  const auto answer = server.query("SELECT min(epoch), max(batch) FROM batches FORMAT RowBinary");
  if (!answer) {
    return propagate(answer);
  }
  ByteReader reader(as_bytes(*answer));
  const auto oldest_epoch = reader.read<uint32_t>();
  const auto newest_batch = reader.read<uint64_t>();  // 0: there is none
  if (!reader.ok()) {
    return fail(ErrorCode::kCorrupt, "reading the table batches: the answer is empty");
  }
  const bool is_same = epochs_->empty() ? newest_batch == 0
                                        : epochs_->begin()->first == oldest_epoch &&
                                              epochs_->rbegin()->second.newest.batch == newest_batch;
  if (!is_same) {
    auto epochs = follow(server, oldest_epoch, newest_batch);
    if (!epochs) {
      return propagate(epochs);
    }
    epochs_ = std::make_shared<const Epochs>(std::move(*epochs));
  }
  return epochs_;
}

Result<CommittedBatches::Epochs> CommittedBatches::follow(Queryable& server, uint32_t oldest_epoch,
                                                          uint64_t newest_batch) const {
  const uint64_t known = epochs_->empty() ? 0 : epochs_->rbegin()->second.newest.batch;
  // A smaller number: the tables were dropped and created again.
  if (known != 0 && newest_batch >= known) {
    const auto marks = newest_batch == known ? Result<std::vector<BatchMark>>(std::vector<BatchMark>())
                                             : read_marks(server, known);
    if (!marks) {
      return propagate(marks);
    }
    // What was read as the newest batch may have been given up: then the newest one follows another, and all are read again.
    if (const auto chain = chain_of(*marks, known)) {
      Epochs epochs = *epochs_;
      add_to_epochs(*chain, epochs);
      epochs.erase(epochs.begin(), epochs.lower_bound(oldest_epoch));
      return epochs;
    }
  }
  const auto marks = read_marks(server);
  return marks ? committed_among(*marks) : propagate(marks);
}

Status WriterSession::expect_newest(Queryable& server, std::string_view database) const {
  const auto newest = newest_session(server);
  if (!newest) {
    return propagate(newest);
  }
  return *newest == number_
             ? Status()
             : with_hint(fail(ErrorCode::kConflict, "another server writes to the database {}", database),
                         "run one server that writes, and restart it");
}

}  // namespace plimsoll::store::clickhouse
