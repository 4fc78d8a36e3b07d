#include "store/building/batch_builder.h"

#include <utility>

#include "base/process_memory.h"
#include "symbolizer/names/demangle.h"

namespace plimsoll::store {
namespace {

// Or a share of the memory, where that is less: rows are copied while they are sorted and packed.
constexpr size_t kMaxBatchRows = 4'000'000;
constexpr unsigned kBatchRowsShare = 64;
// Names and symbols of kernels come once for each build: a batch with more of them is of few profiles.
constexpr uint64_t kMaxHeldBytes = uint64_t{64} << 20;

// A function that an application calls by its linkage name is to be the one that symbols have: the same name, the same row.
Frame frame_of(const wire::NamedFrame& named) {
  const bool is_mangled = symbolizer::is_mangled(named.function());
  const bool is_as_linked = is_mangled || named.function() == named.linkage_name();
  const bool lacks_linkage_name = named.linkage_name().empty() && is_mangled;
  return {.function = is_as_linked ? symbolizer::display_name(named.function()) : named.function(),
          .file = named.file(),
          .line = named.line(),
          .linkage_name = lacks_linkage_name ? named.function() : named.linkage_name(),
          .column = named.column(),
          .is_inlined = named.inlined_into_next()};
}

uint64_t bytes_of(const Frame& frame) {
  return sizeof frame + frame.function.size() + frame.file.size() + frame.linkage_name.size();
}

}  // namespace

Result<Sink::Place> BatchBuilder::begin(bool is_profile_waiting) {
  clear();
  auto place = sink_.begin(is_profile_waiting);
  if (!place) {
    return place;
  }
  const bool is_same_epoch = dictionaries_ != nullptr && epoch_ == place->epoch;
  if (is_same_epoch && dictionaries_->mark() != place->entries && committed_ == place->entries) {
    dictionaries_->roll_back(committed_);
  }
  if (!is_same_epoch || dictionaries_->mark() != place->entries) {
    // Before the others are loaded: both together would take twice the memory.
    dictionaries_.reset();
    auto entries = sink_.dictionaries();
    if (!entries) {
      return propagate(entries);
    }
    dictionaries_ = std::make_unique<DictionaryBuilder>(std::move(*entries));
    if (dictionaries_->mark() != place->entries) {
      dictionaries_.reset();
      return fail(ErrorCode::kCorrupt, "the dictionaries have other sizes than their last entries say");
    }
  }
  max_rows_ = memory_share(kMaxBatchRows * sizeof(Row), kBatchRowsShare) / sizeof(Row);
  epoch_ = place->epoch;
  committed_ = place->entries;
  batch_.epoch = place->epoch;
  batch_.after = batch_.last = place->after;
  return place;
}

Status BatchBuilder::add(const wire::RawProfile& profile, int64_t sequence) {
  const DictionarySizes before = dictionaries_->mark();
  auto built = build_rows(profile, sequence, *dictionaries_);
  if (!built) {
    dictionaries_->roll_back(before);
    return propagate(built);
  }
  for (const NamedLocation& named : built->named) {
    bind(named);
  }
  keep_kernel_symbols(profile, built->binaries);
  for (size_t binary = before.binaries; binary < dictionaries_->mark().binaries; ++binary) {
    batch_.binary_machines.push_back({static_cast<uint32_t>(binary), profile.machine().id()});
  }
  batch_.rows.insert(batch_.rows.end(), built->rows.begin(), built->rows.end());
  batch_.profiles.push_back(std::move(built->record));
  batch_.last = sequence;
  return {};
}

void BatchBuilder::bind(const NamedLocation& named) {
  Binding binding{named.location, {}};
  for (const wire::NamedFrame& frame : named.frames) {
    binding.frames.push_back(frame_of(frame));
    held_bytes_ += bytes_of(binding.frames.back());
  }
  const auto [place, is_new] = bound_.try_emplace(named.location, batch_.bindings.size());
  if (is_new) {
    batch_.bindings.push_back(std::move(binding));
  } else {
    batch_.bindings[place->second] = std::move(binding);
  }
}

void BatchBuilder::keep_kernel_symbols(const wire::RawProfile& profile,
                                       const std::vector<uint32_t>& binaries) {
  for (const wire::KernelImage& image : profile.kernel_symbols().images()) {
    const uint32_t binary = binaries[image.binary()];
    if (with_symbols_.insert(binary).second) {
      batch_.kernel_symbols.push_back({binary, image.SerializeAsString()});
      held_bytes_ += batch_.kernel_symbols.back().content.size();
    }
  }
}

void BatchBuilder::set_aside(int64_t sequence, const std::string& reason) {
  batch_.set_aside.push_back({sequence, reason});
  batch_.last = sequence;
}

bool BatchBuilder::is_full() const {
  return batch_.rows.size() >= max_rows_ || held_bytes_ >= kMaxHeldBytes;
}

Batch BatchBuilder::take() {
  Batch taken = std::exchange(batch_, Batch());
  taken.entries = entries_since(committed_, dictionaries_->entries());
  clear();
  return taken;
}

void BatchBuilder::settle() {
  committed_ = dictionaries_->mark();
}

void BatchBuilder::give_up() {
  clear();
  if (dictionaries_ != nullptr) {
    dictionaries_->roll_back(committed_);
  }
}

void BatchBuilder::clear() {
  batch_ = Batch();
  bound_.clear();
  with_symbols_.clear();
  held_bytes_ = 0;
}

}  // namespace plimsoll::store
