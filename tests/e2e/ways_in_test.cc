// Rows of a stripped program, whose debug information comes later, by each way in: they change from addresses to the chains that
// llvm-symbolizer-19 has of the program before it was stripped, and no row is rewritten.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "proto/pprof.pb.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/gunzip.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"
#include "tests/symbols/comparison.h"
#include "tests/symbols/llvm_symbolizer.h"
#include "tests/unit/symbolizer/build_id_of.h"
#include "tests/unit/symbolizer/debuginfod/fake_debuginfod.h"

namespace plimsoll::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr double kMinShare = 0.999;
constexpr size_t kAddresses = 4'000;
constexpr uint64_t kMaxFileBytes = 64 << 20;

using ChainsByAddress = std::map<uint64_t, Chain>;

std::string variant_path(const std::string& name) {
  return built_file("symbol_mix/") + name;
}

// Of an export: the frames of each location that lies in a binary. Mappings keep the low half of its addresses (PprofWriter).
ChainsByAddress chains_of(const pprof::Profile& profile) {
  const auto text = [&](int64_t index) { return profile.string_table(static_cast<int>(index)); };
  ChainsByAddress chains;
  for (const auto& location : profile.location()) {
    if (location.mapping_id() == 0) {
      continue;
    }
    Chain& chain = chains[location.address() & UINT32_MAX];
    for (const auto& line : location.line()) {
      const auto& function = profile.function(static_cast<int>(line.function_id()) - 1);
      const int64_t name = function.system_name() == 0 ? function.name() : function.system_name();
      chain.push_back({text(name), text(function.filename()), static_cast<uint64_t>(line.line())});
    }
  }
  return chains;
}

// A row's frames are functions: a line of code that no function has is no frame.
Chain with_functions(Chain chain) {
  std::erase_if(chain, [](const ChainFrame& frame) { return frame.function.empty(); });
  return chain;
}

