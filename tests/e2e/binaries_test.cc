// Binaries that are added to a server: old profiles get names, and other tools get the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/checksum.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/time.h"
#include "elf/elf_file.h"
#include "http/address.h"
#include "http/client.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

constexpr uint32_t kSymbolTableSection = 2;  // SHT_SYMTAB
constexpr uint64_t kMaxFixtureBytes = 64 << 20;

// A stripped library, its debug file, and what both were made of.
const std::string kStripped = built_file("split.so");
const std::string kDebugFile = built_file("split.debug");
const std::string kWhole = built_file("inline_gcc5.so");

std::string content_of(const std::string& path) {
  const auto content = read_file(path, kMaxFixtureBytes);
  EXPECT_TRUE(content) << content.error().text();
  return content.value_or("");
}

std::string stripped_build_id() {
  const std::string content = content_of(kStripped);
  return std::string(elf::ElfFile::parse(as_bytes(content))->build_id());
}

// Of a function that the library does not export.
uint64_t address_of_hidden() {
  const std::string content = content_of(kWhole);
  uint64_t address = 0;
  elf::ElfFile::parse(as_bytes(content))
      ->for_each_symbol(kSymbolTableSection, [&](const elf::Symbol& symbol) {
        address = symbol.name == "_ZN7fixture12_GLOBAL__N_16hiddenEi" ? symbol.address : address;
      });
  EXPECT_NE(address, 0);
  return address;
}

// When rows were written, and how many bytes.
std::map<std::string, std::string> row_files(const std::string& data_dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir + "/blocks")) {
    struct stat info{};
    if (entry.path().extension() == ".rows" && ::stat(entry.path().c_str(), &info) == 0) {
      files[entry.path().string()] =
          fmt::format("{} {}.{:09} {}", info.st_ino, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, info.st_size);
    }
  }
  return files;
}

class Binaries : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(server_.becomes_ready()) << server_.process().err(); }

  void send_profile() {
    wire::Binary binary;
    binary.set_identity_kind(wire::GNU_BUILD_ID);
    binary.set_identity(stripped_build_id());
    binary.set_path("/nowhere/split.so");
    wire::RawProfile profile =
        make_profile({.seed = 1, .from_ns = wall_now_ns() - 60 * kNsPerSecond, .stacks = "main 1\n"});
    add_sample(profile, binary, wire::ELF, address_of_hidden(), 99);
    http::Client daemon({.base_url = server_.fleet_address()});
    const auto sent =
        daemon.send("PUT", "/fleet/v1/profiles/" + to_hex(profile.profile_id()), wire::encode(profile));
    ASSERT_TRUE(sent && sent->ok()) << (sent ? sent->body : sent.error().text());
    ASSERT_TRUE(eventually([this] {
      const Finished top = run({"plimsoll", "top", "--server", server_.address(), "--csv"});
      return top.out.find("[no symbol in split.so]") != std::string::npos;
    }));
  }

  std::map<std::string, double> functions() { return self_of(top({"--server", server_.address()})); }

  Finished binaries(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plimsoll", "binaries"});
    arguments.insert(arguments.end(), {"--server", server_.address()});
    return run(arguments);
  }

  Finished shell(const std::string& command) const {
    return run({"/bin/sh", "-c",
                fmt::format("export DEBUGINFOD_URLS='http://{}' DEBUGINFOD_CACHE_PATH='{}'; {}",
                            server_.address(), folder_ / "cache", command)});
  }

  TemporaryFolder folder_;
  std::string data_dir_ = folder_ / "data";
  // Names come because a file has arrived, and not because it was time to look.
  TestServer server_{data_dir_, "[symbols]\nretry = \"24h\"\n"};
};

// A body that ends in an error, as where the client dies.
class CutSource : public http::BodySource {
 public:
  explicit CutSource(std::string content) : content_(std::move(content)) {}

  Result<size_t> give(std::span<char> room) override {
    if (at_ == content_.size()) {
      return fail(ErrorCode::kIo, "it is cut here");
    }
    const size_t bytes = content_.copy(room.data(), room.size(), at_);
    at_ += bytes;
    return bytes;
  }

