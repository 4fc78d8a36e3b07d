#include "symbolizer/dwarf/line_table.h"

#include <dwarf.h>

#include <algorithm>
#include <span>

#include "symbolizer/dwarf/attributes.h"

namespace plimsoll::symbolizer {
namespace {

// Of directories and of files: no compiler has more in one unit.
constexpr uint64_t kMaxNames = 1'000'000;

}  // namespace

// What the header says of the program.
struct LineProgram {
  Bytes code;
  uint8_t address_bytes = 8;
  uint8_t offset_bytes = 4;
  uint8_t minimum_instruction_bytes = 1;
  uint8_t operations_per_instruction = 1;
  int8_t line_base = 0;
  uint8_t line_range = 1;
  uint8_t first_special = 1;  // opcode_base
  Bytes operand_counts;       // of the standard opcodes, from 1
};

namespace {

// The registers that make a row, at the beginning of a sequence.
LineRow first_row() {
  return {.address = 0, .file = 1, .line = 1, .column = 0, .discriminator = 0, .ends_sequence = false};
}

// Runs a program.
class LineMachine {
 public:
  LineMachine(const LineProgram& program, uint64_t& budget)
      : program_(program), reader_(program.code), budget_(budget) {}

  void run();
  std::vector<LineRow>& rows() { return rows_; }
  std::vector<LineSequence>& sequences() { return sequences_; }

 private:
  void run_special(uint8_t opcode);
  void run_standard(uint8_t opcode);
  void run_extended();
  void advance(uint64_t operations);
  void set_address(uint64_t address);
  void emit();
  void end_sequence();