class WaysIn : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"bin", "debug"}) {
      std::filesystem::create_directory(folder_ / folder);
    }
  }

  void shell(const std::string& command) const {
    const Finished finished = run({"/bin/sh", "-c", fmt::format("cd '{}' && {}", folder_.path(), command)});
    ASSERT_EQ(finished.status, 0) << command << ": " << finished.err;
  }

  // Makes bin/program, which is the variant without symbols, and program.debug, and rows of addresses all over its code.
  void profile_stripped(const std::string& variant) {
    whole_ = variant_path(variant);
    shell(fmt::format(
        "strip --strip-all -o bin/program '{0}' && objcopy --only-keep-debug '{0}' program.debug", whole_));
    build_id_ = symbolizer::build_id_of(whole_);
    const auto addresses = random_addresses(whole_, kAddresses, 1);
    ASSERT_TRUE(addresses) << addresses.error().text();
    wire::Binary binary;
    binary.set_identity_kind(wire::GNU_BUILD_ID);
    binary.set_identity(build_id_);
    binary.set_path(folder_ / "bin/program");
    // Now: a server fetches what recent rows lack.
    wire::RawProfile profile =
        make_profile({.from_ns = wall_now_ns() - 60 * kNsPerSecond, .stacks = "main 1\n"});
    addresses_ = *addresses;
    std::ranges::sort(addresses_);
    addresses_.erase(std::ranges::unique(addresses_).begin(), addresses_.end());
    for (const uint64_t address : addresses_) {
      add_sample(profile, binary, wire::ELF, address, 1);
    }
    std::ofstream(folder_ / "profile", std::ios::binary) << wire::encode(profile);
    import_profiles({folder_ / "profile"});
    const ChainsByAddress rows = exported({"--data", data_dir_});
    ASSERT_EQ(rows.size(), addresses_.size());
    ASSERT_THAT(rows, Each(Pair(::testing::_, IsEmpty()))) << "the program is stripped";
    rows_before_ = row_hashes();
    ASSERT_FALSE(rows_before_.empty());
  }

  void import_profiles(const std::vector<std::string>& profiles) const {
    std::vector<std::string> arguments{"plimsoll",      "import",        "--data",       data_dir_,
                                       "--symbol-root", folder_ / "bin", "--debug-root", folder_ / "debug"};
    arguments.insert(arguments.end(), profiles.begin(), profiles.end());
    const Finished imported = run(arguments);
    ASSERT_EQ(imported.status, 0) << imported.err;
  }
  void look_for_better_symbols() const { import_profiles({}); }

  void add(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"plimsoll", "binaries", "add"});
    const Finished added = run(arguments);
    ASSERT_EQ(added.status, 0) << added.err;
    EXPECT_THAT(added.out, HasSubstr(to_hex(build_id_)));
  }

  std::unique_ptr<TestServer> start_server(const std::string& symbols) const {
    auto server = std::make_unique<TestServer>(
        data_dir_, fmt::format("[symbols]\nroots = [\"{}\"]\ndebug_roots = [\"{}\"]\n{}", folder_ / "bin",
                               folder_ / "debug", symbols));
    EXPECT_TRUE(server->becomes_ready()) << server->process().err();
    return server;
  }

  static ChainsByAddress exported(std::vector<std::string> source) {
    source.insert(source.begin(), {"plimsoll", "export", "--pprof", "-"});
    const Finished finished = run(source);
    pprof::Profile profile;
    EXPECT_EQ(finished.status, 0) << finished.err;
    EXPECT_TRUE(finished.status == 0 && profile.ParseFromString(gunzip(finished.out)));
    return chains_of(profile);
  }

  std::map<std::string, std::string> row_hashes() const {
    std::map<std::string, std::string> hashes;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir_ + "/blocks")) {
      if (entry.path().extension() == ".rows") {
        const auto content = read_file(entry.path(), kMaxFileBytes);
        EXPECT_TRUE(content) << content.error().text();
        hashes[entry.path()] = to_hex(content_hash(as_bytes(content.value_or(""))));
      }
    }
    return hashes;
  }

  // `asked` is the file that llvm-symbolizer is asked about.
  void expect_chains(const ChainsByAddress& rows, const std::string& asked) const {
    Agreement agreement;
    const auto compared = ask_llvm_symbolizer(asked, addresses_, [&](uint64_t address, const Chain& theirs) {
      const auto row = rows.find(address);
      agreement.add(address, row == rows.end() ? Chain() : row->second, with_functions(theirs));
    });
    ASSERT_TRUE(compared) << compared.error().text();
    EXPECT_EQ(agreement.compared(), addresses_.size());
    EXPECT_LT(agreement.unknown_to_them(), addresses_.size() / 10) << "there is something to compare";
    EXPECT_GE(agreement.share(), kMinShare) << agreement.summary() << "\n" << agreement.details();
    EXPECT_EQ(row_hashes(), rows_before_) << "no row is rewritten";
  }
  void look_again_and_expect_chains(const std::string& asked) const {
    look_for_better_symbols();
    expect_chains(exported({"--data", data_dir_}), asked);
  }
  // All names of a build come in one transaction.
  void expect_chains_of(const TestServer& server, const std::string& asked) const {
    ChainsByAddress rows;
    EXPECT_TRUE(eventually(
        [&] {
          rows = exported({"--server", server.address()});
          return std::ranges::any_of(rows, [](const auto& row) { return !row.second.empty(); });
        },
        std::chrono::milliseconds(100)))
        << server.process().err();
    expect_chains(rows, asked);
  }

  // As Debian's packages of debug symbols lay it out.
  std::string path_by_build_id() const {
    const std::string hex = to_hex(build_id_);
    return ".build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug";
  }
  void copy_debug_file_to(const std::string& path) const {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::filesystem::copy_file(folder_ / "program.debug", path);
  }

  TemporaryFolder folder_;
  const std::string data_dir_ = folder_ / "data";
  std::string whole_;
  std::string build_id_;
  std::vector<uint64_t> addresses_;  // in order, each once
  std::map<std::string, std::string> rows_before_;
};

TEST_F(WaysIn, AFileThatIsPut) {
  ASSERT_NO_FATAL_FAILURE(profile_stripped("gcc_5"));
  const auto server = start_server("retry = \"24h\"\n");
  add({folder_ / "program.debug", "--server", server->address()});
  expect_chains_of(*server, whole_);
}

TEST_F(WaysIn, AFileThatIsAddedWithoutAServer) {
  ASSERT_NO_FATAL_FAILURE(profile_stripped("clang_4"));
  add({folder_ / "program.debug", "--data", data_dir_});
  look_again_and_expect_chains(whole_);
}

