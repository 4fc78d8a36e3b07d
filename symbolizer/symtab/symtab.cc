#include "symbolizer/symtab/symtab.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/checksum.h"

namespace plimsoll::symbolizer {
namespace {

// Inlined calls nest some dozens deep; a damaged file must not be followed without end.
constexpr size_t kMaxFrames = 1000;

// A row's numbers are coded as LEB128; this reads those of rows that were checked to begin within the bytes, and stops at
// their end.
class RowReader {
 public:
  RowReader(const std::byte* at, const std::byte* end) : at_(at), end_(end) {}

  bool ended() const { return at_ == end_; }

  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; at_ != end_ && shift < 64; shift += 7) {
      const auto byte = std::to_integer<uint64_t>(*at_++);
      value |= (byte & 0x7fU) << shift;
      if (byte < 0x80) {
        break;
      }
    }
    return value;
  }

  // The sign is in the lowest bit.
  uint64_t signed_number() {
    const uint64_t coded = number();
    return (coded >> 1U) ^ (0 - (coded & 1U));
  }

  void step(Symtab::Row& row) {
    row.from += number();
    row.scope += signed_number();
    row.location += signed_number();
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
};

// The columns of one table are those of the same rows.
bool is_one_table(const SymtabHeader& header, PackedTable table) {
  const auto first = static_cast<size_t>(table.first);
  const auto last = static_cast<size_t>(table.last);
  const ColumnHeader& model = header.columns[first];
  return std::ranges::all_of(std::span(header.columns).subspan(first, last - first + 1),
                             [&](const ColumnHeader& column) {
                               return column.rows == model.rows && column.offset == model.offset &&
                                      column.row_bits == model.row_bits;
                             });
}

bool is_possible(const ColumnHeader& column, uint64_t file_bytes) {
  constexpr uint32_t kMaxColumns = 8;
  return column.bits <= kMaxPackedBits && column.row_bits <= kMaxPackedBits * kMaxColumns &&
         uint32_t{column.first_bit} + column.bits <= column.row_bits && column.rows <= file_bytes * 8;
}

}  // namespace

Result<Symtab> Symtab::open(Bytes file) {
  ByteReader reader(file);
  Symtab table;
  table.file_ = file;
  table.header_ = reader.read<SymtabHeader>();
  SymtabHeader& header = table.header_;
  if (!reader.ok() || header.magic != kSymtabMagic) {
    return fail(ErrorCode::kCorrupt, "not a symbol table");
  }
  if (header.version != kSymtabVersion) {
    return fail(ErrorCode::kUnsupported, "symbol table of version {}; this program reads {}", header.version,
                kSymtabVersion);
  }
  SymtabHeader unsigned_header = header;
  unsigned_header.header_checksum = 0;
  if (checksum64(std::as_bytes(std::span(&unsigned_header, 1))) != header.header_checksum ||
      header.file_bytes != file.size() || header.identity_bytes > header.identity.size() ||
      header.quality > static_cast<uint32_t>(SymtabQuality::kFull)) {
    return fail(ErrorCode::kCorrupt, "the symbol table's header is damaged, or the file is truncated");
  }
  if (auto mapped = table.map_parts(); !mapped) {
    return propagate(mapped, "the symbol table");
  }
  return table;
}

Status Symtab::map_parts() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const ColumnHeader& column = header_.columns[i];
    if (!is_possible(column, file_.size())) {
      return fail(ErrorCode::kCorrupt, "a column of {} numbers of {} bits", column.rows, column.bits);
    }
    const auto bytes = slice(file_, column.offset, packed_bytes(column.rows, column.row_bits), "a table");
    if (!bytes) {
      return propagate(bytes);
    }
    columns_[i] =
        PackedArray(bytes->data(), column.rows,
                    {.row_bits = column.row_bits, .first_bit = column.first_bit, .bits = column.bits});
  }
  for (size_t i = 0; i < blobs_.size(); ++i) {
    const auto bytes = slice(file_, header_.blobs[i].offset, header_.blobs[i].bytes, "a part");
    if (!bytes) {
      return propagate(bytes);
    }
    blobs_[i] = *bytes;
  }
  return std::ranges::all_of(kPackedTables,
                             [this](PackedTable table) { return is_one_table(header_, table); })
             ? Status()
             : fail(ErrorCode::kCorrupt, "columns of one table have different lengths");
}

Status Symtab::verify() const {
  return checksum64(file_.subspan(sizeof(SymtabHeader))) == header_.checksum
             ? Status()
             : fail(ErrorCode::kCorrupt, "the symbol table is damaged: its checksum does not match");
}

std::optional<Symtab::Row> Symtab::row_at(uint64_t address) const {
  const PackedArray& addresses = column(Column::kBlockAddress);
  if (address < header_.base_address || address >= header_.end_address) {
    return std::nullopt;
  }
  const uint64_t offset = address - header_.base_address;
  uint64_t first = 0;
  for (uint64_t count = addresses.size(); count > 1;) {
    const uint64_t half = count / 2;
    first += addresses[first + half] <= offset ? half : 0;
    count -= half;
  }
  if (first >= addresses.size() || first >= column(Column::kBlockRows).size() || addresses[first] > offset) {
    return std::nullopt;
  }
  const Bytes rows = blob(Blob::kRows);
  const uint64_t begin = std::min<uint64_t>(column(Column::kBlockRows)[first], rows.size());
  RowReader reader(rows.data() + begin, rows.data() + rows.size());
  // The first row of a block is coded from nothing.
  Row row{addresses[first], 0, 0};
  reader.step(row);
  for (uint32_t i = 1; i < kRowsPerBlock && !reader.ended(); ++i) {
    Row next = row;
    reader.step(next);
    if (next.from > offset) {
      break;
    }
    row = next;
  }
  return row;
}

