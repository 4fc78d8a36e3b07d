// Annotated code of a known loop that the daemon sampled, beside the addresses in the raw profile.
#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "elf/elf_file.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/profiled_program.h"
#include "tests/e2e/program.h"

namespace plimsoll::testing::annotate_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kHotLoop = "_Z8hot_loopRKSt6vectorImSaImEEm";

using ByAddress = std::map<uint64_t, double>;

class Annotate : public FdoTest {
 protected:
  static Finished annotate(std::vector<std::string> words) {
    words.insert(words.begin(), {"plimsoll", "annotate", kHotLoop, "--data", file("data")});
    return run(words);
  }

  static std::string binary() { return file("app"); }

  // Samples of the event whose innermost location is in the loop, as the daemon wrote them down.
  static ByAddress sampled(const std::string& event) {
    const auto content = read_file(file("profile"), 64 << 20);
    const auto profile = wire::decode(as_bytes(*content));
    EXPECT_TRUE(profile) << profile.error().text();
    uint64_t from = 0;
    uint64_t to = 0;
    const auto image = read_file(binary(), 64 << 20);
    elf::ElfFile::parse(as_bytes(*image))->for_each_symbol(SHT_SYMTAB, [&](const elf::Symbol& symbol) {
      if (symbol.name == kHotLoop) {
        from = symbol.address;
        to = symbol.address + symbol.size_bytes;
      }
    });
    EXPECT_LT(from, to);
    const std::string build_id = build_id_of(binary());
    ByAddress samples;
    for (const wire::SampleTable& table : profile->samples()) {
      for (int row = 0; row < table.stack_size(); ++row) {
        const uint32_t node = table.stack(row);
        const int location =
            node == 0 ? 0 : static_cast<int>(profile->stacks().location(static_cast<int>(node) - 1));
        const uint64_t address = profile->locations().address(location);
        const uint32_t owner = profile->locations().owner(location);
        const bool is_in_loop = node != 0 && profile->locations().kind(location) == wire::ELF &&
                                to_hex(profile->binaries(static_cast<int>(owner)).identity()) == build_id &&
                                address >= from && address < to;
        for (int i = 0; is_in_loop && i < table.event_size(); ++i) {
          if (profile->events(static_cast<int>(table.event(i))).name() == event) {
            samples[address] += static_cast<double>(table.hits(row * table.event_size() + i));
          }
        }
      }
    }
    std::erase_if(samples, [](const auto& entry) { return entry.second == 0; });
    return samples;
  }

  // Of the first event.
  static ByAddress samples_in(const json& document) {
    ByAddress samples;
    for (const json& function : document["functions"]) {
      for (const json& instruction : function["instructions"]) {
        const double count = instruction["counts"][0]["samples"];
        if (count != 0) {
          samples[std::stoull(instruction["address"].get<std::string>(), nullptr, 16)] += count;
        }
      }
    }
    return samples;
  }
};

TEST_F(Annotate, InstructionsHaveTheSamplesOfTheRawProfile) {
  for (const char* order : {"source", "address"}) {
    const Finished done = annotate({"--binary", binary(), "--order", order, "--json"});
    ASSERT_EQ(done.status, 0) << done.err;
    const json document = json::parse(done.out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << done.out;
    const ByAddress expected = sampled(document["events"][0]["event"].get<std::string>());
    EXPECT_GT(expected.size(), 3);
    EXPECT_EQ(samples_in(document), expected) << order;
    double sum = 0;
    for (const auto& [address, count] : expected) {
      sum += count;
    }
    EXPECT_EQ(document["events"][0]["samples"], sum);
    double shares = 0;
    for (const json& line : document["functions"][0]["lines"]) {
      shares += line["counts"][0]["share"].get<double>();
    }
    EXPECT_NEAR(shares, 1, 1e-9);
  }
}

TEST_F(Annotate, TextShowsLinesBelowTheirCalls) {
  const Finished without = annotate({"--binary", binary()});
  ASSERT_EQ(without.status, 0) << without.err;
  EXPECT_THAT(without.out, AllOf(HasSubstr("app.cc:"), HasSubstr("inlined "), HasSubstr("Random::next()"),
                                 HasSubstr("not precise (skid)"), HasSubstr("no source roots are given"),
                                 Not(HasSubstr("state ^= state"))));
  const Finished with_text = annotate({"--binary", binary(), "--source-root", file("")});
  EXPECT_THAT(with_text.out, HasSubstr("state ^= state << 13;"));
  const Finished mapped = annotate({"--binary", binary(), "--source-root", file("") + " = /nowhere"});
  EXPECT_THAT(mapped.out, AllOf(HasSubstr("without source text"), Not(HasSubstr("state ^= state"))));
}

TEST_F(Annotate, AServerAnnotatesItsOwnFiles) {
  const Finished local = annotate({"--binary", binary(), "--json"});
  ASSERT_EQ(local.status, 0) << local.err;
  const TestServer server(
      file("data"), fmt::format("[symbols]\nroots = [\"{0}\"]\n[sources]\nroots = [\"{0}\"]\n", file("")));
  ASSERT_TRUE(server.becomes_ready());
  const Finished served = run({"plimsoll", "annotate", kHotLoop, "--server", server.address(), "--binary",
                               build_id_of(binary()), "--json"});
  ASSERT_EQ(served.status, 0) << served.err;
  const json document = json::parse(served.out, nullptr, false);
  EXPECT_EQ(samples_in(document), samples_in(json::parse(local.out, nullptr, false)));
  EXPECT_THAT(served.out, HasSubstr("state ^= state << 13;"));
  const Finished text = run({"plimsoll", "annotate", kHotLoop, "--server", server.address()});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("state ^= state << 13;"));
  const Finished by_file =
      run({"plimsoll", "annotate", kHotLoop, "--server", server.address(), "--binary", binary(), "--json"});
  EXPECT_EQ(samples_in(json::parse(by_file.out, nullptr, false)), samples_in(document));
}