  const LineProgram& program_;
  ByteReader reader_;
  uint64_t& budget_;
  LineRow row_ = first_row();
  uint64_t operation_ = 0;  // within an instruction of several (VLIW)
  size_t sequence_begin_ = 0;
  std::vector<LineRow> rows_;
  std::vector<LineSequence> sequences_;
};

void LineMachine::run() {
  while (reader_.ok() && reader_.remaining() > 0) {
    const auto opcode = reader_.read<uint8_t>();
    if (opcode >= program_.first_special) {
      run_special(opcode);
    } else if (opcode == 0) {
      run_extended();
    } else {
      run_standard(opcode);
    }
  }
  rows_.resize(sequence_begin_);  // one without an end says nothing of where its last row ends
}

void LineMachine::advance(uint64_t operations) {
  const uint64_t each = std::max<uint64_t>(program_.operations_per_instruction, 1);
  row_.address += (operation_ + operations) / each * program_.minimum_instruction_bytes;
  operation_ = (operation_ + operations) % each;
}

void LineMachine::set_address(uint64_t address) {
  row_.address = address;
  operation_ = 0;
}

void LineMachine::emit() {
  if (budget_ == 0) {
    reader_.seek(UINT64_MAX);
    return;
  }
  --budget_;
  rows_.push_back(row_);
  row_.discriminator = 0;
}

void LineMachine::end_sequence() {
  row_.ends_sequence = true;
  emit();
  const std::span<const LineRow> rows = std::span(rows_).subspan(sequence_begin_);
  if (!rows.empty() && rows.front().address < rows.back().address) {
    sequences_.push_back({rows.front().address, rows.back().address, sequence_begin_, rows.size()});
  } else {
    rows_.resize(sequence_begin_);
  }
  sequence_begin_ = rows_.size();
  row_ = first_row();
  operation_ = 0;
}

void LineMachine::run_special(uint8_t opcode) {
  const unsigned adjusted = opcode - static_cast<unsigned>(program_.first_special);
  advance(adjusted / program_.line_range);
  row_.line += static_cast<uint32_t>(program_.line_base + static_cast<int>(adjusted % program_.line_range));
  emit();
}

void LineMachine::run_standard(uint8_t opcode) {
  switch (opcode) {
    case DW_LNS_copy:
      emit();
      break;
    case DW_LNS_advance_pc:
      advance(reader_.uleb128());
      break;
    case DW_LNS_advance_line:
      row_.line += static_cast<uint32_t>(reader_.sleb128());
      break;
    case DW_LNS_set_file:
      row_.file = static_cast<uint32_t>(reader_.uleb128());
      break;
    case DW_LNS_set_column:
      row_.column = static_cast<uint32_t>(reader_.uleb128());
      break;
    case DW_LNS_const_add_pc:
      advance((255U - program_.first_special) / program_.line_range);
      break;
    case DW_LNS_fixed_advance_pc:
      set_address(row_.address + reader_.read<uint16_t>());
      break;
    default:  // what no row tells: statements, blocks, prologues
      for (auto operands = std::to_integer<unsigned>(program_.operand_counts[opcode - 1U]); operands > 0;
           --operands) {
        reader_.uleb128();
      }
  }
}

void LineMachine::run_extended() {
  ByteReader body(reader_.bytes(reader_.uleb128()));
  switch (body.read<uint8_t>()) {
    case DW_LNE_end_sequence:
      if (body.ok()) {
        end_sequence();
      }
      break;
    case DW_LNE_set_address:
      set_address(body.remaining() >= 8 ? body.read<uint64_t>() : body.read<uint32_t>());
      break;
    case DW_LNE_set_discriminator:
      row_.discriminator = static_cast<uint32_t>(body.uleb128());
      break;
    default:  // a file that is defined in passing (DW_LNE_define_file), or a vendor's: nothing that a row has
      break;
  }
}

}  // namespace

Result<LineTable> LineTable::read(uint64_t offset, const Unit& unit, std::string_view directory,
                                  uint64_t& budget) {
  ByteReader reader(unit.address_sections->line);
  reader.seek(offset);
  LineTable table;
  table.compiler_directory_ = directory;
  LineProgram program;
  if (auto read = table.read_header(reader, unit, program); !read) {
    return propagate(read, "the line table at offset {:#x}", offset);
  }
  LineMachine machine(program, budget);
  machine.run();
  table.rows_ = std::move(machine.rows());
  table.sequences_ = std::move(machine.sequences());
  return table;
}

Status LineTable::read_header(ByteReader& reader, const Unit& unit, LineProgram& program) {
  uint64_t length = reader.read<uint32_t>();
  if (length == k64BitMark) {
    program.offset_bytes = 8;
    length = reader.read<uint64_t>();
  }
  ByteReader body(reader.bytes(length));
  version_ = body.read<uint16_t>();
  if (!reader.ok() || version_ < 2 || version_ > 5) {
    return fail(ErrorCode::kCorrupt, "version {} of {} bytes is not to be read", version_, length);
  }
  program.address_bytes = unit.header->address_bytes;
  if (version_ >= 5) {
    program.address_bytes = body.read<uint8_t>();
    body.skip(1);  // of a segment selector
  }
  const uint64_t header_bytes =
      program.offset_bytes == 8 ? body.read<uint64_t>() : uint64_t{body.read<uint32_t>()};
  const uint64_t names_begin = body.offset();
  program.minimum_instruction_bytes = body.read<uint8_t>();
  program.operations_per_instruction = version_ >= 4 ? body.read<uint8_t>() : 1;
  body.skip(1);  // default_is_stmt: every row counts
  program.line_base = body.read<int8_t>();
  program.line_range = body.read<uint8_t>();
  program.first_special = body.read<uint8_t>();
  program.operand_counts = body.bytes(program.first_special == 0 ? 0 : program.first_special - 1);
  if (version_ >= 5) {
    UnitHeader header = *unit.header;
    header.offset_bytes = program.offset_bytes;
    Unit of_table = unit;
    of_table.header = &header;
    if (auto read = read_new_names(body, of_table); !read) {
      return read;
    }
  } else {
    read_old_names(body);
  }
  body.seek(names_begin + std::min(header_bytes, UINT64_MAX - names_begin));
  if (!body.ok() || program.line_range == 0 || program.first_special == 0) {
    return fail(ErrorCode::kCorrupt, "its header is damaged");
  }
  program.code = body.bytes(body.remaining());
  return {};
}

void LineTable::read_old_names(ByteReader& reader) {
  directories_.push_back(compiler_directory_);
  for (std::string_view name = reader.c_string(); reader.ok() && !name.empty(); name = reader.c_string()) {
    directories_.push_back(name);
  }
  files_.emplace_back();  // they are numbered from 1
  for (std::string_view name = reader.c_string(); reader.ok() && !name.empty(); name = reader.c_string()) {
    const uint64_t directory = reader.uleb128();
    reader.uleb128();  // time
    reader.uleb128();  // size
    files_.push_back({name, directory});
  }
}

Status LineTable::read_new_names(ByteReader& reader, const Unit& unit) {
  for (const bool are_files : {false, true}) {
    std::vector<AttributeSpec> formats(reader.read<uint8_t>());
    for (AttributeSpec& format : formats) {
      format.name = static_cast<uint16_t>(std::min<uint64_t>(reader.uleb128(), UINT16_MAX));
      format.form = static_cast<uint16_t>(std::min<uint64_t>(reader.uleb128(), UINT16_MAX));
    }
    const uint64_t count = reader.uleb128();
    if (!reader.ok() || count > kMaxNames || (count > 0 && formats.empty())) {
      return fail(ErrorCode::kCorrupt, "its table of names is damaged");
    }
    for (uint64_t i = 0; i < count && reader.ok(); ++i) {
      File file;
      for (const AttributeSpec& format : formats) {
        const AttributeValue value = read_attribute(format, unit, reader);
        if (format.name == DW_LNCT_path) {
          file.name = text_of(value);
        } else if (format.name == DW_LNCT_directory_index) {
          file.directory = value.value;
        }
      }
      if (are_files) {
        files_.push_back(file);
      } else {
        directories_.push_back(file.name);
      }
    }
  }
  return reader.ok() ? Status() : fail(ErrorCode::kCorrupt, "its table of names is cut off");
}

LineTable LineTable::of(std::vector<LineRow> rows, std::vector<LineSequence> sequences,
                        std::vector<std::string> paths) {
  LineTable table;
  table.rows_ = std::move(rows);
  table.sequences_ = std::move(sequences);
  table.paths_ = std::move(paths);
  return table;
}

std::string LineTable::path_of(uint64_t number) const {
  if (number < paths_.size()) {
    return paths_[number];
  }
  if (number >= files_.size() || (version_ < 5 && number == 0)) {
    return {};
  }
  const File& file = files_[number];
  if (file.name.starts_with('/')) {
    return std::string(file.name);
  }
  const std::string_view directory =
      file.directory < directories_.size() ? directories_[file.directory] : std::string_view();
  std::string path;
  const auto append = [&](std::string_view part) {
    if (!path.empty() && !path.ends_with('/') && !part.empty()) {
      path += '/';
    }
    path += part;
  };
  if (!directory.starts_with('/')) {
    append(compiler_directory_);
  }
  if (directory != compiler_directory_ || directory.starts_with('/')) {
    append(directory);
  }
  append(file.name);
  return path;
}

}  // namespace plimsoll::symbolizer
