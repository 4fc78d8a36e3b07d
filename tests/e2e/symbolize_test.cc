// Symbols by hand: `plimsoll symbolize` and `plimsoll symtab`.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/hex.h"
#include "elf/elf_file.h"
#include "proto/profile_codec.h"
#include "tests/e2e/program.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kBinary = built_file("inline_gcc5.so");
constexpr uint32_t kSymbolTable = 2;  // SHT_SYMTAB

// Of a function of the binary.
uint64_t address_of(const std::string& linkage_name) {
  const std::string content = *read_file(kBinary, 1 << 20);
  uint64_t address = 0;
  elf::ElfFile::parse(as_bytes(content))->for_each_symbol(kSymbolTable, [&](const elf::Symbol& symbol) {
    address = symbol.name == linkage_name ? symbol.address : address;
  });
  EXPECT_NE(address, 0) << linkage_name;
  return address;
}

std::string build_id() {
  const std::string content = *read_file(kBinary, 1 << 20);
  return std::string(elf::ElfFile::parse(as_bytes(content))->build_id());
}

// Our program with standard input and output in pipes.
class CoProcess {
 public:
  explicit CoProcess(std::vector<std::string> argv) {
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    argv[0] = program(argv[0]);
    std::vector<char*> arguments;
    for (std::string& argument : argv) {
      arguments.push_back(argument.data());
    }
    arguments.push_back(nullptr);
    EXPECT_EQ(::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    in_ = in[1];
    out_ = ::fdopen(out[0], "r");
  }
  CoProcess(const CoProcess&) = delete;
  CoProcess& operator=(const CoProcess&) = delete;
  ~CoProcess() {
    ::close(in_);
    ::fclose(out_);
    ::waitpid(pid_, nullptr, 0);
  }

  void write(const std::string& text) const {
    EXPECT_EQ(::write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  json read_line() {
    char* line = nullptr;
    size_t capacity = 0;
    const ssize_t length = ::getline(&line, &capacity, out_);
    const std::string text(length > 0 ? line : "");
    ::free(line);
    return json::parse(text);
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  FILE* out_ = nullptr;
};

std::vector<std::string> functions(const json& answer) {
  std::vector<std::string> functions;
  for (const json& frame : answer["frames"]) {
    functions.push_back(frame["function"]);
  }
  return functions;
}

// With that standard input. A shell connects them.
Finished run_with(const std::string& input, const std::string& arguments) {
  const TemporaryFolder folder;
  std::ofstream(folder / "input") << input;
  return run(
      {"/bin/sh", "-c", fmt::format("'{}' {} < '{}'", program("plimsoll"), arguments, folder / "input")});
}

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(json::parse(line));
  }
  return lines;
}

TEST(Symbolize, NamesAreAsLinkedOrForPeopleOrShort) {
  const std::string name = "_ZN7fixture11in_templateIfEET_S1_";
  const std::string address = fmt::format("{:#x}", address_of(name));
  const auto function = [&](const std::string& names) {
    const Finished finished =
        run_with(address, fmt::format("symbolize --binary '{}' --names {}", kBinary, names));
    EXPECT_EQ(finished.status, 0) << finished.err;
    return functions(lines_of(finished.out).at(0)).back();
  };
  EXPECT_EQ(function("raw"), name);
  EXPECT_EQ(function("display"), "float fixture::in_template<float>(float)");
  EXPECT_EQ(function("short"), "float fixture::in_template<...>(float)");
}

TEST(Symbolize, AnswersEachAddressInItsOrder) {
  const uint64_t hidden = address_of("_ZN7fixture12_GLOBAL__N_16hiddenEi");
  const Finished finished = run_with(fmt::format("{:#x}\n1\n  {:X}\r\n\nffffffffffffffff", hidden, hidden),
                                     fmt::format("symbolize --binary '{}'", kBinary));
  EXPECT_EQ(finished.status, 0) << finished.err;
  const auto lines = lines_of(finished.out);
  ASSERT_EQ(lines.size(), 4);
  EXPECT_EQ(lines[0]["address"], fmt::format("{:#x}", hidden));
  EXPECT_THAT(functions(lines[0]), ElementsAre("fixture::innermost(int)", "fixture::Accumulator::add(int)",
                                               "fixture::(anonymous namespace)::middle",
                                               "fixture::(anonymous namespace)::hidden"));
  const json& innermost = lines[0]["frames"][0];
  EXPECT_THAT(innermost["file"].get<std::string>(), HasSubstr("tests/data/inline_fixture.h"));
  EXPECT_GT(innermost["line"], 0);
  EXPECT_GT(innermost["column"], 0);
  EXPECT_EQ(innermost["inlined"], true);
  EXPECT_EQ(lines[0]["frames"][3]["inlined"], false);
  EXPECT_EQ(lines[1], json::parse(R"({"address": "0x1", "frames": []})"));
  EXPECT_EQ(lines[2], lines[0]);
  EXPECT_THAT(lines[3]["frames"], IsEmpty());
}

TEST(Symbolize, RawNamesAreThoseOfTheLinker) {
  const Finished finished = run_with(fmt::format("{:x}\n", address_of("_ZN7fixture12_GLOBAL__N_16hiddenEi")),
                                     fmt::format("symbolize --binary '{}' --names raw", kBinary));
  EXPECT_THAT(functions(lines_of(finished.out).at(0)),
              ElementsAre("_ZN7fixture9innermostEi", "_ZN7fixture11Accumulator3addEi", "middle",
                          "_ZN7fixture12_GLOBAL__N_16hiddenEi"));
}

// _init has no size: llvm-symbolizer calls by it all that follows up to the next symbol.
TEST(Symbolize, WhereASymbolReachesAnotherSectionPeopleSeeTheSection) {
  const std::string content = *read_file(kBinary, 1 << 20);
  const auto file = elf::ElfFile::parse(as_bytes(content));
  std::string addresses;
  for (const elf::Section& section : file->sections()) {
    if (section.name == ".init" || section.name == ".plt" || section.name == ".plt.got") {
      addresses += fmt::format("{:x}\n", section.address + section.size_bytes - 1);
    }
  }
  const auto names = [&](const std::string& form) {
    const Finished finished =
        run_with(addresses, fmt::format("symbolize --binary '{}' --names {}", kBinary, form));
    EXPECT_EQ(finished.status, 0) << finished.err;
    std::vector<std::string> innermost;
    for (const json& line : lines_of(finished.out)) {
      innermost.push_back(functions(line).at(0));
    }
    return innermost;
  };
  EXPECT_THAT(names("raw"), ElementsAre("_init", "_init", "_init"));
  EXPECT_THAT(names("display"), ElementsAre("_init", ".plt", ".plt.got"));
}

TEST(Symbolize, AnswersBeforeItIsAskedAgain) {
  CoProcess symbolize({"plimsoll", "symbolize", "--binary", kBinary});
  const uint64_t address = address_of("plain_c");
  for (int i = 0; i < 3; ++i) {
    symbolize.write(fmt::format("{:x}\n", address + i));
    const json answer = symbolize.read_line();
    EXPECT_EQ(answer["address"], fmt::format("{:#x}", address + i));
    EXPECT_EQ(functions(answer).back(), "plain_c");
  }
  // In pieces, too.
  symbolize.write("0x");
  symbolize.write("1\n2\n");
  EXPECT_EQ(symbolize.read_line()["address"], "0x1");
  EXPECT_EQ(symbolize.read_line()["address"], "0x2");
}

TEST(Symbolize, LinesWithoutAnAddressAreAnsweredAndCounted) {
  const Finished finished =
      run_with("1\nmain\n0x\n11112222333344445\n\"\xff\n" + std::string(100'000, '1') + "\n2\n",
               fmt::format("symbolize --binary '{}'", kBinary));
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("5 of 7 lines"), HasSubstr("line 2: \"main\"")));
  const auto lines = lines_of(finished.out);
  ASSERT_EQ(lines.size(), 7);
  for (size_t i = 1; i < 6; ++i) {
    EXPECT_THAT(lines[i]["frames"], IsEmpty());
    EXPECT_THAT(lines[i]["error"].get<std::string>(), HasSubstr(fmt::format("line {}", i + 1)));
  }
  EXPECT_EQ(lines[4]["address"], "\"\xef\xbf\xbd");
  EXPECT_EQ(lines[6]["address"], "0x2");
}

TEST(Symbolize, OfABinaryWithoutSymbolsNothingIsKnown) {
  const TemporaryFolder folder;
  const std::string bare = folder / "bare";
  ASSERT_EQ(run({"/bin/sh", "-c",
                 fmt::format("strip --strip-all -R .dynsym -o '{}' '{}' 2>/dev/null", bare,
                             program("siblings.so"))})
                .status,
            0);
  const Finished finished = run_with("1000\n", fmt::format("symbolize --binary '{}'", bare));
  EXPECT_EQ(finished.status, 0);
  EXPECT_EQ(finished.out, "{\"address\": \"0x1000\", \"frames\": []}\n");
  EXPECT_THAT(finished.err, AllOf(HasSubstr("has no symbols: "), HasSubstr("--debug")));
}

TEST(Symbolize, NothingButElfIsABinary) {
  const Finished finished = run_with("1\n", "symbolize --binary /etc/passwd");
  EXPECT_EQ(finished.status, 1);
  EXPECT_THAT(finished.err, AllOf(HasSubstr("/etc/passwd"), HasSubstr("not an ELF file")));
  EXPECT_EQ(finished.out, "");
}

TEST(Symbolize, SaysWhatItNeedsToKnow) {
  EXPECT_EQ(run({"plimsoll", "symbolize"}).status, 2);
  EXPECT_THAT(run({"plimsoll", "symbolize"}).err, HasSubstr("--binary FILE"));
  EXPECT_EQ(run({"plimsoll", "symbolize", "--build-id", "ab"}).status, 2);
  EXPECT_EQ(run({"plimsoll", "symbolize", "--binary", kBinary, "--names", "pretty"}).status, 2);
}

TEST(Symbolize, OfABuildThatADataDirectoryHasSymbolsOf) {
  const TemporaryFolder folder;
  const uint64_t address = address_of("plain_c");
  auto profile = make_profile({.stacks = "main 1\n"});
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity(build_id());
  binary.set_path(kBinary);
  add_sample(profile, binary, wire::ELF, address, 1);
  std::ofstream(folder / "profile", std::ios::binary) << wire::encode(profile);
  const Finished imported = run(
      {"plimsoll", "import", "--data", folder / "data", "--symbol-root", built_file(), folder / "profile"});
  ASSERT_EQ(imported.status, 0) << imported.err;

  const std::string of_data = fmt::format("symbolize --data '{}' --build-id ", folder / "data");
  const Finished known = run_with(fmt::format("{:x}\n", address), of_data + to_hex(build_id()));
  EXPECT_EQ(known.status, 0) << known.err;
  EXPECT_EQ(functions(lines_of(known.out).at(0)).back(), "plain_c");
  const Finished unknown = run_with("1\n", of_data + "abcdef");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no symbol table of build abcdef"), HasSubstr("--binary")));
  EXPECT_EQ(run_with("1\n", of_data + "xyz").status, 2);
}

// --- symbol tables

class SymbolTables : public ::testing::Test {
 protected:
  SymbolTables() { built_ = run({"plimsoll", "symtab", "build", kBinary, "-o", table_}); }