void Symtab::for_each_row(const std::function<void(uint64_t from)>& consume) const {
  const PackedArray& addresses = column(Column::kBlockAddress);
  const Bytes rows = blob(Blob::kRows);
  RowReader reader(rows.data(), rows.data() + rows.size());
  Row row{};
  for (uint64_t i = 0; i < header_.rows && !reader.ended(); ++i) {
    if (i % kRowsPerBlock == 0) {
      if (i / kRowsPerBlock >= addresses.size()) {
        return;
      }
      row = {addresses[i / kRowsPerBlock], 0, 0};
    }
    reader.step(row);
    consume(header_.base_address + row.from);
  }
}

std::string_view Symtab::string(uint64_t number) const {
  const PackedArray& begins = column(Column::kStringBegin);
  const std::string_view strings = as_text(blob(Blob::kStrings));
  if (number + 1 >= begins.size()) {
    return {};
  }
  const uint64_t begin = std::min<uint64_t>(begins[number], strings.size());
  const uint64_t end = std::clamp<uint64_t>(begins[number + 1], begin, strings.size());
  return strings.substr(begin, end - begin);
}

void Symtab::set_location(uint64_t location, SymtabFrame& frame) const {
  if (location == 0 || location >= column(Column::kLocationPath).size()) {
    return;
  }
  frame.file = string(column(Column::kLocationPath)[location]);
  frame.line = static_cast<uint32_t>(column(Column::kLocationLine)[location]);
  frame.column = static_cast<uint32_t>(column(Column::kLocationColumn)[location]);
  frame.discriminator = static_cast<uint32_t>(column(Column::kLocationDiscriminator)[location]);
}

void Symtab::set_function(uint64_t function, SymtabFrame& frame) const {
  if (function >= column(Column::kFunctionName).size()) {
    return;
  }
  frame.function = string(column(Column::kFunctionName)[function]);
  frame.known_as = string(column(Column::kFunctionKnownAs)[function]);
  frame.start_line = static_cast<uint32_t>(column(Column::kFunctionLine)[function]);
  frame.unit = static_cast<uint32_t>(column(Column::kFunctionUnit)[function]);
}

void Symtab::look_up(uint64_t address, std::vector<SymtabFrame>& frames) const {
  const auto row = row_at(address);
  if (!row || (row->scope == 0 && row->location == 0)) {
    return;
  }
  const size_t first = frames.size();
  frames.emplace_back();
  set_location(row->location, frames.back());
  const PackedArray& parents = column(Column::kScopeParent);
  const PackedArray& functions = column(Column::kScopeFunction);
  const PackedArray& locations = column(Column::kScopeLocation);
  for (uint64_t scope = row->scope;
       scope != 0 && scope <= parents.size() && frames.size() - first < kMaxFrames;) {
    set_function(functions[scope - 1], frames.back());
    const uint64_t before = parents[scope - 1];
    if (before == 0 || before >= scope) {
      return;
    }
    frames.back().is_inlined = true;
    frames.emplace_back();
    set_location(locations[scope - 1], frames.back());
    scope -= before;
  }
}

std::optional<uint64_t> Symtab::address_of(uint64_t file_offset) const {
  ByteReader segments(blob(Blob::kSegments));
  while (segments.remaining() >= sizeof(SymtabSegment)) {
    const auto segment = segments.read<SymtabSegment>();
    if (file_offset >= segment.file_offset && file_offset - segment.file_offset < segment.bytes) {
      return segment.address + (file_offset - segment.file_offset);
    }
  }
  return std::nullopt;
}

ByteReader Symtab::behind_parts() const {
  uint64_t parts_end = 0;
  for (const BlobHeader& blob : header_.blobs) {
    parts_end = std::max(parts_end, blob.offset + blob.bytes);
  }
  ByteReader reader(file_);
  reader.seek(parts_end);
  return reader;
}

SymtabReaders Symtab::readers() const {
  ByteReader reader = behind_parts();
  const auto magic = reader.read<std::array<char, 8>>();
  const auto readers = reader.read<SymtabReaders>();
  return reader.ok() && magic == kReadersMagic ? readers : SymtabReaders{};
}

std::optional<uint64_t> Symtab::kernel_text() const {
  ByteReader reader = behind_parts();
  auto magic = reader.read<std::array<char, 8>>();
  if (magic == kReadersMagic) {
    reader.read<SymtabReaders>();
    magic = reader.read<std::array<char, 8>>();
  }
  const auto address = reader.read<uint64_t>();
  return reader.ok() && magic == kKernelMagic ? std::optional(address) : std::nullopt;
}

std::string_view Symtab::producer(uint32_t unit) const {
  return unit < column(Column::kUnitProducer).size() ? string(column(Column::kUnitProducer)[unit])
                                                     : std::string_view();
}

uint32_t Symtab::language(uint32_t unit) const {
  return unit < column(Column::kUnitLanguage).size()
             ? static_cast<uint32_t>(column(Column::kUnitLanguage)[unit])
             : 0;
}

}  // namespace plimsoll::symbolizer
