// libdw as the second reader: what it says of units that ours reads as well, of units that ours cannot, and of relocatable
// files.
#include <dwarf.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/unique_fd.h"
#include "elf/elf_file.h"
#include "symbolizer/libdw/libdw_reader.h"
#include "symbolizer/search/code_symbols.h"
#include "symbolizer/search/table_search.h"
#include "symbolizer/symtab/symtab.h"
#include "tests/places.h"
#include "tests/temporary_directory.h"
#include "tests/unit/elf/elf_image.h"

namespace plimsoll::symbolizer {
namespace libdw_tests {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Frame {
  std::string function;
  std::string known_as;
  std::string file;
  uint32_t line;
  uint32_t column;
  uint32_t start_line;  // of the function

  bool operator==(const Frame&) const = default;
};

struct Table {
  std::string bytes;
  std::string reasons;
  SymtabQuality quality = SymtabQuality::kNone;

  Symtab opened() const { return *Symtab::open(as_bytes(bytes)); }
  std::vector<Frame> at(uint64_t address) const {
    std::vector<SymtabFrame> found;
    opened().look_up(address, found);
    std::vector<Frame> frames;
    for (const SymtabFrame& frame : found) {
      frames.push_back({std::string(frame.function), std::string(frame.known_as), std::string(frame.file),
                        frame.line, frame.column, frame.start_line});
    }
    return frames;
  }
};

Table table_of(const std::string& path, ReaderChoice reader) {
  const TableQuery query{.roots = {{"/"}, {}}, .named = {.binary = path}, .reader = reader};
  auto found = find_table(query, [](uint64_t) {});
  EXPECT_TRUE(found) << found.error().text();
  return found ? Table{std::move(found->bytes), std::move(found->reasons), found->quality} : Table();
}

struct Function {
  std::string name;
  uint64_t address;
  uint64_t size_bytes;
};

// Those with a size, at the addresses that tables have.
std::vector<Function> functions_of(const std::string& path) {
  const std::string content = *read_file(path, uint64_t{64} << 20);
  const auto file = *elf::ElfFile::parse(as_bytes(content));
  std::vector<Function> functions;
  for (const NamedCode& symbol : code_symbols(file, SHT_SYMTAB)) {
    if (symbol.size_bytes != 0) {
      functions.push_back({std::string(symbol.name), symbol.address, symbol.size_bytes});
    }
  }
  return functions;
}

std::vector<std::string> linked_fixtures() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(built_file())) {
    const std::string name = entry.path().filename();
    // Split DWARF is read by our reader alone.
    if (name.starts_with("inline_") && name.ends_with(".so") && !name.ends_with("_dwo.so")) {
      paths.push_back(entry.path());
    }
  }
  return paths;
}

class LinkedFile : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(OfEachCompilerAndVersion, LinkedFile, ::testing::ValuesIn(linked_fixtures()),
                         [](const auto& test) { return std::filesystem::path(test.param).stem().string(); });

TEST_P(LinkedFile, HasTheSameFramesFromBothReaders) {
  const Table ours = table_of(GetParam(), ReaderChoice::kOursAlone);
  const Table theirs = table_of(GetParam(), ReaderChoice::kSecondAlone);
  EXPECT_EQ(theirs.quality, ours.quality) << theirs.reasons;
  EXPECT_GT(theirs.opened().readers().asked, 0);
  uint64_t asked = 0;
  uint64_t equal = 0;
  for (const Function& function : functions_of(GetParam())) {
    for (uint64_t i = 0; i < function.size_bytes; ++i) {
      ++asked;
      equal += ours.at(function.address + i) == theirs.at(function.address + i) ? 1 : 0;
    }
  }
  EXPECT_GT(asked, 0);
  EXPECT_GE(equal * 1000, asked * 999) << equal << " of " << asked;
}

TEST_P(LinkedFile, NeedsNoSecondReader) {
  const Table table = table_of(GetParam(), ReaderChoice::kBoth);
  EXPECT_EQ(table.opened().readers(), SymtabReaders());
  EXPECT_EQ(table.bytes, table_of(GetParam(), ReaderChoice::kOursAlone).bytes);
}

std::vector<std::string> relocatable_fixtures() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(built_file())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("relocatable_") && name.ends_with(".o")) {
      names.push_back(entry.path().stem());
    }
  }
  return names;
}

class RelocatableFile : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string object_ = built_file(GetParam() + ".o");
  const std::string library_ = built_file(GetParam() + ".so");
};