  void damage() const {
    std::fstream file(table_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(table_)) - 20);
    file.put('\x55');
  }

  TemporaryFolder folder_;
  std::string table_ = folder_ / "table";
  Finished built_;
};

TEST_F(SymbolTables, AreMadeOnceAndAskedOften) {
  EXPECT_EQ(built_.status, 0) << built_.err;
  EXPECT_THAT(built_.out, AllOf(HasSubstr(to_hex(build_id())), HasSubstr("full DWARF")));
  const std::string input = fmt::format("{:x}\n", address_of("plain_c"));
  const Finished by_table = run_with(input, fmt::format("symbolize --table '{}'", table_));
  const Finished by_binary = run_with(input, fmt::format("symbolize --binary '{}'", kBinary));
  EXPECT_EQ(by_table.status, 0) << by_table.err;
  EXPECT_EQ(by_table.out, by_binary.out);
}

TEST_F(SymbolTables, OfAStrippedBinaryAndItsDebugFileSayTheSame) {
  const std::string split = folder_ / "split";
  const Finished built = run(
      {"plimsoll", "symtab", "build", program("split.so"), "--debug", program("split.debug"), "-o", split});
  EXPECT_EQ(built.status, 0) << built.err;
  EXPECT_EQ(run({"plimsoll", "symtab", "dump", split, "--json"}).out.substr(0, 200),
            run({"plimsoll", "symtab", "dump", table_, "--json"}).out.substr(0, 200));
}