 private:
  const std::string content_;
  size_t at_ = 0;
};

// What came before is used: where that was another file, the hash tells, and the next attempt begins again.
TEST_F(Binaries, ALargeFileGoesOnWhereAnUploadOfItWasCut) {
  const std::string debug = content_of(kDebugFile);
  const std::string content = debug + std::string(2 << 20, '\0');
  std::ofstream(folder_ / "large.debug", std::ios::binary) << content;
  const std::string path = "/api/v1/binaries/?digest=" + to_hex(content_hash(as_bytes(content)));
  http::Client client({.base_url = server_.address()});
  const auto cut = [&](const std::string& beginning) {
    CutSource source(beginning);
    EXPECT_FALSE(client.send_stream(path, source, {}));
    return eventually([&] {
      const auto offset = client.send("GET", path);
      return offset && offset->body == fmt::format("{}\n", beginning.size());
    });
  };
  ASSERT_TRUE(cut(debug + "another file")) << server_.process().err();
  const Finished refused = binaries({"add", folder_ / "large.debug"});
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.err, HasSubstr("as stated"));
  ASSERT_TRUE(cut(content.substr(0, debug.size() + 100))) << server_.process().err();
  const Finished added = binaries({"add", folder_ / "large.debug"});
  EXPECT_EQ(added.status, 0) << added.err;
  const auto kept = client.send("GET", "/buildid/" + to_hex(stripped_build_id()) + "/debuginfo");
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_TRUE(kept->body == content);
}

TEST_F(Binaries, OldRowsGetNamesAndAreNotRewritten) {
  send_profile();
  const auto files_before = row_files(data_dir_);
  ASSERT_FALSE(files_before.empty());
  const std::string hex = to_hex(stripped_build_id());

  EXPECT_THAT(binaries({"missing", "--csv"}).out, HasSubstr("split.so," + hex));
  const Finished stripped = binaries({"add", kStripped});
  ASSERT_EQ(stripped.status, 0) << stripped.err;
  EXPECT_THAT(stripped.out, HasSubstr("added"));
  EXPECT_THAT(binaries({"missing", "--csv"}).out, HasSubstr("executable (dynsym)"));
  EXPECT_THAT(functions(), Contains(Key("[no symbol in split.so]"))) << "it is stripped";

  const Finished debug = binaries({"add", kDebugFile, "--revision", "4f2c"});
  ASSERT_EQ(debug.status, 0) << debug.err;
  EXPECT_TRUE(eventually([this] { return !functions().contains("[no symbol in split.so]"); }));
  EXPECT_THAT(functions(), Contains(Key(HasSubstr("hidden"))));
  EXPECT_EQ(row_files(data_dir_), files_before);
  EXPECT_THAT(binaries({"missing", "--csv"}).out, Not(HasSubstr(hex)));

  const Finished shown = binaries({"show", hex.substr(0, 10), "--csv"});
  EXPECT_THAT(shown.out, HasSubstr("executable,dynsym"));
  EXPECT_THAT(shown.out, HasSubstr("debug,full DWARF"));
  EXPECT_THAT(shown.out, HasSubstr("4f2c"));
  EXPECT_THAT(binaries({"list", "--csv"}).out, HasSubstr(hex));
  EXPECT_THAT(binaries({"add", kDebugFile, "--csv"}).out, HasSubstr("known"));
}

TEST_F(Binaries, AFolderIsAddedAndVerified) {
  std::filesystem::create_directories(folder_ / "build/lib");
  std::filesystem::copy_file(kStripped, folder_ / "build/lib/split.so");
  std::filesystem::copy_file(kDebugFile, folder_ / "build/split.debug");
  std::ofstream(folder_ / "build/README") << "text";
  const Finished added = binaries({"add", folder_ / "build", "--csv"});
  EXPECT_EQ(added.status, 0) << added.err;
  EXPECT_THAT(added.out, HasSubstr("lib/split.so"));
  EXPECT_THAT(added.out, HasSubstr("split.debug"));
  const Finished verified = run({"plimsoll", "binaries", "verify", "--data", data_dir_});
  EXPECT_EQ(verified.status, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("verified 2 files of 1 builds"));
}

