// What help says of commands, and what completes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/help/completion.h"
#include "cli/help/formatter.h"
#include "cli/help/man_page.h"
#include "cli/help/topics.h"
#include "cli/usage/suggestions.h"
#include "cli/views/view_command_line.h"

namespace plimsoll::cli::help_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class Commands : public ::testing::Test {
 protected:
  Commands() {
    app_.name("plimsoll");
    app_.formatter(plain_formatter());
    views_.add_to(app_);
  }
  std::vector<std::string> complete(std::vector<std::string> words) { return completions(app_, words); }
  // Of a command line that cannot be parsed.
  std::string unknown(std::vector<std::string> words) {
    std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
    EXPECT_THROW(app_.parse(reversed), CLI::ParseError);
    return unknown_word_text(app_, words);
  }

  CLI::App app_;
  ViewCommands views_;
};

TEST_F(Commands, HaveAFlagForEachParameterOfTheirView) {
  for (const query::View& view : query::views()) {
    if (view.command.empty()) {
      continue;
    }
    const CLI::App* const command = find_subcommand(app_, view.command);
    ASSERT_NE(command, nullptr) << view.command;
    for (const query::ParameterSpec& parameter : view.parameters) {
      const std::string flag = parameter.is_positional ? parameter.name : query::flag_of(parameter);
      EXPECT_NO_THROW(command->get_option(flag)) << view.command << " " << flag;
    }
    for (const query::OrderSpec& order : view.orders) {
      EXPECT_NO_THROW(command->get_option(order.flag)) << view.command << " " << order.flag;
    }
  }
}

TEST_F(Commands, CompleteCommandsFlagsAndValues) {
  EXPECT_THAT(complete({"mach"}), ElementsAre("machines"));
  EXPECT_THAT(complete({"top", "--wh"}), ElementsAre("--where"));
  EXPECT_THAT(complete({"diff", "--measure", ""}), UnorderedElementsAre("share", "rate"));
  EXPECT_THAT(complete({"top", "--by", "fun"}), ElementsAre("function"));
  EXPECT_THAT(complete({"top", "--by", "app,fun"}), ElementsAre("app,function")) << "after a comma";
  EXPECT_THAT(complete({"top", "--where", "jo"}), ElementsAre("job="));
  EXPECT_THAT(complete({"top", "--where", "job=a", "--lim"}), ElementsAre("--limit")) << "after a value";
  EXPECT_THAT(complete({"top", "--no-margins", "--ratio", "ip"}), ElementsAre("ipc"))
      << "after a flag without value";
}

TEST_F(Commands, CompleteNothingWhereFilesAreMeantOrTheSourceIsMissing) {
  EXPECT_THAT(complete({"top", "--data", ""}), IsEmpty());
  EXPECT_THAT(complete({"top", "--data", "/nowhere", "--event", ""}), IsEmpty());
}

TEST_F(Commands, NameTheWordThatIsUnknown) {
  EXPECT_EQ(unknown({"tpo"}), "no such command: tpo; did you mean top?");
  EXPECT_EQ(unknown({"top", "--limt", "3"}), "no such flag: --limt; did you mean --limit?");
  EXPECT_EQ(unknown({"top", "--limt=3"}), "no such flag: --limt; did you mean --limit?");
  EXPECT_EQ(unknown({"top", "--data", "d", "--frobnicate"}), "no such flag: --frobnicate");
}

TEST_F(Commands, HelpHasNoListsOfExclusions) {
  const std::string help = find_subcommand(app_, "top")->help();
  EXPECT_THAT(help, HasSubstr("--by DIM,..."));
  EXPECT_THAT(help, HasSubstr("Dimensions to group by (default: function)"));
  EXPECT_THAT(help, Not(HasSubstr("Excludes")));
}

TEST_F(Commands, ManPagesEscapeWhatMeansSomethingToMan) {
  const std::string page = man_page(*find_subcommand(app_, "top"), "plimsoll-top");
  EXPECT_THAT(page, HasSubstr(".TH plimsoll-top 1"));
  EXPECT_THAT(page, HasSubstr("\n\\fB\\-\\-where\\fR PREDICATE\n"));
  EXPECT_THAT(page, Not(HasSubstr("\n'")));
}

TEST(Topics, HaveATextEach) {
  for (const Topic& topic : topics()) {
    EXPECT_GT(topic_text(topic.name).value_or("").size(), 100) << topic.name;
  }
  EXPECT_EQ(topic_text("weather"), std::nullopt);
}

TEST(Completion, HasScriptsForThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_THAT(completion_script(shell).value_or(""), HasSubstr("plimsoll complete")) << shell;
  }
  EXPECT_EQ(completion_script("tcsh").error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace plimsoll::cli::help_test
