#include "store/spans/local_span_sink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/durable_file.h"
#include "base/log.h"
#include "store/identity/directory_identity.h"
#include "store/identity/listed_database.h"
#include "store/spans/span_change.h"

namespace plimsoll::store {
namespace {

// IDs of a SpanSet's names as those of the block, each looked up once.
class NameTranslation {
 public:
  NameTranslation(const traces::NameTable& names, SpanText kind) : names_(names), kind_(kind) {
    ids_.resize(names.size());
  }

  uint32_t id_of(uint32_t name, SpanDictionaries& dictionaries, const SpanNameLimits& limits,
                 bool& is_other) {
    Entry& entry = ids_[name];
    if (!entry.is_known) {
      entry.id = dictionaries.text_id(kind_, names_.name(name), limits, entry.is_other);
      entry.is_known = true;
    }
    is_other = is_other || entry.is_other;
    return entry.id;
  }

 private:
  struct Entry {
    uint32_t id = 0;
    bool is_known = false;
    bool is_other = false;
  };

  const traces::NameTable& names_;
  SpanText kind_;
  std::vector<Entry> ids_;
};

// Sets of a SpanSet's attributes as those of the block, each looked up once.
class AttributeTranslation {
 public:
  explicit AttributeTranslation(const traces::AttributeTable& table) : table_(table) {}

  uint32_t id_of(uint32_t set, SpanDictionaries& dictionaries, const SpanNameLimits& limits, bool& is_other) {
    if (set == 0) {
      return 0;
    }
    const auto [place, is_new] = ids_.try_emplace(set);
    Entry& entry = place->second;
    if (is_new) {
      entry.id = new_id_of(set, dictionaries, limits, entry.is_other);
    }
    is_other = is_other || entry.is_other;
    return entry.id;
  }

 private:
  struct Entry {
    uint32_t id = 0;
    bool is_other = false;
  };

  uint32_t new_id_of(uint32_t set, SpanDictionaries& dictionaries, const SpanNameLimits& limits,
                     bool& is_other) {
    texts_.clear();
    table_.append_to(texts_, set);
    attributes_.clear();
    for (const traces::Attribute& text : texts_) {
      bool is_other_key = false;
      const uint32_t key = dictionaries.text_id(SpanText::kAttributeKey, text.key, limits, is_other_key);
      // Values of several keys under one would be mixed up.
      if (is_other_key || attributes_.size() == kMaxStoredAttributes) {
        is_other = true;
        continue;
      }
      attributes_.push_back(
          {key, dictionaries.text_id(SpanText::kAttributeValue, text.value, limits, is_other)});
    }
    std::ranges::sort(attributes_);
    return dictionaries.attributes_id(attributes_, limits, is_other);
  }

