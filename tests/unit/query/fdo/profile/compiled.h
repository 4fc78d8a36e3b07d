// Real compilers and their tools, and what they make.
#pragma once

#include <elf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/file.h"
#include "elf/elf_file.h"
#include "query/fdo/profile/sample_profile.h"
#include "symbolizer/dwarf/table_builder.h"
#include "symbolizer/search/code_symbols.h"
#include "tests/temporary_directory.h"

namespace plimsoll::fdo {

constexpr uint64_t kMaxCompiledBytes = uint64_t{64} << 20U;

inline bool is_installed(const std::string& tool) {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1", tool).c_str()) == 0;
}

// A folder in which commands run.
class Workbench {
 public:
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  std::string read(const std::string& name) const {
    return read_file(folder_ / name, kMaxCompiledBytes).value_or("");
  }
  std::string path(const std::string& name) const { return folder_ / name; }

  // What the command says, in both streams. It must succeed.
  std::string run(const std::string& command) const {
    const int status =
        std::system(fmt::format("cd '{}' && ( {} ) >said 2>&1", folder_.path(), command).c_str());
    std::string said = read("said");
    EXPECT_EQ(status, 0) << command << "\n" << said;
    return said;
  }

 private:
  testing::TemporaryDirectory folder_;
};

// A program, its functions and its symbol table.
struct CompiledProgram {
  explicit CompiledProgram(const std::string& path) : file(*MappedFile::open(path, kMaxCompiledBytes)) {
    const auto elf = *elf::ElfFile::parse(file.bytes());
    table = symbolizer::build_table({.debug = file.bytes(),
                                     .supplement = {},
                                     .package = {},
                                     .symbols = symbolizer::code_symbols(elf, SHT_SYMTAB),
                                     .sections = symbolizer::code_sections(elf),
                                     .segments = elf.segments(),
                                     .identity = {1, elf.build_id()}})
                .bytes;
  }

  // Of functions with code, each address once.
  std::vector<elf::Symbol> functions() const {
    std::map<uint64_t, elf::Symbol> found;
    elf::ElfFile::parse(file.bytes())->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
      if (symbol.type == STT_FUNC && symbol.size_bytes != 0) {
        found.try_emplace(symbol.address, symbol);
      }
    });
    std::vector<elf::Symbol> functions;
    for (const auto& [address, symbol] : found) {
      functions.push_back(symbol);
    }
    return functions;
  }

  MappedFile file;
  std::string table;
};

// Out-of-line and inlined functions, constructors that are aliases, local functions, loops that get unrolled, a switch and recursion.
inline constexpr const char* kProgram = R"(#include <cstdio>
#include <cstdlib>
#include <vector>
struct Base {
  explicit Base(long id);
  virtual ~Base();
  virtual long area(long factor) const = 0;
  long id;
};
struct Square : Base {
  explicit Square(long side);
  ~Square() override;
  long area(long factor) const override;
  long side;
};
__attribute__((noinline)) Base::Base(long number) : id(number) {
  if (number % 7 == 3) {
    id = number * 2;
  }
}
Base::~Base() {
  if (id % 5 == 1) {
    std::putchar('.');
  }
}
__attribute__((noinline)) Square::Square(long length) : Base(length), side(length) {
  for (long i = 0; i < length % 16; ++i) {
    side ^= i;
  }
}
Square::~Square() { side = 0; }
long Square::area(long factor) const { return side * side * factor; }
static long clamp(long value, long most) { return value > most ? most : value; }
static long sum(const std::vector<long>& values) {
  long total = 0;
  for (const long value : values) {
    total += clamp(value, 1000); if (value % 3 == 0) { total ^= value; }
  }
  return total;
}
__attribute__((noinline)) static long choose(long kind, long value) {
  switch (kind % 5) {
    case 0: return value + 1;
    case 1: return value * 3;
    case 2: return clamp(value, 50);
    case 3: return value >> 2;
    default: return choose(kind / 5, value + 2);
  }
}
__attribute__((noinline)) void scale(float* values, int count, float factor) {
  for (int i = 0; i < count; ++i) {
    values[i] = values[i] * factor + 1;
  }
}
int main(int argc, char** argv) {
  std::vector<Base*> all;
  std::vector<long> numbers;
  float values[64] = {};
  for (long i = 0; i < argc * 1000; ++i) {
    all.push_back(new Square(i));
    numbers.push_back(choose(i, std::atol(argv[0])));
    scale(values, static_cast<int>(i % 64), 0.5F);
  }
  long total = sum(numbers);
  for (const Base* shape : all) {
    total += shape->area(3);
  }
  for (const Base* shape : all) {
    delete shape;
  }
  std::printf("%ld %f\n", total, values[3]);
}
)";

}  // namespace plimsoll::fdo
