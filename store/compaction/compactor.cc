#include "store/compaction/compactor.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <system_error>

#include "base/durable_file.h"
#include "base/log.h"
#include "store/blocks/block_damage.h"
#include "store/catalogue/block_table.h"
#include "store/segments/segment.h"
#include "store/segments/segment_merge.h"

namespace plimsoll::store {
namespace {

constexpr std::string_view kSuffix = ".rows";

// Of "000000000012.rows" "000000000012.1.rows", and of that "000000000012.2.rows".
std::string next_generation_of(std::string_view file) {
  if (file.ends_with(kSuffix)) {
    file.remove_suffix(kSuffix.size());
  }
  uint64_t generation = 0;
  const size_t dot = file.rfind('.');
  if (dot != std::string_view::npos) {
    const std::string_view digits = file.substr(dot + 1);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), generation);
    if (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size()) {
      file = file.substr(0, dot);
    }
  }
  return fmt::format("{}.{}{}", file, generation + 1, kSuffix);
}

// A name is taken from one input, whose own name goes with it: so none is ever used twice, and a reader with an old list
// finds the file that it means, or none.
std::string name_for(const std::vector<SegmentEntry>& inputs) {
  return next_generation_of(std::ranges::max(inputs, {}, &SegmentEntry::file).file);
}

Result<std::shared_ptr<const Segment>> open_segment(const std::string& path, uint64_t rows_expected) {
  auto segment = Segment::open(path);
  if (!segment) {
    return propagate(segment);
  }
  if (segment->rows() > rows_expected) {
    return fail(ErrorCode::kCorrupt, "segment {} has {} rows, more than the {} in the catalogue", path,
                segment->rows(), rows_expected);
  }
  return std::make_shared<const Segment>(std::move(*segment));
}

}  // namespace

CompactionReport& CompactionReport::operator+=(const CompactionReport& other) {
  merged += other.merged;
  made += other.made;
  rows_before += other.rows_before;
  rows += other.rows;
  bytes_before += other.bytes_before;
  bytes += other.bytes;
  damaged.insert(damaged.end(), other.damaged.begin(), other.damaged.end());
  return *this;
}

Result<std::unique_ptr<Compactor>> Compactor::open(Ingest& ingest, const CompactionLimits& limits) {
  return std::unique_ptr<Compactor>(new Compactor(ingest, limits));
}

Compactor::~Compactor() {
  remove_due_by(Clock::time_point::max());
}

Result<Compactor::Block*> Compactor::open_block(const BlockFolder& folder) {
  std::unique_ptr<Block>& block = blocks_[folder.number];
  if (block == nullptr) {
    auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
    if (!catalogue) {
      return propagate(catalogue);
    }
    block = std::make_unique<Block>(folder, std::move(*catalogue));
  }
  return block.get();
}

Result<Compactor::Plan> Compactor::plan() {
  const auto folders = ingest_.blocks();
  if (!folders) {
    return propagate(folders);
  }
  std::erase_if(blocks_, [&](const auto& block) {
    return block.second == nullptr || std::ranges::find(*folders, block.second->folder) == folders->end();
  });
  finished_.erase(finished_.begin(), finished_.lower_bound({folders->front().number, 0}));
  for (const BlockFolder& folder : *folders) {
    const Key key(folder.number, folder.generation);
    if (finished_.contains(key)) {
      continue;
    }
    const auto block = open_block(folder);
    const bool is_sealed_for_good = folder.number < folders->back().number;
    if (!block && is_sealed_for_good && is_damage(block.error())) {
      log_error("nothing of block {} is merged: {}", folder.number, block.error().text());
      finished_.insert(key);
      blocks_.erase(folder.number);
      continue;
    }
    if (!block) {
      return propagate(block);
    }
    // Before the segments: no more come to a block that is sealed by now.
    const auto state = read_block_state((*block)->catalogue.database());
    auto segments = state ? visible_segments((*block)->catalogue.database()) : propagate(state);
    if (!segments && is_sealed_for_good &&
        (segments.error().code == ErrorCode::kCorrupt || is_unreadable(folder))) {
      log_error("nothing of block {} is merged: {}", folder.number, segments.error().text());
      finished_.insert(key);
      blocks_.erase(folder.number);
      continue;
    }
    if (!segments) {
      return propagate(segments);
    }
    std::erase_if(*segments,
                  [&](const SegmentEntry& segment) { return (*block)->damaged.contains(segment.id); });
    auto inputs = next_merge(*segments, limits_);
    if (!inputs.empty()) {
      return Plan{*block, std::move(inputs)};
    }
    if (state->is_sealed) {
      finished_.insert(key);
      blocks_.erase(folder.number);
    }
  }
  return Plan();
}

Result<std::vector<SegmentEntry>> Compactor::pending() {
  const std::lock_guard lock(mutex_);
  auto planned = plan();
  return planned ? Result<std::vector<SegmentEntry>>(std::move(planned->inputs)) : propagate(planned);
}