INSTANTIATE_TEST_SUITE_P(OfEachCompilerAndVersion, RelocatableFile,
                         ::testing::ValuesIn(relocatable_fixtures()),
                         [](const auto& test) { return test.param; });

TEST_P(RelocatableFile, HasTheFramesOfWhatIsLinkedOfIt) {
  const Table object = table_of(object_, ReaderChoice::kBoth);
  const Table library = table_of(library_, ReaderChoice::kOursAlone);
  EXPECT_EQ(object.quality, SymtabQuality::kFull) << object.reasons;
  EXPECT_GT(object.opened().readers().relocatable, 0);
  std::map<std::string, Function> linked;
  for (const Function& function : functions_of(library_)) {
    linked.emplace(function.name, function);
  }
  uint64_t asked = 0;
  uint64_t equal = 0;
  for (const Function& function : functions_of(object_)) {
    const auto same = linked.find(function.name);
    ASSERT_NE(same, linked.end()) << function.name;
    for (uint64_t i = 0; i < function.size_bytes; ++i) {
      ++asked;
      equal += object.at(function.address + i) == library.at(same->second.address + i) ? 1 : 0;
    }
  }
  EXPECT_GT(asked, 100);
  EXPECT_GE(equal * 1000, asked * 999) << equal << " of " << asked;
}

TEST_P(RelocatableFile, HasNoLinesWithoutLibdw) {
  const Table table = table_of(object_, ReaderChoice::kOursAlone);
  EXPECT_EQ(table.quality, SymtabQuality::kSymtab);
  EXPECT_THAT(table.reasons, HasSubstr("not linked"));
}

TEST_P(RelocatableFile, HasItsCodeFromAddressZeroOn) {
  uint64_t end = 0;
  for (const Function& function : functions_of(object_)) {
    end = std::max(end, function.address + function.size_bytes);
  }
  EXPECT_LT(end, 64 << 10) << "the sections lie one behind the other, as in a loaded module";
}

// The file with a form that no reader knows wherever a parameter says where it is.
std::string with_unknown_forms(std::string image) {
  constexpr char kUnknownForm = 0x7e;
  const auto file = *elf::ElfFile::parse(as_bytes(image));
  const auto section = std::ranges::find(file.sections(), ".debug_abbrev", &elf::Section::name);
  ByteReader reader(file.bytes_of(*section));
  const uint64_t section_offset = section->file_offset;
  std::vector<uint64_t> forms;
  while (reader.ok() && reader.remaining() > 0) {
    if (reader.uleb128() == 0) {
      continue;  // the end of a table
    }
    const uint64_t tag = reader.uleb128();
    reader.skip(1);  // whether it has children
    for (uint64_t name = 1; reader.ok() && name != 0;) {
      name = reader.uleb128();
      const uint64_t offset = reader.offset();
      const uint64_t form = reader.uleb128();
      if (form == DW_FORM_implicit_const) {
        reader.sleb128();
      }
      if (tag == DW_TAG_formal_parameter && name == DW_AT_location) {
        forms.push_back(section_offset + offset);
      }
    }
  }
  for (const uint64_t offset : forms) {
    image[offset] = kUnknownForm;
  }
  return image;
}

// Symbols name code too, but say of no function where it starts.
uint64_t bytes_described(const Table& table, const std::vector<Function>& functions) {
  uint64_t bytes = 0;
  for (const Function& function : functions) {
    for (uint64_t i = 0; i < function.size_bytes; ++i) {
      const auto frames = table.at(function.address + i);
      bytes += !frames.empty() && frames.back().start_line != 0 ? 1 : 0;
    }
  }
  return bytes;
}

class DamagedUnit : public ::testing::Test {
 protected:
  DamagedUnit() {
    const std::string image = *read_file(intact_, uint64_t{64} << 20);
    std::ofstream(path_, std::ios::binary) << with_unknown_forms(image);
  }

  const std::string intact_ = built_file("inline_gcc5.so");
  plimsoll::testing::TemporaryDirectory folder_;
  const std::string path_ = folder_ / "damaged.so";
};

TEST_F(DamagedUnit, IsReadByLibdwBehindWhatNoReaderKnows) {
  const std::vector<Function> functions = functions_of(path_);
  const Table ours = table_of(path_, ReaderChoice::kOursAlone);
  const Table both = table_of(path_, ReaderChoice::kBoth);
  EXPECT_EQ(ours.opened().readers(), SymtabReaders());
  EXPECT_EQ(both.opened().readers().damaged, 1);
  EXPECT_GT(bytes_described(both, functions), bytes_described(ours, functions));
}

