#include "symbolizer/symtab/symtab_writer.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "base/checksum.h"
#include "symbolizer/symtab/packed_array.h"

namespace plimsoll::symbolizer {
namespace {

void append_number(uint64_t value, std::string& bytes) {
  for (; value >= 0x80; value >>= 7U) {
    bytes += static_cast<char>(value | 0x80U);
  }
  bytes += static_cast<char>(value);
}

// The sign in the lowest bit, so that small numbers of either sign are short.
void append_signed(int64_t value, std::string& bytes) {
  append_number(static_cast<uint64_t>(value) << 1U ^ static_cast<uint64_t>(value >> 63), bytes);
}

int64_t difference(uint64_t now, uint64_t before) {
  return static_cast<int64_t>(now - before);
}

void append_table(PackedTable table, std::span<const std::vector<uint64_t>> columns, SymtabHeader& header,
                  std::string& file) {
  const auto first = static_cast<size_t>(table.first);
  const auto count = static_cast<size_t>(table.last) - first + 1;
  const auto of_table = columns.subspan(first, count);
  const auto layouts = packed_layouts(of_table);
  for (size_t i = 0; i < count; ++i) {
    header.columns[first + i] = {file.size(), of_table[i].size(), layouts[i].row_bits,
                                 static_cast<uint16_t>(layouts[i].first_bit),
                                 static_cast<uint16_t>(layouts[i].bits)};
  }
  file += pack(of_table, layouts);
}

}  // namespace

size_t SymtabWriter::HashOfLocation::operator()(const SymtabLocation& location) const {
  return checksum64(std::as_bytes(std::span(&location, 1)));
}

SymtabWriter::SymtabWriter() {
  string({});
  location({});
}

uint32_t SymtabWriter::string(std::string_view text) {
  const auto known = strings_.find(text);
  if (known != strings_.end()) {
    return known->second;
  }
  const auto number = static_cast<uint32_t>(string_begins_.size());
  string_begins_.push_back(text_.size());
  text_ += text;
  strings_.emplace(text, number);
  return number;
}

uint32_t SymtabWriter::unit(std::string_view producer, uint32_t language) {
  units_.push_back({string(producer), language});
  return static_cast<uint32_t>(units_.size() - 1);
}

uint32_t SymtabWriter::location(const SymtabLocation& location) {
  const auto [entry, is_new] =
      location_numbers_.try_emplace(location, static_cast<uint32_t>(locations_.size()));
  if (is_new) {
    locations_.push_back(location);
  }
  return entry->second;
}

uint32_t SymtabWriter::function(const SymtabFunction& function) {
  functions_.push_back(
      {string(function.name), string(function.known_as), function.start_line, function.unit});
  return static_cast<uint32_t>(functions_.size() - 1);
}

uint32_t SymtabWriter::scope(const SymtabScope& scope) {
  scopes_.push_back({scope.parent ? *scope.parent + 1 : 0, scope.function, scope.location});
  return static_cast<uint32_t>(scopes_.size() - 1);
}

void SymtabWriter::row(const SymtabRow& row) {
  const Row added{row.from, row.scope ? *row.scope + 1 : 0, row.location};
  if (!rows_.empty() && (added.from - rows_.front().from) >> kMaxPackedBits != 0) {
    return;
  }
  if (!rows_.empty() && rows_.back().from == added.from) {
    rows_.pop_back();
  }
  const bool says_the_same =
      rows_.empty() ? added.scope == 0 && added.location == 0
                    : rows_.back().scope == added.scope && rows_.back().location == added.location;
  if (!says_the_same) {
    rows_.push_back(added);
  }
}

void SymtabWriter::sort_locations() {
  std::vector<uint32_t> order(locations_.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order.begin() + 1, order.end(), {}, [this](uint32_t i) { return locations_[i]; });
  std::vector<uint32_t> number(locations_.size());
  std::vector<SymtabLocation> sorted(locations_.size());
  for (uint32_t i = 0; i < order.size(); ++i) {
    number[order[i]] = i;
    sorted[i] = locations_[order[i]];
  }
  locations_ = std::move(sorted);
  for (Scope& scope : scopes_) {
    scope.location = number[scope.location];
  }
  for (Row& row : rows_) {
    row.location = number[row.location];
  }
}

std::string SymtabWriter::code_rows(Columns& columns) const {
  std::string bytes;
  const uint64_t base = rows_.empty() ? 0 : rows_.front().from;
  Row before{};
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (i % kRowsPerBlock == 0) {
      columns[static_cast<size_t>(Column::kBlockAddress)].push_back(row.from - base);
      columns[static_cast<size_t>(Column::kBlockRows)].push_back(bytes.size());
      before = {row.from, 0, 0};
    }
    append_number(row.from - before.from, bytes);
    append_signed(difference(row.scope, before.scope), bytes);
    append_signed(difference(row.location, before.location), bytes);
    before = row;
  }
  return bytes;
}

