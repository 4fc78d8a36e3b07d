#include "query/wsmeter/observed/columns.h"

#include <charconv>
#include <cmath>

#include "base/byte_reader.h"
#include "formats/decompress.h"

namespace plimsoll::query {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

}  // namespace

Result<formats::CsvTable> read_table(std::string_view content) {
  if (formats::compression_of(as_bytes(content)) == formats::Compression::kNone) {
    return formats::read_csv(content);
  }
  const auto text = formats::decompress(as_bytes(content), kMaxBytes);
  return text ? formats::read_csv(*text) : propagate(text);
}

Column::Column(const formats::CsvTable& table, std::initializer_list<std::string_view> names)
    : name_(*names.begin()) {
  for (const std::string_view name : names) {
    if (const auto place = table.column(name); place && !place_) {
      place_ = place;
      name_ = name;
    }
  }
}

Status Column::require(std::string hint) const {
  return place_ ? Status()
                : with_hint(fail(ErrorCode::kInvalid, "no such column: \"{}\"", name_), std::move(hint));
}

const std::string& Column::text(const formats::CsvTable::Row& row) const {
  static const std::string none;
  return place_ ? row.fields[*place_] : none;
}

Result<double> Column::number(const formats::CsvTable::Row& row) const {
  const std::string& text = this->text(row);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value)) {
    return value;
  }
  return fail(ErrorCode::kInvalid, "line {}: {} must be a number, is \"{}\"", row.line, name_, text);
}

}  // namespace plimsoll::query