TEST_F(DamagedUnit, IsSaidInTheReasons) {
  EXPECT_THAT(table_of(path_, ReaderChoice::kOursAlone).reasons, HasSubstr(".debug_info"));
  EXPECT_THAT(table_of(path_, ReaderChoice::kBoth).reasons, HasSubstr("libdw"));
}

// One unit of that version, whose producer is a text of the supplementary file.
std::string small_unit(char version) {
  using namespace std::string_literals;
  std::string unit = "\x0c\0\0\0\x04\0\0\0\0\0\x08\x01\0\0\0\0"s;
  unit[4] = version;
  return unit;
}

std::string image_of(const std::string& units, const std::string& supplement) {
  using namespace std::string_literals;
  elf::ElfImage image;
  image.section(".debug_abbrev", SHT_PROGBITS, "\x01\x11\0\x25\xa1\x3e\0\0\0"s);  // DW_FORM_GNU_strp_alt
  image.section(".debug_info", SHT_PROGBITS, units);
  std::string link = supplement;
  link.append(1, '\0').append(20, 'i');  // its build ID
  image.section(".gnu_debugaltlink", SHT_PROGBITS, link);
  std::string bytes = image.bytes();
  bytes[EI_VERSION] = EV_CURRENT;  // which libelf insists on
  return bytes;
}

// Of the files of a folder that were opened since.
class OpenedFiles {
 public:
  explicit OpenedFiles(const std::string& folder) : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    EXPECT_GE(::inotify_add_watch(events_.get(), folder.c_str(), IN_OPEN), 0);
  }
  bool any() {
    std::array<char, 4096> events{};
    return ::read(events_.get(), events.data(), events.size()) > 0;
  }

 private:
  UniqueFd events_;
};

TEST(Libdw, OpensNoFileThatTheDebugInformationNames) {
  const plimsoll::testing::TemporaryDirectory folder;
  const std::string named = folder / "named.debug";
  std::ofstream(named, std::ios::binary) << image_of(small_unit(4), "/none");
  const std::string image = image_of(small_unit(4), named);
  OpenedFiles opened(folder.path());
  const auto alone = open_libdw(as_bytes(image), {});
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_EQ((*alone)->units().size(), 1);
  EXPECT_TRUE((*alone)->supplement_names().empty());
  EXPECT_FALSE(opened.any()) << "of the file";
  const auto both = open_libdw(as_bytes(image), as_bytes(image));
  ASSERT_TRUE(both) << both.error().text();
  EXPECT_EQ((*both)->supplement_names().size(), 1);
  EXPECT_FALSE(opened.any()) << "of its supplementary file";
  EXPECT_TRUE(read_file(named, 4096));
  EXPECT_TRUE(opened.any()) << "the test sees what is opened";
}

TEST(Libdw, SaysThatItMissesUnits) {
  const auto problems_of = [](const std::string& units) {
    const std::string image = image_of(units, "/none");
    const auto reader = open_libdw(as_bytes(image), {});
    EXPECT_TRUE(reader) << reader.error().text();
    CodeBudget budget;
    return (*reader)->read((*reader)->units().at(0), [](uint64_t) { return true; }, budget).problems;
  };
  const std::string unit = small_unit(4);
  EXPECT_THAT(problems_of(unit + unit), IsEmpty());
  EXPECT_THAT(problems_of(unit + small_unit(99)), ElementsAre(HasSubstr("only the first 1 units")));
}

TEST(Libdw, SaysThatItReadsNoSplitDwarf) {
  const Table table = table_of(built_file("inline_gcc5_dwo.so"), ReaderChoice::kSecondAlone);
  EXPECT_EQ(table.quality, SymtabQuality::kLines);
  EXPECT_THAT(table.reasons, HasSubstr("inline_gcc5_dwo.dwo is not read"));
}

TEST(Libdw, SaysWhyItReadsNothing) {
  const auto text = open_libdw(as_bytes("this is text"), {});
  ASSERT_FALSE(text);
  const std::string image = *read_file(built_file("symbol_fixture.so"), uint64_t{64} << 20);
  const auto without_dwarf = open_libdw(as_bytes(image), {});
  ASSERT_FALSE(without_dwarf);
  EXPECT_THAT(without_dwarf.error().message, HasSubstr("libdw"));
}

}  // namespace
}  // namespace libdw_tests
}  // namespace plimsoll::symbolizer
