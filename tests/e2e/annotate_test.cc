// Annotated code of a known loop that the daemon sampled, beside the addresses in the raw profile.
#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
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