TEST_F(Binaries, NamesComeWithoutAServerToo) {
  const std::string data_dir = folder_ / "alone";
  wire::Binary binary;
  binary.set_identity_kind(wire::GNU_BUILD_ID);
  binary.set_identity(stripped_build_id());
  binary.set_path("/nowhere/split.so");
  wire::RawProfile profile = make_profile({.seed = 2, .stacks = "main 1\n"});
  add_sample(profile, binary, wire::ELF, address_of_hidden(), 99);
  std::ofstream(folder_ / "profile", std::ios::binary) << wire::encode(profile);
  ASSERT_EQ(run({"plimsoll", "import", "--data", data_dir, folder_ / "profile"}).status, 0);
  EXPECT_THAT(self_of(top({"--data", data_dir})), Contains(Key("[no symbol in split.so]")));
  const Finished added = run({"plimsoll", "binaries", "add", kDebugFile, "--data", data_dir});
  ASSERT_EQ(added.status, 0) << added.err;
  ASSERT_EQ(run({"plimsoll", "import", "--data", data_dir}).status, 0);
  EXPECT_THAT(self_of(top({"--data", data_dir})), Contains(Key(HasSubstr("hidden"))));
}

TEST_F(Binaries, ASampledStrippedProgramGetsItsNames) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  std::ofstream(folder_ / "spin.c") << R"(static volatile unsigned long turns;
__attribute__((noinline)) static void spin_here(void) {
  for (unsigned long i = 0; i < 1000000; ++i) {
    turns += i;
  }
}
int main(void) {
  for (;;) {
    spin_here();
  }
}
)";
  const Finished built =
      run({"/bin/sh", "-c",
           fmt::format("cd '{}' && gcc -O1 -g -Wl,--build-id=sha1 spin.c -o spin && objcopy "
                       "--only-keep-debug spin spin.debug && strip --strip-all spin && mkdir empty",
                       folder_.path())});
  ASSERT_EQ(built.status, 0) << built.err;
  {
    const Background load({folder_ / "spin"});
    const Finished once = run({"plimsolld", "--once", "2", "--rate", "499", "--output", folder_ / "profile"});
    ASSERT_EQ(once.status, 0) << once.err;
  }
  const std::string data_dir = folder_ / "sampled";
  ASSERT_EQ(
      run({"plimsoll", "import", "--data", data_dir, "--symbol-root", folder_ / "empty", folder_ / "profile"})
          .status,
      0);
  const auto functions = [&] { return self_of(top({"--data", data_dir, "--where", "app=spin"})); };
  EXPECT_THAT(functions(), Contains(Key("[no symbol in spin]")));
  const auto files_before = row_files(data_dir);
  const Finished added = run({"plimsoll", "binaries", "add", folder_ / "spin.debug", "--data", data_dir});
  ASSERT_EQ(added.status, 0) << added.err;
  ASSERT_EQ(run({"plimsoll", "import", "--data", data_dir, "--symbol-root", folder_ / "empty"}).status, 0);
  EXPECT_THAT(functions(), Contains(Key("spin_here")));
  EXPECT_EQ(row_files(data_dir), files_before);
}

TEST_F(Binaries, DebuginfodFindGetsThem) {
  if (shell("command -v debuginfod-find").status != 0) {
    GTEST_SKIP() << "debuginfod-find is missing (Debian package debuginfod)";
  }
  ASSERT_EQ(binaries({"add", kStripped, kDebugFile}).status, 0);
  const std::string hex = to_hex(stripped_build_id());
  for (const auto& [artifact, path] :
       std::map<std::string, std::string>{{"executable", kStripped}, {"debuginfo", kDebugFile}}) {
    const Finished found = shell(fmt::format("debuginfod-find {} {}", artifact, hex));
    ASSERT_EQ(found.status, 0) << found.err;
    const std::string fetched = found.out.substr(0, found.out.find('\n'));
    EXPECT_EQ(content_of(fetched), content_of(path)) << fetched;
  }
  EXPECT_NE(shell("debuginfod-find debuginfo 00112233445566778899").status, 0);
}