void SymtabWriter::fill_columns(Columns& columns) const {
  const auto add = [&](Column column, uint64_t value) {
    columns[static_cast<size_t>(column)].push_back(value);
  };
  for (uint32_t i = 0; i < scopes_.size(); ++i) {
    const Scope& scope = scopes_[i];
    add(Column::kScopeParent, scope.parent == 0 ? 0 : i + 1 - scope.parent);
    add(Column::kScopeFunction, scope.function);
    add(Column::kScopeLocation, scope.location);
  }
  for (const SymtabLocation& location : locations_) {
    add(Column::kLocationPath, location.path);
    add(Column::kLocationLine, location.line);
    add(Column::kLocationColumn, location.column);
    add(Column::kLocationDiscriminator, location.discriminator);
  }
  for (const Function& function : functions_) {
    add(Column::kFunctionName, function.name);
    add(Column::kFunctionKnownAs, function.known_as);
    add(Column::kFunctionLine, function.start_line);
    add(Column::kFunctionUnit, function.unit);
  }
  for (const Unit& unit : units_) {
    add(Column::kUnitProducer, unit.producer);
    add(Column::kUnitLanguage, unit.language);
  }
  std::vector<uint64_t>& begins = columns[static_cast<size_t>(Column::kStringBegin)];
  begins = string_begins_;
  begins.push_back(text_.size());
}

std::string SymtabWriter::finish(const SymtabIdentity& identity, SymtabQuality quality) && {
  sort_locations();
  Columns columns(static_cast<size_t>(Column::kCount));
  const std::string rows = code_rows(columns);
  fill_columns(columns);
  SymtabHeader header{};
  header.magic = kSymtabMagic;
  header.version = kSymtabVersion;
  header.quality = static_cast<uint32_t>(quality);
  header.base_address = rows_.empty() ? 0 : rows_.front().from;
  header.end_address = rows_.empty() ? 0 : rows_.back().from;
  header.rows = rows_.size();
  header.identity_kind = identity.kind;
  header.identity_bytes = static_cast<uint32_t>(std::min(identity.bytes.size(), header.identity.size()));
  std::ranges::copy(identity.bytes.substr(0, header.identity_bytes), header.identity.begin());
  std::string file(sizeof header, '\0');
  for (const PackedTable table : kPackedTables) {
    append_table(table, columns, header, file);
  }
  const std::array<std::string_view, static_cast<size_t>(Blob::kCount)> blobs{
      rows, text_, as_text(std::as_bytes(std::span(segments_)))};
  for (size_t i = 0; i < blobs.size(); ++i) {
    header.blobs[i] = {file.size(), blobs[i].size()};
    file += blobs[i];
  }
  if (readers_ != SymtabReaders{}) {
    file += as_text(std::as_bytes(std::span(kReadersMagic)));
    file += as_text(std::as_bytes(std::span(&readers_, 1)));
  }
  if (kernel_text_) {
    file += as_text(std::as_bytes(std::span(kKernelMagic)));
    file += as_text(std::as_bytes(std::span(&*kernel_text_, 1)));
  }
  std::memcpy(file.data(), &header, sizeof header);
  seal_symtab(file);
  return file;
}

void seal_symtab(std::string& file) {
  SymtabHeader header{};
  if (file.size() < sizeof header) {
    return;
  }
  std::memcpy(&header, file.data(), sizeof header);
  header.file_bytes = file.size();
  header.checksum = checksum64(as_bytes(std::string_view(file)).subspan(sizeof header));
  header.header_checksum = 0;
  header.header_checksum = checksum64(std::as_bytes(std::span(&header, 1)));
  std::memcpy(file.data(), &header, sizeof header);
}

}  // namespace plimsoll::symbolizer