Result<uint64_t> Compactor::count_segments() const {
  const auto folders = ingest_.blocks();
  if (!folders) {
    return propagate(folders);
  }
  uint64_t count = 0;
  for (const BlockFolder& folder : *folders) {
    auto catalogue = Catalogue::open(folder.catalogue_path(), sqlite::OpenMode::kRead);
    const auto segments = catalogue ? visible_segments(catalogue->database()) : propagate(catalogue);
    if (!segments) {
      return propagate(segments);
    }
    count += segments->size();
  }
  return count;
}

Result<CompactionReport> Compactor::merge_once(const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  return merge_once_locked(stop);
}

Result<CompactionReport> Compactor::merge_once_locked(const std::stop_token& stop) {
  const auto planned = plan();
  if (!planned) {
    return propagate(planned);
  }
  if (planned->inputs.empty()) {
    return CompactionReport();
  }
  auto report = merge(*planned->block, planned->inputs, stop);
  // Dropped while it was being merged: there may be more to do in others.
  return report || !ingest_.is_dropped(planned->block->folder) ? report : merge_once_locked(stop);
}

Result<CompactionReport> Compactor::merge_all(const std::stop_token& stop) {
  CompactionReport all;
  while (!stop.stop_requested()) {
    const auto report = merge_once(stop);
    if (!report) {
      return report;
    }
    if (report->merged == 0 && report->damaged.empty()) {
      break;
    }
    all += *report;
  }
  return all;
}

Result<CompactionReport> Compactor::merge(Block& block, const std::vector<SegmentEntry>& inputs,
                                          const std::stop_token& stop) {
  CompactionReport report;
  std::vector<std::shared_ptr<const Segment>> segments;
  for (const SegmentEntry& input : inputs) {
    auto segment = open_segment(block.path_of(input), input.rows);
    if (segment) {
      segments.push_back(std::move(*segment));
    } else if (is_damage(segment.error()) && !ingest_.is_dropped(block.folder)) {
      leave(block, input, segment.error(), report);
    } else {
      return propagate(segment, "merging segments");
    }
  }
  if (!report.damaged.empty()) {
    return report;
  }
  if (auto added = block.order.add_workloads_of(block.catalogue.database()); !added) {
    return propagate(added, "merging segments");
  }
  SegmentMerge merge(segments, block.order);
  const auto merged = merge.run(stop);
  if (!merged && !is_damage(merged.error())) {
    return propagate(merged, "merging segments");
  }
  if (!merged) {
    leave(block, inputs[merge.failed_input()], merged.error(), report);
  }
  if (!merged || stop.stop_requested()) {
    return report;
  }
  SegmentEntry output{.file = name_for(inputs), .rows = merged->rows};
  output.from_ns = std::ranges::min(inputs, {}, &SegmentEntry::from_ns).from_ns;
  output.to_ns = std::ranges::max(inputs, {}, &SegmentEntry::to_ns).to_ns;
  output.bytes = merged->content.size();
  if (auto written = write_file_durably(block.path_of(output), as_bytes(merged->content)); !written) {
    return propagate(written);
  }
  if (auto swapped = swap(block, inputs, output); !swapped) {
    return propagate(swapped, "merging {} segments into {}", inputs.size(), output.file);
  }
  report.merged = inputs.size();
  report.made = 1;
  report.rows = output.rows;
  report.bytes = output.bytes;
  for (const SegmentEntry& input : inputs) {
    report.rows_before += input.rows;
    report.bytes_before += input.bytes;
  }
  return report;
}

void Compactor::leave(Block& block, const SegmentEntry& damaged, const Error& error,
                      CompactionReport& report) {
  log_error("{} is not merged: {}", damaged.file, error.text());
  report.damaged.push_back(error.text());
  block.damaged.insert(damaged.id);
}

Status Compactor::swap(const Block& block, const std::vector<SegmentEntry>& inputs,
                       const SegmentEntry& output) {
  const Status swapped = ingest_.write_catalogue(
      block.folder, [&](sqlite::Database& catalogue) { return replace_segments(catalogue, inputs, output); });
  if (!swapped) {
    ::unlink(block.path_of(output).c_str());
    return swapped;
  }
  const Clock::time_point now = Clock::now();
  for (const SegmentEntry& input : inputs) {
    replaced_.push_back({block.path_of(input), now + limits_.keep_replaced});
  }
  remove_due_by(now);
  return {};
}

std::optional<Compactor::Clock::time_point> Compactor::remove_due() {
  const std::lock_guard lock(mutex_);
  remove_due_by(Clock::now());
  return replaced_.empty() ? std::nullopt : std::optional(replaced_.front().due);
}

void Compactor::remove_due_by(Clock::time_point now) {
  for (; !replaced_.empty() && replaced_.front().due <= now; replaced_.pop_front()) {
    const std::string& path = replaced_.front().path;
    // Not visible any more: a file that stays costs room, until the next start.
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      log_warning("removing {}, which was merged: {}", path, std::generic_category().message(errno));
    }
  }
}

}  // namespace plimsoll::store