  const traces::AttributeTable& table_;
  std::unordered_map<uint32_t, Entry> ids_;
  std::vector<traces::Attribute> texts_;
  std::vector<SpanAttribute> attributes_;
};

}  // namespace

Result<std::unique_ptr<LocalSpanSink>> LocalSpanSink::open(std::string spans_path, std::string directory_id,
                                                           const SpanBlockLimits& limits,
                                                           std::function<int64_t()> now_ns) {
  if (const Status removed = remove_span_leftovers(spans_path); !removed) {
    return propagate(removed);
  }
  return std::unique_ptr<LocalSpanSink>(
      new LocalSpanSink(std::move(spans_path), std::move(directory_id), limits, std::move(now_ns)));
}

// A block that takes spans, and what is known of it.
Status LocalSpanSink::make_ready() {
  Status ready = block_ == nullptr ? open_newest() : Status();
  ready = ready ? load() : ready;
  if (ready && block_->loaded->state.is_sealed) {
    ready = begin_block(block_->folder.number + 1);
    ready = ready ? load() : ready;
  }
  return ready;
}

Status LocalSpanSink::open_newest() {
  const auto blocks = list_span_blocks(spans_path_);
  if (!blocks) {
    return propagate(blocks);
  }
  return blocks->empty() ? begin_block(1) : open_block(blocks->back());
}

Status LocalSpanSink::begin_block(int64_t number) {
  std::error_code error;
  std::filesystem::create_directory(spans_path_, error);
  if (error) {
    return fail_errno(error.value(), "creating {}", spans_path_);
  }
  const Status synced = number == 1 ? sync_folder(data_dir()) : Status();
  const auto made = synced ? make_span_block(spans_path_, number, directory_id_) : propagate(synced);
  return made ? open_block(*made) : propagate(made);
}

Result<SpanCatalogue> LocalSpanSink::open_catalogue_of(const BlockFolder& folder) {
  std::error_code error;
  // It would be made where it is missing, without the ID and the names that the block's segments refer to.
  if (!std::filesystem::exists(folder.catalogue_path(), error) && !error) {
    return fail(ErrorCode::kCorrupt, "{} is missing", folder.catalogue_path());
  }
  return SpanCatalogue::open(folder.catalogue_path(), sqlite::OpenMode::kReadWrite);
}

Status LocalSpanSink::open_block(const BlockFolder& folder) {
  auto catalogue = open_catalogue_of(folder);
  const auto id = catalogue ? directory_id_of(catalogue->database()) : propagate(catalogue);
  if (!id) {
    return propagate(id);
  }
  if (*id != directory_id_) {
    auto foreign =
        foreign_database(data_dir(), fmt::format("spans/{}/catalogue.db", folder.name()), *id, directory_id_);
    // No damage, which pass_over() would leave behind.
    foreign.error().code = ErrorCode::kConflict;
    return foreign;
  }
  // Those of another block stay until the directory is opened: this one's catalogue does not know them.
  doubtful_.clear();
  block_ = std::make_unique<Opened>(Opened{folder, std::move(*catalogue), nullptr});
  return {};
}

Status LocalSpanSink::load() {
  if (block_->loaded != nullptr) {
    return {};
  }
  SpanCatalogue& catalogue = block_->catalogue;
  auto loaded = std::make_unique<Loaded>();
  const auto state = catalogue.state();
  const auto recent = catalogue.count_recent();
  const Status read = catalogue.read_on(loaded->dictionaries);
  if (!state || !recent || !read) {
    return !state ? propagate(state) : !recent ? propagate(recent) : read;
  }
  loaded->state = *state;
  loaded->recent = *recent;
  loaded->committed = loaded->dictionaries.sizes();
  block_->loaded = std::move(loaded);
  return {};
}

Result<SpansKept> LocalSpanSink::add_all(std::span<const SpanBatch> batches) {
  bool is_empty = true;
  for (const SpanBatch& batch : batches) {
    // Refused before it is in a group with others, which it would fail.
    if (!(batch.weight > 0) || !std::isfinite(batch.weight)) {
      return fail(ErrorCode::kInvalid, "spans with a weight of {}", batch.weight);
    }
    is_empty = is_empty && batch.spans->spans().empty();
  }
  if (is_empty) {
    return SpansKept();
  }
  bool has_stored = false;
  const auto kept = queue_.add(batches, [&](std::span<const SpanBatch> group) {
    auto stored = store_group(group);
    has_stored = stored.has_value();
    return stored;
  });
  if (!kept) {
    return propagate(kept, "storing spans");
  }
  // By one thread of the group, once the others have their answers.
  if (has_stored) {
    settle_added();
  }
  return kept;
}

Result<std::vector<SpansKept>> LocalSpanSink::store_group(std::span<const SpanBatch> group) {
  const std::lock_guard lock(mutex_);
  auto kept = add_to_newest(group);
  if (!kept && kept.error().code == ErrorCode::kCorrupt) {
    const Status passed = pass_over(kept.error());
    kept = passed ? add_to_newest(group) : propagate(passed);
  }
  const bool has_other_names =
      kept && std::ranges::any_of(*kept, [](const SpansKept& one) { return one.with_other_names > 0; });
  if (has_other_names && !block_->has_told_of_other_names) {
    log_warning("{} has too many names of a kind: some are stored as \"[other]\" until the next block begins",
                block_->folder.path);
    block_->has_told_of_other_names = true;
  }
  return kept;
}

// The spans are safe: what fails here is tried again with the next ones.
void LocalSpanSink::settle_added() {
  const std::lock_guard lock(mutex_);
  // Others may have come between, and have failed.
  Status settled = block_ == nullptr ? Status() : load();
  if (block_ == nullptr || (settled && block_->loaded->state.is_sealed)) {
    return;
  }
  settled = settled && is_flush_due() ? flush(/*is_last=*/false) : settled;
  settled = settled ? seal_if_full() : settled;
  if (!settled && settled.error().code == ErrorCode::kCorrupt) {
    settled = pass_over(settled.error());
  }
  if (!settled) {
    log_warning("{}; spans stay in the catalogue of their block for now", settled.error().text());
  }
}

Result<LocalSpanSink::KeptOfEach> LocalSpanSink::add_to_newest(std::span<const SpanBatch> group) {
  Status ready = make_ready();
  if (ready && is_old()) {
    ready = flush(/*is_last=*/true);
    ready = ready ? make_ready() : ready;
  }
  return ready ? add_to_block(group) : propagate(ready);
}

// Begins the next block where the newest is damaged: that one stays as it is, answers say what it costs, and it is dropped with the next.
Status LocalSpanSink::pass_over(const Error& damage) {
  const auto blocks = list_span_blocks(spans_path_);
  if (!blocks) {
    return propagate(blocks);
  }
  log_error("{}; what comes from now on goes to a new block", damage.text());
  block_.reset();
  return begin_block(blocks->empty() ? 1 : blocks->back().number + 1);
}

SpansKept LocalSpanSink::add_records(const SpanBatch& batch, std::vector<SpanRecord>& records) {
  const traces::SpanSet& spans = *batch.spans;
  SpansKept kept;
  SpanDictionaries& dictionaries = block_->loaded->dictionaries;
  const SpanNameLimits& limits = limits_.names;
  const traces::Names& names = spans.names();
  NameTranslation services(names.services, SpanText::kService);
  NameTranslation operations(names.operations, SpanText::kOperation);
  NameTranslation replicas(names.replicas, SpanText::kReplica);
  NameTranslation machines(names.machines, SpanText::kMachine);
  NameTranslation versions(names.versions, SpanText::kVersion);
  AttributeTranslation attributes(spans.attributes());
  for (const traces::Span& span : spans.spans()) {
    bool is_other = false;
    const SpanMethod method{
        services.id_of(span.service, dictionaries, limits, is_other),
        operations.id_of(span.operation, dictionaries, limits, is_other),
        span.kind > traces::SpanKind::kConsumer ? traces::SpanKind::kUnspecified : span.kind};
    const SpanProcess process{replicas.id_of(span.replica, dictionaries, limits, is_other),
                              machines.id_of(span.machine, dictionaries, limits, is_other),
                              versions.id_of(span.version, dictionaries, limits, is_other), batch.weight};
    records.push_back(
        {.trace = span.trace,
         .id = span.id,
         .parent = span.parent,
         .start_ns = span.start_ns,
         .end_ns = span.end_ns,
         .method = dictionaries.method_id(method, limits, is_other),
         .process = dictionaries.process_id(process, limits, is_other),
         .attributes = attributes.id_of(span.attributes, dictionaries, limits, is_other),
         .status = span.status > traces::SpanStatus::kError ? traces::SpanStatus::kUnset : span.status,
         .is_shared = span.is_shared});
    ++kept.spans;
    kept.with_other_names += is_other ? 1 : 0;
  }
  return kept;
}

Result<LocalSpanSink::KeptOfEach> LocalSpanSink::add_to_block(std::span<const SpanBatch> group) {
  Change change(*this);
  Status written = change.begin();
  if (!written) {
    return propagate(written);
  }
  Loaded& loaded = *block_->loaded;
  SpanCatalogue& catalogue = block_->catalogue;
  const int64_t now_ns = now_ns_();
  size_t spans = 0;
  for (const SpanBatch& batch : group) {
    spans += batch.spans->spans().size();
  }
  KeptOfEach kept;
  std::vector<SpanRecord> records;
  records.reserve(spans);
  for (const SpanBatch& batch : group) {
    kept.push_back(add_records(batch, records));
  }
  SpanBlockState state = loaded.state;
  widen(state, records);
  state.first_written_ns = state.first_written_ns == 0 ? now_ns : state.first_written_ns;
  state.last_written_ns = std::max(state.last_written_ns, now_ns);
  const bool is_large = records.size() >= limits_.max_recent;
  written = catalogue.write_entries(loaded.dictionaries, loaded.committed);
  written = written ? catalogue.write_state(state) : written;
  if (written) {
    written = is_large ? write_segment(records, change) : catalogue.add_recent(records, now_ns);
  }
  written = written ? change.commit() : written;
  if (!written) {
    return propagate(written);
  }
  loaded.state = state;
  loaded.committed = loaded.dictionaries.sizes();
  if (!is_large) {
    loaded.recent.first_written_ns = loaded.recent.spans == 0 ? now_ns : loaded.recent.first_written_ns;
    loaded.recent.spans += records.size();
  }
  return kept;
}

void LocalSpanSink::remove_doubtful() {
  for (const std::string& path : doubtful_) {
    // The commit may be done all the same.
    const auto is_visible = block_->catalogue.shows(path.substr(path.rfind('/') + 1));
    if (is_visible && !*is_visible) {
      ::unlink(path.c_str());
    }
  }
  doubtful_.clear();
}

// The oldest first. Never the newest of all.
Result<std::vector<BlockFolder>> LocalSpanSink::due(int64_t before_ns, uint64_t max_bytes) {
  auto blocks = list_span_blocks(spans_path_);
  if (!blocks || blocks->empty()) {
    return blocks;
  }
  blocks->pop_back();
  uint64_t bytes = block_ == nullptr ? 0 : block_->catalogue.bytes().value_or(0);
  size_t kept_from = blocks->size();
  for (; kept_from > 0; --kept_from) {
    const BlockFolder& block = (*blocks)[kept_from - 1];
    auto catalogue = SpanCatalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
    const auto state = catalogue ? catalogue->state() : propagate(catalogue);
    const auto own_bytes = catalogue ? catalogue->bytes() : propagate(catalogue);
    // A damaged block goes with the one behind it.
    if (!state || !own_bytes) {
      continue;
    }
    bytes += *own_bytes;
    if (state->last_written_ns < before_ns || bytes > max_bytes) {
      break;
    }
  }
  blocks->resize(kept_from);
  return blocks;
}

Result<uint64_t> LocalSpanSink::drop_due(int64_t before_ns, uint64_t max_bytes) {
  const auto blocks = due(before_ns, max_bytes);
  if (!blocks) {
    return propagate(blocks);
  }
  uint64_t dropped = 0;
  for (const BlockFolder& block : *blocks) {
    if (const Status gone = drop_block(spans_path_, block); !gone) {
      return propagate(gone);
    }
    ++dropped;
  }
  return dropped;
}

Result<uint64_t> LocalSpanSink::drop_old(int64_t before_ns, uint64_t max_bytes) {
  Status ready = settle();
  const std::lock_guard lock(mutex_);
  // Whatever has failed before: on a disk that is full nothing else gives room back.
  auto dropped = drop_due(before_ns, max_bytes);
  if (!dropped || !ready || block_ == nullptr) {
    return dropped && !ready ? propagate(ready) : std::move(dropped);
  }
  ready = load();
  const bool is_over = ready && block_->loaded->state.last_written_ns != 0 &&
                       block_->loaded->state.last_written_ns < before_ns;
  if (!is_over) {
    return ready ? std::move(dropped) : propagate(ready);
  }
  // Where nothing comes any more, the last spans go too, and an empty block stays.
  ready = block_->loaded->state.is_sealed ? Status() : flush(/*is_last=*/true);
  ready = ready ? make_ready() : ready;
  const auto last = ready ? drop_due(before_ns, max_bytes) : propagate(ready);
  return last ? Result<uint64_t>(*dropped + *last) : propagate(last);
}

Result<bool> LocalSpanSink::drop_oldest() {
  const std::lock_guard lock(mutex_);
  const auto blocks = list_span_blocks(spans_path_);
  if (!blocks || blocks->size() <= 1) {
    return blocks ? Result<bool>(false) : propagate(blocks);
  }
  const Status dropped = drop_block(spans_path_, blocks->front());
  return dropped ? Result<bool>(true) : propagate(dropped);
}

}  // namespace plimsoll::store