TEST_F(WaysIn, AFolderThatIsAdded) {
  ASSERT_NO_FATAL_FAILURE(profile_stripped("gcc_5"));
  copy_debug_file_to(folder_ / "build/lib/program.debug");
  std::filesystem::copy_file(folder_ / "bin/program", folder_ / "build/program");
  add({folder_ / "build", "--data", data_dir_});
  look_again_and_expect_chains(whole_);
}

TEST_F(WaysIn, ADebianPackage) {
  ASSERT_NO_FATAL_FAILURE(profile_stripped("gcc_5"));
  copy_debug_file_to(folder_ / "package/usr/lib/debug/" + path_by_build_id());
  std::filesystem::create_directory(folder_ / "package/DEBIAN");
  std::ofstream(folder_ / "package/DEBIAN/control") << "Package: program-dbgsym\nVersion: 1.0\nArchitecture: "
                                                       "amd64\nMaintainer: Nobody <nobody@example.org>\n"
                                                       "Description: debug symbols of program\n";
  ASSERT_NO_FATAL_FAILURE(shell("dpkg-deb --build package program-dbgsym.deb"));
  add({folder_ / "program-dbgsym.deb", "--data", data_dir_});
  look_again_and_expect_chains(whole_);
}

TEST_F(WaysIn, ADebuginfod) {
  ASSERT_NO_FATAL_FAILURE(profile_stripped("clang_5"));
  const std::string debug = read_file(folder_ / "program.debug", kMaxFileBytes).value();
  const std::string path = "/buildid/" + to_hex(build_id_) + "/debuginfo";
  const symbolizer::FakeDebuginfod debuginfod([&](const std::string& asked, int socket) {
    symbolizer::FakeDebuginfod::answer(socket, asked == path ? 200 : 404,
                                       asked == path ? debug : "not found");
  });
  const auto server = start_server(fmt::format("retry = \"1s\"\ndebuginfod = [\"{}\"]\n", debuginfod.url()));
  expect_chains_of(*server, whole_);
}

TEST_F(WaysIn, ADebugLink) {
  ASSERT_NO_FATAL_FAILURE(profile_stripped("gcc_4"));
  ASSERT_NO_FATAL_FAILURE(shell("objcopy --add-gnu-debuglink=program.debug bin/program"));
  look_for_better_symbols();
  EXPECT_THAT(exported({"--data", data_dir_}), Each(Pair(::testing::_, IsEmpty()))) << "nothing is there yet";
  copy_debug_file_to(folder_ / "bin/program.debug");
  look_again_and_expect_chains(whole_);
}

TEST_F(WaysIn, AFolderOfDebugFilesByBuildId) {
  ASSERT_NO_FATAL_FAILURE(profile_stripped("gcc_zstd"));
  copy_debug_file_to(folder_ / "debug/" + path_by_build_id());
  look_again_and_expect_chains(whole_);
}

// A symbol table without DWARF. llvm-symbolizer is asked about one, since it need not be built with what decompresses it.
TEST_F(WaysIn, GnuDebugdata) {
  ASSERT_NO_FATAL_FAILURE(profile_stripped("gcc_5"));
  ASSERT_NO_FATAL_FAILURE(
      shell(fmt::format("objcopy --strip-debug '{}' symbols && xz --keep symbols && "
                        "objcopy --add-section .gnu_debugdata=symbols.xz bin/program bin/new && "
                        "mv bin/new bin/program",
                        whole_)));
  look_again_and_expect_chains(folder_ / "symbols");
}

// The debug file has the skeletons of units alone: the rest is in .dwo files.
TEST_F(WaysIn, SplitDwarf) {
  ASSERT_NO_FATAL_FAILURE(profile_stripped("gcc_split_5"));
  copy_debug_file_to(folder_ / "debug/" + path_by_build_id());
  ASSERT_NO_FATAL_FAILURE(shell(fmt::format("cp '{}'-*.dwo bin", whole_)));
  look_again_and_expect_chains(whole_);
}

// llvm-symbolizer reads no supplementary files, so that it is asked about the DWARF before dwz took it apart.
TEST_F(WaysIn, ADebugFileWithASupplementOfDwz) {
  ASSERT_NO_FATAL_FAILURE(profile_stripped("gcc_supplement_5"));
  add({folder_ / "program.debug", variant_path("gcc_supplement_5.shared"), "--data", data_dir_});
  look_again_and_expect_chains(variant_path("gcc_5"));
}

}  // namespace
}  // namespace plimsoll::testing
