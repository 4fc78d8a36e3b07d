#include "store/spans/span_compactor.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/durable_file.h"
#include "base/log.h"
#include "store/segments/segment_file.h"
#include "store/spans/span_merge.h"

namespace plimsoll::store {
namespace {

bool was_dropped(const BlockFolder& block) {
  std::error_code error;
  return !std::filesystem::exists(block.path, error) && !error;
}

}  // namespace

SpanCompactor::~SpanCompactor() {
  remove_due_by(Clock::time_point::max());
}

Result<SpanFilesMerged> SpanCompactor::merge_once(const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  remove_due_by(Clock::now());
  while (true) {
    auto planned = plan();
    if (!planned) {
      return propagate(planned, "merging spans");
    }
    if (planned->inputs.empty()) {
      return SpanFilesMerged();
    }
    const size_t damaged_before = damaged_.size();
    const Status merged = merge(*planned, stop);
    if (merged) {
      return SpanFilesMerged{.merged = planned->inputs.size(), .made = 1};
    }
    if (stop.stop_requested() || was_dropped(planned->block)) {
      return SpanFilesMerged();
    }
    // Without the files that turned out to be damaged.
    if (damaged_.size() == damaged_before) {
      return propagate(merged, "merging spans of {}", planned->block.path);
    }
  }
}

Result<SpanReplacement> SpanCompactor::plan() {
  const auto blocks = list_span_blocks(spans_path_);
  if (!blocks) {
    return propagate(blocks);
  }
  for (const BlockFolder& block : *blocks) {
    if (finished_.contains(block.number)) {
      continue;
    }
    auto inputs = next_inputs(block);
    if (!inputs && !is_damage(inputs.error())) {
      return propagate(inputs);
    }
    if (!inputs) {
      // Or it was dropped: answers name what is damaged, and so does `store check`.
      finished_.insert(block.number);
    } else if (!inputs->empty()) {
      return SpanReplacement{.block = block, .inputs = *std::move(inputs), .output = {}};
    }
  }
  return SpanReplacement();
}

Result<std::vector<SpanSegmentEntry>> SpanCompactor::next_inputs(const BlockFolder& block) {
  auto catalogue = SpanCatalogue::open(block.catalogue_path(), sqlite::OpenMode::kRead);
  // One state: a block that is sealed gets no more segments.
  const auto transaction =
      catalogue ? sqlite::Transaction::begin_read(catalogue->database()) : propagate(catalogue);
  const auto state = transaction ? catalogue->state() : propagate(transaction);
  auto visible = state ? catalogue->segments() : propagate(state);
  if (!visible) {
    return propagate(visible);
  }
  std::vector<SegmentEntry> candidates;
  for (const SpanSegmentEntry& segment : *visible) {
    if (!damaged_.contains(block.segments_path() + "/" + segment.file)) {
      candidates.push_back({.id = segment.id,
                            .file = segment.file,
                            .rows = segment.spans,
                            .bytes = segment.bytes,
                            .from_ns = segment.from_ns,
                            .to_ns = segment.to_ns});
    }
  }
  std::vector<SpanSegmentEntry> inputs;
  for (const SegmentEntry& chosen : next_merge(candidates, limits_)) {
    inputs.push_back(*std::ranges::find(*visible, chosen.id, &SpanSegmentEntry::id));
  }
  if (inputs.empty() && state->is_sealed) {
    finished_.insert(block.number);
  }
  return inputs;
}

Status SpanCompactor::merge(SpanReplacement& replacement, const std::stop_token& stop) {
  const auto inputs = open_inputs(replacement);
  if (!inputs) {
    return propagate(inputs);
  }
  if (const Status written = write_output(replacement, *inputs, stop); !written) {
    return written;
  }
  if (const Status replaced = replace_(replacement); !replaced) {
    // After a crash that commit may be done all the same, so that its file stays. Further tries would leave more of them.
    std::error_code error;
    if (std::filesystem::exists(replacement.path_of(replacement.output), error)) {
      finished_.insert(replacement.block.number);
    }
    return replaced;
  }
  const Clock::time_point now = Clock::now();
  for (const SpanSegmentEntry& input : replacement.inputs) {
    replaced_.push_back({replacement.path_of(input), now + limits_.keep_replaced});
  }
  remove_due_by(now);
  return {};
}

Result<std::vector<SpanSegment>> SpanCompactor::open_inputs(const SpanReplacement& replacement) {
  std::vector<SpanSegment> segments;
  for (const SpanSegmentEntry& input : replacement.inputs) {
    auto segment = SpanSegment::open(replacement.path_of(input));
    if (!segment) {
      note_damage(replacement, input, segment.error());
      return propagate(segment);
    }
    segments.push_back(std::move(*segment));
  }
  return segments;
}

Status SpanCompactor::write_output(SpanReplacement& replacement, std::span<const SpanSegment> inputs,
                                   const std::stop_token& stop) {
  auto catalogue = SpanCatalogue::open(replacement.block.catalogue_path(), sqlite::OpenMode::kRead);
  SpanDictionaries names;
  if (const Status read = catalogue ? catalogue->read_on(names) : propagate(catalogue); !read) {
    return read;
  }
  SpanMerge merge(inputs, names);
  const auto merged = merge.run(stop);
  if (!merged) {
    note_damage(replacement, replacement.inputs[merge.failed_input()], merged.error());
    return propagate(merged);
  }
  replacement.output = {.file = new_span_file_name(),
                        .spans = merged->spans,
                        .bytes = merged->content.size(),
                        .from_ns = merged->from_ns,
                        .to_ns = merged->to_ns};
  return write_file_durably(replacement.path_of(replacement.output), as_bytes(merged->content));
}

void SpanCompactor::note_damage(const SpanReplacement& replacement, const SpanSegmentEntry& segment,
                                const Error& error) {
  if (is_damage(error) && !was_dropped(replacement.block)) {
    log_error("{} is not merged: {}", segment.file, error.text());
    damaged_.insert(replacement.path_of(segment));
  }
}

void SpanCompactor::remove_due_by(Clock::time_point now) {
  for (; !replaced_.empty() && replaced_.front().due <= now; replaced_.pop_front()) {
    const std::string& path = replaced_.front().path;
    // Not visible any more: a file that stays costs room, until the next start.
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      log_warning("removing {}, which was merged: {}", path, std::generic_category().message(errno));
    }
  }
}

}  // namespace plimsoll::store