TEST_F(SymbolTables, AreShownForPeopleAndForPrograms) {
  const Finished text = run({"plimsoll", "symtab", "dump", table_});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("build ID: " + to_hex(build_id()) + "\n"), HasSubstr("quality: full DWARF\n"),
                    HasSubstr(fmt::format("{:#x} plain_c ", address_of("plain_c")))));
  const auto lines = lines_of(run({"plimsoll", "symtab", "dump", table_, "--json"}).out);
  EXPECT_EQ(lines.at(0)["identity"], to_hex(build_id()));
  EXPECT_EQ(lines.at(0)["rows"], lines.size() - 1);
}

TEST_F(SymbolTables, DamageIsFound) {
  EXPECT_EQ(run({"plimsoll", "symtab", "verify", table_}).status, 0);
  damage();
  const Finished verified = run({"plimsoll", "symtab", "verify", table_});
  EXPECT_EQ(verified.status, 1);
  EXPECT_THAT(verified.err, AllOf(HasSubstr(table_), HasSubstr("damaged"), HasSubstr("symtab build")));
  // It is shown as far as it goes.
  EXPECT_EQ(run({"plimsoll", "symtab", "dump", table_}).status, 0);
  std::filesystem::resize_file(table_, 100);
  EXPECT_EQ(run({"plimsoll", "symtab", "verify", table_}).status, 1);
  EXPECT_EQ(run({"plimsoll", "symtab", "dump", table_}).status, 1);
}