TEST_F(Binaries, DebuginfodFindGetsTheSourcesThatWereAdded) {
  if (shell("command -v debuginfod-find").status != 0) {
    GTEST_SKIP() << "debuginfod-find is missing (Debian package debuginfod)";
  }
  std::filesystem::create_directories(folder_ / "src/lib/.git");
  std::ofstream(folder_ / "src/main.c") << "int main(void) { return 0; }\n";
  std::ofstream(folder_ / "src/lib/a b+.h") << "int b;\n";
  std::ofstream(folder_ / "src/lib/.git/hidden.c") << "hidden\n";
  std::ofstream(folder_ / "src/secret.key") << "secret\n";
  std::filesystem::create_symlink("/etc/passwd", folder_ / "src/link.c");
  const std::string hex = to_hex(stripped_build_id());
  const auto source = [&](const std::string& path) {
    const Finished found = shell(fmt::format("debuginfod-find source {} '{}'", hex, path));
    return found.status == 0 ? content_of(found.out.substr(0, found.out.find('\n'))) : std::string();
  };
  const Finished added =
      binaries({"add", kDebugFile, "--sources", "/build/app = " + (folder_ / "src"), "--csv"});
  ASSERT_EQ(added.status, 0) << added.err;
  EXPECT_THAT(added.out, HasSubstr(hex + ",sources"));
  EXPECT_EQ(source("/build/app/main.c"), "int main(void) { return 0; }\n");
  EXPECT_EQ(source("/build/app/x/../lib/a b+.h"), "int b;\n");
  for (const char* missing : {"/build/app/lib/.git/hidden.c", "/build/app/secret.key", "/build/app/link.c",
                              "/etc/passwd", "/build/app/../../etc/passwd"}) {
    EXPECT_EQ(source(missing), "") << missing;
  }
  ASSERT_EQ(shell(fmt::format("cd '{}' && tar -czf src.tar.gz --transform='s,^,build/other/,' src/main.c",
                              folder_.path()))
                .status,
            0);
  const Finished replaced = binaries({"add", kDebugFile, "--sources", folder_ / "src.tar.gz", "--csv"});
  EXPECT_THAT(replaced.out, HasSubstr("replaced")) << replaced.err;
  EXPECT_EQ(source("/build/other/src/main.c"), "int main(void) { return 0; }\n");
  EXPECT_NE(binaries({"add", kDebugFile, "--sources", "/nowhere"}).status, 0);
  EXPECT_EQ(run({"plimsoll", "binaries", "verify", "--data", data_dir_}).status, 0);
}

// A server that fetches from debuginfod servers what it lacks.
class FetchedBinaries : public Binaries {
 protected:
  void SetUp() override {}

  // Waits until elfutils' debuginfod serves a folder with these files.
  std::unique_ptr<Background> start_debuginfod(const std::string& address,
                                               const std::vector<std::string>& files) {
    std::filesystem::create_directories(folder_ / "served");
    for (const std::string& file : files) {
      std::filesystem::copy_file(file, folder_ / "served/" + std::filesystem::path(file).filename().string());
    }
    auto started = std::make_unique<Background>(std::vector<std::string>{
        "/usr/bin/env", "-u", "DEBUGINFOD_URLS", "debuginfod", "-p", address.substr(address.rfind(':') + 1),
        "-d", ":memory:", "-F", folder_ / "served"});
    http::Client client({.base_url = address});
    EXPECT_TRUE(eventually([&] {
      const auto metrics = client.send("GET", "/metrics");
      return metrics && metrics->body.find("thread_work_total{role=\"traverse\"} 1") != std::string::npos &&
             metrics->body.find("thread_work_pending{role=\"scan\"} 0") != std::string::npos &&
             metrics->body.find("thread_busy{role=\"scan\"} 0") != std::string::npos;
    })) << started->err();
    return started;
  }

