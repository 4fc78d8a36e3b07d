#include "formats/pprof_writer.h"

#include <algorithm>
#include <utility>

namespace plimsoll::formats {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kLowBits = uint64_t{1} << 32;
// Readers take addresses for signed numbers in places.
constexpr uint64_t kHighestAddress = INT64_MAX;
// Locations of samples, or lines of locations, that are compressed together: half a MiB of them.
constexpr size_t kPartSize = size_t{64} << 10;

}  // namespace

int64_t PprofWriter::text(std::string_view text) {
  if (profile_.string_table().empty()) {
    profile_.add_string_table("");
    texts_.emplace("", 0);
  }
  const auto [entry, is_new] = texts_.try_emplace(std::string(text), profile_.string_table_size());
  if (is_new) {
    profile_.add_string_table(std::string(text));
  }
  return entry->second;
}

void PprofWriter::add_sample_type(std::string_view type, std::string_view unit) {
  pprof::ValueType& value_type = *profile_.add_sample_type();
  value_type.set_type(text(type));
  value_type.set_unit(text(unit));
}

uint64_t PprofWriter::add_mapping(const PprofMapping& mapping) {
  pprof::Mapping& added = *profile_.add_mapping();
  added.set_id(static_cast<uint64_t>(profile_.mapping_size()));
  added.set_filename(text(mapping.filename));
  added.set_build_id(text(mapping.build_id));
  extents_.emplace_back();
  return added.id();
}

uint64_t PprofWriter::function(const PprofLine& line) {
  const auto [entry, is_new] =
      functions_.try_emplace(line.function + '\0' + line.file + '\0' + line.linkage_name,
                             static_cast<uint64_t>(profile_.function_size()) + 1);
  if (is_new) {
    pprof::Function& function = *profile_.add_function();
    function.set_id(entry->second);
    function.set_name(text(line.function));
    function.set_filename(text(line.file));
    if (line.linkage_name != line.function) {
      function.set_system_name(text(line.linkage_name));
    }
  }
  return entry->second;
}

uint64_t PprofWriter::add_location(uint64_t mapping, uint64_t address, std::span<const PprofLine> lines) {
  locations_.push_back({mapping, address, lines_.size()});
  for (const PprofLine& line : lines) {
    lines_.push_back({function(line), line.line});
  }
  if (mapping != 0) {
    note_location(extents_[mapping - 1], address, lines);
  }
  return locations_.size();
}

void PprofWriter::note_location(Extent& extent, uint64_t address, std::span<const PprofLine> lines) {
  extent.first = std::min(extent.first, address);
  extent.last = std::max(extent.last, address);
  const auto all = [&](auto has) { return !lines.empty() && std::ranges::all_of(lines, has); };
  extent.has_functions &= !lines.empty();
  extent.has_files &= all([](const PprofLine& line) { return !line.file.empty(); });
  extent.has_lines &= all([](const PprofLine& line) { return line.line != 0; });
}

Status PprofWriter::add_sample(std::span<const uint64_t> locations, std::span<const int64_t> values,
                               std::span<const std::pair<std::string_view, std::string_view>> labels) {
  pprof::Sample& sample = *part_.add_sample();
  sample.mutable_location_id()->Add(locations.begin(), locations.end());
  sample.mutable_value()->Add(values.begin(), values.end());
  for (const auto& [key, value] : labels) {
    pprof::Label& label = *sample.add_label();
    label.set_key(text(key));
    label.set_str(text(value));
  }
  part_size_ += 1 + locations.size();
  return part_size_ < kPartSize ? Status() : write_part();
}

// Messages one behind the other are one message, whose repeated fields are those of all.
Status PprofWriter::write(const pprof::Profile& part) {
  const uint64_t bytes = compressed_.content_bytes() + part.ByteSizeLong();
  if (bytes > max_bytes_) {
    return with_hint(fail(ErrorCode::kTooLarge, "the pprof profile has over {} bytes", max_bytes_),
                     "select less: with a filter (where), or a shorter time (since, until)");
  }
  encoded_.clear();
  part.AppendToString(&encoded_);
  return compressed_.append(as_bytes(encoded_));
}

// The messages within it are kept for those of the next.
Status PprofWriter::write_part() {
  auto written = write(part_);
  part_.Clear();
  part_size_ = 0;
  return written;
}

void PprofWriter::add_comment(std::string_view comment) {
  profile_.add_comment(text(comment));
}

void PprofWriter::set_time(int64_t time_ns, int64_t duration_ns) {
  profile_.set_time_nanos(time_ns);
  profile_.set_duration_nanos(duration_ns);
}

void PprofWriter::set_period(std::string_view type, std::string_view unit, int64_t period) {
  profile_.mutable_period_type()->set_type(text(type));
  profile_.mutable_period_type()->set_unit(text(unit));
  profile_.set_period(period);
}

void PprofWriter::set_default_sample_type(std::string_view type) {
  profile_.set_default_sample_type(text(type));
}

void PprofWriter::lay_out() {
  std::vector<uint64_t> shifts(extents_.size());
  std::vector<bool> is_placed(extents_.size());
  uint64_t next = kLowBits;
  for (size_t i = 0; i < extents_.size(); ++i) {
    const Extent& extent = extents_[i];
    pprof::Mapping& mapping = *profile_.mutable_mapping(static_cast<int>(i));
    const uint64_t first = extent.first == UINT64_MAX ? 0 : extent.first / kPageBytes * kPageBytes;
    const uint64_t start = next + first % kLowBits;
    // A damaged binary's addresses may span more than there is: those locations stay without a mapping.
    if (extent.last < first || extent.last - first > kHighestAddress - start - 2 * kLowBits) {
      continue;
    }
    const uint64_t limit = start + (extent.last - first) / kPageBytes * kPageBytes + kPageBytes;
    mapping.set_memory_start(start);
    mapping.set_memory_limit(limit);
    mapping.set_file_offset(first);
    mapping.set_has_functions(extent.has_functions);
    mapping.set_has_filenames(extent.has_files);
    mapping.set_has_line_numbers(extent.has_lines);
    // Line tables come with the inlining; bare symbols do not.
    mapping.set_has_inline_frames(extent.has_lines);
    shifts[i] = start - first;
    is_placed[i] = true;
    next = (limit + kLowBits - 1) / kLowBits * kLowBits;
  }
  for (Location& location : locations_) {
    if (location.mapping != 0 && is_placed[location.mapping - 1]) {
      location.address += shifts[location.mapping - 1];
    } else {
      location.mapping = 0;
    }
  }
}

Status PprofWriter::write_locations() {
  for (size_t i = 0; i < locations_.size(); ++i) {
    pprof::Location& location = *part_.add_location();
    location.set_id(i + 1);
    location.set_mapping_id(locations_[i].mapping);
    location.set_address(locations_[i].address);
    const size_t end = i + 1 < locations_.size() ? locations_[i + 1].first_line : lines_.size();
    for (size_t line = locations_[i].first_line; line < end; ++line) {
      pprof::Line& added = *location.add_line();
      added.set_function_id(lines_[line].function);
      added.set_line(lines_[line].line);
    }
    part_size_ += 1 + (end - locations_[i].first_line);
    if (part_size_ >= kPartSize) {
      if (auto written = write_part(); !written) {
        return written;
      }
    }
  }
  return write_part();
}

Result<std::string> PprofWriter::finish() {
  text("");
  lay_out();
  auto written = write_part();
  if (written) {
    written = write_locations();
  }
  if (written) {
    written = write(profile_);
  }
  if (!written) {
    return propagate(written);
  }
  return compressed_.finish();
}

}  // namespace plimsoll::formats