TEST_F(SymbolTables, OfBothReadersAreCompared) {
  const Finished compared =
      run({"plimsoll", "symtab", "verify", "--libdw", kBinary, "--addresses", "2000", "--seed", "7"});
  EXPECT_EQ(compared.status, 0) << compared.err;
  EXPECT_THAT(compared.out, AllOf(HasSubstr("of 2000 addresses have equal chains"), HasSubstr("seed 7")));
  // libdw reads no split DWARF, and so none of the inlined calls.
  const Finished split =
      run({"plimsoll", "symtab", "verify", "--libdw", program("inline_gcc5_dwo.so"), "--addresses", "2000"});
  EXPECT_EQ(split.status, 1) << split.out;
  EXPECT_THAT(split.out, HasSubstr("\n  libdw: "));
  EXPECT_THAT(split.err, HasSubstr("fewer than 99.9 % of the chains are equal"));
  const Finished without_dwarf =
      run({"plimsoll", "symtab", "verify", "--libdw", program("symbol_fixture.so")});
  EXPECT_EQ(without_dwarf.status, 1);
  EXPECT_THAT(without_dwarf.err, HasSubstr("reads no lines"));
  EXPECT_EQ(run({"plimsoll", "symtab", "verify"}).status, 2);
  EXPECT_EQ(run({"plimsoll", "symtab", "verify", table_, "--libdw", kBinary}).status, 2);
}

TEST_F(SymbolTables, SayHowManyUnitsLibdwHasRead) {
  const std::string table = folder_ / "relocatable";
  const Finished built = run({"plimsoll", "symtab", "build", program("relocatable_gcc5.o"), "-o", table});
  EXPECT_EQ(built.status, 0) << built.err;
  EXPECT_THAT(built.out, AllOf(HasSubstr("full DWARF"), HasSubstr("libdw_units_relocatable: 1\n")));
  EXPECT_THAT(run({"plimsoll", "symtab", "dump", table}).out, HasSubstr("libdw_units_relocatable: 1\n"));
  EXPECT_EQ(
      lines_of(run({"plimsoll", "symtab", "dump", table, "--json"}).out).at(0)["libdw_units_relocatable"], 1);
  EXPECT_THAT(run({"plimsoll", "symtab", "dump", table_}).out, Not(HasSubstr("libdw")));
}

TEST_F(SymbolTables, NobodyIsToldOfTheWorker) {
  EXPECT_THAT(run({"plimsoll", "symtab", "--help"}).out,
              AllOf(HasSubstr("verify"), Not(HasSubstr("  worker"))));
  const Finished by_hand = run_with("what is this?", "symtab worker");
  EXPECT_EQ(by_hand.status, 2);
  EXPECT_THAT(by_hand.err, HasSubstr("plimsoll symtab build"));
}

}  // namespace
}  // namespace plimsoll::testing
