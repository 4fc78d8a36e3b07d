// What a view says of a data directory, its server says too: as a document, as text, and as an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/durable_file.h"
#include "proto/profile_codec.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/program.h"
#include "tests/places.h"
#include "tests/profile_fixture.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Views : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      const wire::RawProfile profile = make_profile(
          {.seed = seed,
           .machine = fmt::format("m{}", seed),
           .job = "search",
           .stacks = fmt::format(
               "main;parse {}\nprocess=b main;parse;copy {}\nmain;lex 500\nprocess=b main;lex 300\n",
               200 + seed, 500 - seed)});
      const std::string path = folder_ / fmt::format("{}.profile", seed);
      ASSERT_TRUE(write_file_durably(path, as_bytes(wire::encode(profile))));
      paths_.push_back(path);
    }
    std::vector<std::string> import{"plimsoll", "import", "--data", data_};
    import.insert(import.end(), paths_.begin(), paths_.end());
    const Finished imported = run(import);
    ASSERT_EQ(imported.status, 0) << imported.err;
  }

  TemporaryFolder folder_;
  std::string data_ = folder_ / "data";
  std::vector<std::string> paths_;
};

TEST_F(Views, AreTheSameFromADirectoryAndItsServer) {
  struct View {
    std::vector<std::string> command;
    std::string says;
  };
  const std::vector<View> views{
      {{"top"}, "lex"},
      {{"top", "--focus", "copy", "--hide", "^parse$"}, "copy"},
      {{"callers", "copy"}, "parse"},
      {{"callers", "copy", "--hide", "parse"}, "main"},
      {{"callees", "parse"}, "[itself]"},
      {{"callers", "--of", "function=~^(copy|lex)$"}, "main"},
      {{"diff", "--base-where", "app=app", "--new-where", "app=b"}, "less"},
      {{"diff", "--base-where", "app=app", "--new-where", "app=b", "--measure", "rate"}, "more"},
      {{"series", "--bucket", "1h"}, "lex"},
      {{"series", "--by", "job", "--measure", "rate"}, "search"},
      {{"shared", "--across", "machine", "--max-share", "60%"}, "copy"},
      {{"coverage", "--by", "machine"}, "m12"},
      {{"stability"}, "halves of the machines"}};
  std::vector<std::string> of_directory;
  const std::vector<std::vector<std::string>> forms{{}, {"--json"}, {"--csv"}};
  const auto ask = [](const View& view, const std::vector<std::string>& source,
                      const std::vector<std::string>& form) {
    std::vector<std::string> argv{"plimsoll"};
    for (const auto* part : {&view.command, &source, &form}) {
      argv.insert(argv.end(), part->begin(), part->end());
    }
    const Finished asked = run(argv);
    EXPECT_EQ(asked.status, 0) << asked.err;
    EXPECT_THAT(asked.out, HasSubstr(view.says));
    return asked.out;
  };
  for (const View& view : views) {
    for (const auto& form : forms) {
      of_directory.push_back(ask(view, {"--data", data_}, form));
    }
  }
  const TestServer server(data_);
  ASSERT_TRUE(server.becomes_ready());
  size_t asked = 0;
  for (const View& view : views) {
    for (const auto& form : forms) {
      EXPECT_EQ(ask(view, {"--server", server.address()}, form), of_directory[asked++]);
    }
  }
}

TEST_F(Views, FlamesAreTheSameWithTheirMargins) {
  const TestServer server(data_);
  ASSERT_TRUE(server.becomes_ready());
  for (const std::vector<std::string>& form : {std::vector<std::string>{}, {"--json"}, {"--folded"}}) {
    const auto ask = [&](const std::string& flag, const std::string& source) {
      std::vector<std::string> argv{"plimsoll", "flame", flag, source, "--ignore", "lex"};
      argv.insert(argv.end(), form.begin(), form.end());
      return run(argv);
    };
    const Finished of_directory = ask("--data", data_);
    EXPECT_EQ(of_directory.status, 0) << of_directory.err;
    EXPECT_THAT(of_directory.out, HasSubstr(form.empty() ? " % ±0." : "parse"));
    EXPECT_EQ(ask("--server", server.address()).out, of_directory.out);
  }
}

TEST_F(Views, AFunctionThatIsNowhereIsAnErrorThatNamesTheNearest) {
  const Finished asked = run({"plimsoll", "callers", "--data", data_, "coppy"});
  EXPECT_EQ(asked.status, 1);
  EXPECT_THAT(asked.err, HasSubstr("Did you mean copy?"));
}

// script(1) gives the program a terminal, of as many columns as stty(1) says.
std::string on_a_terminal(int columns, const std::string& command) {
  const Finished seen =
      run({"/usr/bin/env", "TERM=xterm", "NO_COLOR=", "script", "-qec",
           fmt::format("stty cols {}; exec '{}' {}", columns, built_file("plimsoll"), command), "/dev/null"});
  EXPECT_EQ(seen.status, 0) << seen.err;
  return seen.out;
}

TEST_F(Views, OnATerminalFitIntoIt) {
  const std::string top = "top --by function,machine --data " + data_;
  const std::string wide = on_a_terminal(200, top);
  EXPECT_THAT(wide, HasSubstr("█"));
  EXPECT_THAT(wide, HasSubstr("\x1b[1m")) << "in colour";
  const std::string narrow = on_a_terminal(30, top);
  EXPECT_THAT(narrow, HasSubstr("hidden columns (terminal too narrow): "));
  EXPECT_THAT(narrow, Not(HasSubstr("█")));
  const Finished piped = run({"plimsoll", "top", "--by", "function,machine", "--data", data_});
  EXPECT_THAT(piped.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(piped.out, Not(HasSubstr("█")));
}

TEST_F(Views, AreWithoutColourWhereNoColorIsSet) {
  const Finished seen = run({"/usr/bin/env", "TERM=xterm", "NO_COLOR=1", "script", "-qec",
                             fmt::format("'{}' top --data {}", built_file("plimsoll"), data_), "/dev/null"});
  EXPECT_EQ(seen.status, 0) << seen.err;
  EXPECT_THAT(seen.out, HasSubstr("█"));
  EXPECT_THAT(seen.out, Not(HasSubstr("\x1b")));
}

TEST_F(Views, SeriesHaveSparklinesWhereTheTerminalShowsUtf8) {
  const auto series = [&](const char* locale, const std::string& flags) {
    const Finished seen = run(
        {"/usr/bin/env", "TERM=xterm", "LC_ALL=", "LC_CTYPE=", fmt::format("LANG={}", locale), "script",
         "-qec", fmt::format("stty cols 120; '{}' series --data {}{}", built_file("plimsoll"), data_, flags),
         "/dev/null"});
    EXPECT_EQ(seen.status, 0) << seen.err;
    return seen.out;
  };
  EXPECT_THAT(series("C.UTF-8", ""), AllOf(HasSubstr("over_time"), HasSubstr("█")));
  EXPECT_THAT(series("C", ""), AllOf(HasSubstr("mean"), Not(HasSubstr("over_time"))));
  EXPECT_THAT(series("C.UTF-8", " --long"), AllOf(HasSubstr("2023-11-14T"), Not(HasSubstr("over_time"))));
  EXPECT_THAT(series("C.UTF-8", " --json"), AllOf(HasSubstr("\"time\""), Not(HasSubstr("over_time"))));
  const Finished piped = run({"plimsoll", "series", "--data", data_});
  EXPECT_THAT(piped.out, AllOf(HasSubstr("mean"), Not(HasSubstr("over_time"))));
}

}  // namespace
}  // namespace plimsoll::testing