TEST_F(Annotate, ShowsTheSourcesThatWereUploadedForTheBuild) {
  shell("rm -rf with_sources && cp -r data with_sources");
  const Finished added =
      run({"plimsoll", "binaries", "add", binary(), "--sources", file(""), "--data", file("with_sources")});
  ASSERT_EQ(added.status, 0) << added.err;
  const Finished local = run({"plimsoll", "annotate", kHotLoop, "--data", file("with_sources")});
  ASSERT_EQ(local.status, 0) << local.err;
  EXPECT_THAT(local.out, HasSubstr("state ^= state << 13;"));
  const TestServer server(file("with_sources"), "[symbols]\nroots = []\n");
  ASSERT_TRUE(server.becomes_ready());
  const Finished served = run({"plimsoll", "annotate", kHotLoop, "--server", server.address()});
  EXPECT_EQ(served.status, 0) << served.err;
  EXPECT_THAT(served.out, HasSubstr("state ^= state << 13;"));
}

// Lines and names of functions come from the table that importing the profile has made.
TEST_F(Annotate, AStrippedBinaryKeepsTheLinesThatTheDataDirectoryKnows) {
  const Finished whole = annotate({"--json"});
  ASSERT_EQ(whole.status, 0) << whole.err;
  shell("cp app app.whole && strip app");
  const Finished stripped = annotate({"--json"});
  shell("mv app.whole app");
  ASSERT_EQ(stripped.status, 0) << stripped.err;
  EXPECT_THAT(stripped.out, HasSubstr("app.cc"));
  EXPECT_EQ(samples_in(json::parse(stripped.out, nullptr, false)),
            samples_in(json::parse(whole.out, nullptr, false)));
}

// "   68.23 loop.c:9": the lines that perf lists above the code, in percent.
std::map<uint32_t, double> lines_of_perf(const std::string& output, const std::string& file) {
  std::map<uint32_t, double> shares;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line) && line.find("Percent |") == std::string::npos;) {
    std::istringstream words(line);
    double percent = 0;
    std::string place;
    if (words >> percent >> place && place.starts_with(file + ":")) {
      shares[static_cast<uint32_t>(std::stoul(place.substr(file.size() + 1)))] += percent / 100;
    }
  }
  return shares;
}

// Of the first event.
std::map<uint32_t, double> lines_in(const json& document) {
  std::map<uint32_t, double> shares;
  for (const json& function : document["functions"]) {
    for (const json& line : function["lines"]) {
      shares[line["line"].get<uint32_t>()] += line["counts"][0]["share"].get<double>();
    }
  }
  return shares;
}

TEST(AnnotateRecording, LinesAreThoseOfPerfAnnotate) {
  if (!may_sample_machine() || run({"/bin/sh", "-c", "command -v perf && command -v objdump"}).status != 0) {
    GTEST_SKIP() << "perf or objdump is missing (Debian packages linux-perf, binutils), or may not sample";
  }
  const TemporaryFolder folder;
  std::ofstream(folder / "loop.c") << R"(unsigned long hot_loop(unsigned long rounds) {
  unsigned long x = 88172645463325252UL, sum = 0;
  for (unsigned long i = 0; i < rounds; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    sum += x % 1000003U;
    sum ^= x / 97U;
  }
  return sum;
}
int main(void) { return hot_loop(200000000UL) == 1; }
)";
  const auto in_folder = [&](const std::string& command) {
    return run({"/bin/sh", "-c", fmt::format("cd '{}' && {}", folder.path(), command)});
  };
  const Finished recorded = in_folder(
      "gcc -O1 -g -fno-inline -Wl,--build-id=sha1 loop.c -o loop && "
      "perf --buildid-dir cache record -q -B --buildid-mmap -e cpu-clock -F 999 -o loop.data ./loop");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const Finished by_perf =
      in_folder("perf --buildid-dir cache annotate -i loop.data --stdio -l -s hot_loop 2>/dev/null");
  const auto expected = lines_of_perf(by_perf.out, "loop.c");
  ASSERT_GE(expected.size(), 2) << by_perf.out;
  ASSERT_EQ(run({"plimsoll", "import", "--data", folder / "data", folder / "loop.data"}).status, 0);
  const Finished ours = run({"plimsoll", "annotate", "hot_loop", "--data", folder / "data", "--json"});
  ASSERT_EQ(ours.status, 0) << ours.err;
  const json document = json::parse(ours.out, nullptr, false);
  ASSERT_TRUE(document.is_object()) << ours.out;
  auto lines = lines_in(document);
  // Of the same samples: perf rounds, and leaves lines of less than half a percent out.
  for (const auto& [line, share] : expected) {
    EXPECT_NEAR(lines[line], share, 0.005) << "loop.c:" << line << "\n" << by_perf.out << ours.out;
  }
}

TEST_F(Annotate, FilesThatAreNoSuchBinaryAreRefused) {
  shell("head -c 9000 app > truncated");
  EXPECT_THAT(annotate({"--binary", file("truncated")}).err, HasSubstr("is truncated"));
  EXPECT_THAT(annotate({"--binary", file("app.cc")}).err, HasSubstr("app.cc"));
  EXPECT_THAT(annotate({"--binary", file("no_lines")}).err, HasSubstr("no profile has samples of a binary"));
  const Finished unknown =
      run({"plimsoll", "annotate", "no_such_function", "--data", file("data"), "--binary", binary()});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("in a function called no_such_function"), HasSubstr("hot_loop")));
}

}  // namespace
}  // namespace plimsoll::testing::annotate_test