  void restart_with(const std::string& symbols) {
    server_.reload("[symbols]\nretry = \"1s\"\n" + symbols);
    server_.stop();
    server_.start();
    ASSERT_TRUE(server_.becomes_ready()) << server_.process().err();
  }
};

TEST_F(FetchedBinaries, OldRowsGetNamesFromADebuginfod) {
  if (run({"/bin/sh", "-c", "command -v debuginfod"}).status != 0) {
    GTEST_SKIP() << "debuginfod is missing (Debian package debuginfod)";
  }
  ASSERT_TRUE(server_.becomes_ready()) << server_.process().err();
  send_profile();
  const auto files_before = row_files(data_dir_);
  const std::string address = free_address();
  const auto debuginfod = start_debuginfod(address, {kStripped, kDebugFile});
  // One that takes connections and never answers comes first.
  const auto hanging = http::listen_on("127.0.0.1:0", false);
  ASSERT_TRUE(hanging) << hanging.error().text();
  restart_with(
      fmt::format("debuginfod = [\"http://{}\", \"http://{}\"]\ndebuginfod_max_time = \"2s\"\n"
                  "debuginfod_retry = \"1s\"\n",
                  hanging->address, address));
  EXPECT_TRUE(eventually([this] { return !functions().contains("[no symbol in split.so]"); }))
      << server_.process().err();
  EXPECT_THAT(functions(), Contains(Key(HasSubstr("hidden"))));
  EXPECT_EQ(row_files(data_dir_), files_before);
  EXPECT_THAT(binaries({"show", to_hex(stripped_build_id()), "--csv"}).out,
              HasSubstr("debuginfod http://" + address));
}

TEST_F(FetchedBinaries, ABinaryThatOnlyTheDaemonReadsGetsItsNames) {
  if (!may_sample_machine()) {
    GTEST_SKIP() << "this user may not sample the machine";
  }
  std::ofstream(folder_ / "spin.c") << R"(static volatile unsigned long turns;
__attribute__((noinline)) static void spin_on_machine(void) {
  for (unsigned long i = 0; i < 1000000; ++i) {
    turns += i;
  }
}
int main(void) {
  for (;;) {
    spin_on_machine();
  }
}
)";
  const Finished built =
      run({"/bin/sh", "-c",
           fmt::format("mkdir -p '{0}/listed' && gcc -O1 -g -Wl,--build-id=sha1 '{0}/spin.c' "
                       "-o '{0}/listed/spin'",
                       folder_.path())});
  ASSERT_EQ(built.status, 0) << built.err;
  ASSERT_TRUE(server_.becomes_ready()) << server_.process().err();
  restart_with(
      "roots = []\ndebug_roots = []\n[binaries]\nfrom_machines = true\n[collect]\nwindow = \"1s\"\n");
  std::ofstream(folder_ / "daemon.toml") << fmt::format(
      "[daemon]\nserver = \"{}\"\n[binaries]\nupload = \"listed\"\npaths = [\"{}/listed/*\"]\n"
      "ask_interval = \"1s\"\n",
      server_.fleet_address(), folder_.path());
  const Background load({folder_ / "listed/spin"});
  const Background daemon({"plimsolld", "--config", folder_ / "daemon.toml"});
  // There are no profiles yet at first, which is an error.
  const auto has_name = [&] {
    const Finished top = run({"plimsoll", "top", "--server", server_.address(), "--csv"});
    return top.out.find("spin_on_machine") != std::string::npos;
  };
  EXPECT_TRUE(eventually(has_name)) << daemon.err() << server_.process().err();
  // Nothing else of the machine was listed.
  const auto listed = query::from_json(binaries({"list", "--json"}).out);
  EXPECT_EQ(listed ? listed->rows.size() : 0, 1);
  EXPECT_THAT(binaries({"list", "--csv"}).out, HasSubstr("debug (part)")) << "its code stays on the machine";
}

}  // namespace
}  // namespace plimsoll::testing
