#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <regex>

#include "base/file.h"
#include "base/time.h"
#include "config/daemon_config.h"
#include "config/server_config.h"
#include "config/settings.h"
#include "tests/places.h"

namespace plimsoll::config {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A struct with a key of every kind.
struct Sample {
  std::string text = "plain";
  int64_t count = 5;
  double share = 0.5;
  bool fast = false;
  std::vector<std::string> names = {"a"};
  int64_t window_ns = kNsPerSecond;
  int64_t bytes = 4096;

  std::vector<Key> keys() {
    return {
        {"text", "Some text.", &text},
        {"numbers.count", "A count.", &count, Range{1, 10}},
        {"numbers.share", "A share.", &share, Range{0, 1}},
        {"other.fast", "A switch.", &fast},
        {"other.names", "Names.\nOf things.", &names},
        {"other.window", "A time.", DurationNs{&window_ns}, Range{kNsPerSecond / 10, 3600 * kNsPerSecond}},
        {"other.bytes", "A size.", SizeBytes{&bytes}, Range{0, 1 << 30}},
    };
  }
};

// A list of structs, each with keys of its own.
struct Garden {
  struct Plant {
    std::string name = "weed";
    int64_t height_cm = 10;
    std::vector<std::string> colours;

    std::vector<Key> keys() {
      return {{"name", "What it is called.", &name},
              {"height_cm", "How high it grows.\nIn summer.", &height_cm, Range{1, 500}},
              {"colours", "Of its flowers.", &colours}};
    }
  };
  std::vector<Plant> plants;
  bool is_watered = false;

  std::vector<Key> keys() {
    return {{"garden.watered", "Whether it is.", &is_watered},
            {"garden.plants", "What grows there:", TableList(&plants)}};
  }
};

const char* no_variable(const char* /*name*/) {
  return nullptr;
}

class Config : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  LoadInputs file(std::string_view text) const {
    std::ofstream(path_, std::ios::binary) << text;
    return {.path = path_, .environment = no_variable};
  }

  // The sample, loaded from this text, or the error.
  Result<Sample> sample_of(std::string_view text) const {
    Sample sample;
    const auto sources = load(sample.keys(), file(text));
    return sources ? Result<Sample>(sample) : std::unexpected(sources.error());
  }

  const std::string path_ = ::testing::TempDir() + "config." + std::to_string(::getpid()) + ".toml";
};

TEST_F(Config, ReadsEveryKind) {
  const auto sample = sample_of(
      "text = 'a\"b'\n"
      "numbers = { count = 7, share = 1 }\n"
      "[other]\n"
      "fast = true\nnames = [\"x\", \"y,z\"]\nwindow = \"1.5min\"\nbytes = \"2MiB\"\n");
  ASSERT_TRUE(sample.has_value()) << sample.error().text();
  EXPECT_EQ(sample->text, "a\"b");
  EXPECT_EQ(sample->count, 7);
  EXPECT_EQ(sample->share, 1.0);
  EXPECT_TRUE(sample->fast);
  EXPECT_THAT(sample->names, ElementsAre("x", "y,z"));
  EXPECT_EQ(sample->window_ns, 90 * kNsPerSecond);
  EXPECT_EQ(sample->bytes, 2 << 20);
  EXPECT_EQ(sample_of("[other]\nbytes = 17")->bytes, 17);
  EXPECT_EQ(sample_of("numbers.share = 0.25")->share, 0.25);
  EXPECT_EQ(sample_of("[numbers]\n[other]\n")->count, 5);
}

TEST_F(Config, TakesDefaultThenFileThenVariableThenFlag) {
  const std::map<std::string, std::string> variables{{"PLIMSOLL_NUMBERS_COUNT", "3"},
                                                     {"PLIMSOLL_OTHER_NAMES", "x,y"},
                                                     {"PLIMSOLL_OTHER_WINDOW", "2s"},
                                                     {"PLIMSOLL_OTHER_FAST", ""}};
  Sample sample;
  LoadInputs inputs = file("text = \"file\"\n[numbers]\ncount = 2\n");
  inputs.environment = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  inputs.flags = {{"other.window", "3s"}, {"other.names", ""}};
  const auto sources = load(sample.keys(), inputs);
  ASSERT_TRUE(sources.has_value()) << sources.error().text();
  std::string shown;
  for (const Source& source : *sources) {
    shown += fmt::format("{} = {} ({})\n", source.key, source.value, source.where);
  }
  EXPECT_EQ(shown, fmt::format("text = \"file\" ({0}:1)\n"
                               "numbers.count = 3 (PLIMSOLL_NUMBERS_COUNT)\n"
                               "numbers.share = 0.5 (default)\n"
                               "other.fast = false (default)\n"
                               "other.names = [] (command line)\n"
                               "other.window = \"3s\" (command line)\n"
                               "other.bytes = \"4KiB\" (default)\n",
                               path_));
  EXPECT_EQ(sources->front().origin, Origin::kFile);
  EXPECT_EQ(sample.count, 3);
}

TEST_F(Config, SplitsAndParsesTextOfVariablesAndFlags) {
  const std::vector<std::pair<std::string, std::string>> flags{
      {"text", ""},           {"numbers.count", "9"}, {"numbers.share", "0.75"}, {"other.fast", "true"},
      {"other.names", "a,b"}, {"other.window", "90"}, {"other.bytes", "1GiB"}};
  Sample sample;
  ASSERT_TRUE(load(sample.keys(), {.environment = no_variable, .flags = flags}).has_value());
  EXPECT_THAT(sample.text, IsEmpty());
  EXPECT_EQ(sample.count, 9);
  EXPECT_EQ(sample.share, 0.75);
  EXPECT_TRUE(sample.fast);
  EXPECT_THAT(sample.names, ElementsAre("a", "b"));
  EXPECT_EQ(sample.window_ns, 90 * kNsPerSecond);
  EXPECT_EQ(sample.bytes, 1 << 30);
}

struct Mistake {
  std::string text;
  std::string message;  // after the path
  std::string field;
  std::string hint;
};

TEST_F(Config, NamesLineAndKeyOfEveryMistake) {
  const std::vector<Mistake> mistakes{
      {"\n[numbers]\ncuont = 3", ":3: unknown key numbers.cuont", "numbers.cuont",
       "did you mean numbers.count?"},
      {"[nubmers]\ncount = 3", ":2: unknown key nubmers.count", "nubmers.count",
       "did you mean numbers.count?"},
      {"zebra = 3", ":1: unknown key zebra", "zebra", "the example file lists every key"},
      {"[zebra]", ":1: unknown key zebra", "zebra", "the example file lists every key"},
      {"numbers = 3", ":1: numbers must be a table", "numbers", ""},
      {"\"numbers.count\" = 3", ":1: unknown key \"numbers.count\"", "\"numbers.count\"",
       "did you mean numbers.count?"},
      {"[text]", ":1: text must be a string, not a table", "text", ""},
      {"text = 3", ":1: text must be a string, not the integer 3", "text", ""},
      {"numbers.count = \"3\"", ":1: numbers.count must be an integer, not \"3\"", "numbers.count", ""},
      {"numbers.count = 3.0", ":1: numbers.count must be an integer, not the number 3.0", "numbers.count",
       ""},
      {"numbers.share = true", ":1: numbers.share must be a number, not true", "numbers.share", ""},
      {"other.fast = 1", ":1: other.fast must be true or false, not the integer 1", "other.fast", ""},
      {"other.names = \"a\"", ":1: other.names must be a list of strings, not \"a\"", "other.names", ""},
      {"other.names = [\"a\", 1]",
       ":1: other.names must be a list of strings, not a list with values other than strings", "other.names",
       ""},
      {"other.window = 10", ":1: other.window must be a duration such as \"10s\", not the integer 10",
       "other.window", ""},
      {"other.window = \"soon\"", ":1: other.window must be a duration such as \"10s\", not \"soon\"",
       "other.window", ""},
      {"other.window = 2026-01-01", ":1: other.window must be a duration such as \"10s\", not a date or time",
       "other.window", ""},
      {"other.bytes = \"9999999999GiB\"",
       ":1: other.bytes must be a size such as \"64MiB\" or a number of bytes, not \"9999999999GiB\"",
       "other.bytes", ""},
      {"\n\nnumbers.count = 0", ":3: numbers.count is 0, which is out of range", "numbers.count",
       "give a value between 1 and 10"},
      {"numbers.share = nan", ":1: numbers.share is nan, which is out of range", "numbers.share",
       "give a value between 0 and 1"},
      {"other.window = \"10ms\"", ":1: other.window is \"10ms\", which is out of range", "other.window",
       "give a value between 100ms and 1h"},
      {"other.bytes = \"2GiB\"", ":1: other.bytes is \"2GiB\", which is out of range", "other.bytes",
       "give a value between 0B and 1GiB"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto sample = sample_of(mistake.text);
    ASSERT_FALSE(sample.has_value()) << mistake.text;
    EXPECT_EQ(sample.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(sample.error().message, path_ + mistake.message);
    EXPECT_EQ(sample.error().field, mistake.field);
    EXPECT_EQ(sample.error().hint, mistake.hint);
  }
}

TEST_F(Config, NamesLineAndKeyOfWhatIsNotToml) {
  const auto twice = sample_of("text = \"a\"\n[numbers]\ncount = 3\ncount = 4\n");
  ASSERT_FALSE(twice.has_value());
  EXPECT_THAT(twice.error().message, HasSubstr(path_ + ":4: "));
  EXPECT_EQ(twice.error().field, "numbers.count");
  EXPECT_EQ(twice.error().hint, "give each key and table once");

  const auto syntax = sample_of("[numbers]\ncount = \n");
  ASSERT_FALSE(syntax.has_value());
  EXPECT_THAT(syntax.error().message, HasSubstr(path_ + ":2: "));
  EXPECT_EQ(syntax.error().field, "numbers.count");
  EXPECT_FALSE(sample_of("text = \"\xff\"").has_value());
}

TEST_F(Config, NamesVariableAndFlagOfAMistake) {
  Sample sample;
  const auto variable = load(sample.keys(), {.environment = [](const char* name) {
                               return name == std::string_view("PLIMSOLL_NUMBERS_COUNT") ? "11" : nullptr;
                             }});
  ASSERT_FALSE(variable.has_value());
  EXPECT_EQ(variable.error().message, "PLIMSOLL_NUMBERS_COUNT: numbers.count is 11, which is out of range");
  EXPECT_EQ(variable.error().field, "numbers.count");

  const auto flag = load(sample.keys(), {.environment = no_variable, .flags = {{"numbers.count", "3x"}}});
  EXPECT_EQ(flag.error().message, "command line: numbers.count must be an integer, not \"3x\"");
  const auto unknown = load(sample.keys(), {.environment = no_variable, .flags = {{"number.count", "3"}}});
  EXPECT_EQ(unknown.error().hint, "did you mean numbers.count?");
}

TEST_F(Config, SaysThatAFileIsAbsent) {
  Sample sample;
  const auto absent = load(sample.keys(), {.path = "/nowhere.toml", .environment = no_variable});
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(absent.error().message, HasSubstr("/nowhere.toml"));
}

TEST_F(Config, SurvivesTablesNestedAsDeepAsAFileMay) {
  const auto nested = [](int depth) {
    std::string text = "[a";
    for (int i = 1; i < depth; ++i) {
      text += ".a";
    }
    return text + "]\n";
  };
  EXPECT_EQ(sample_of(nested(10'000)).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(sample_of(nested(1'000'000)).error().code, ErrorCode::kTooLarge);
}

TEST_F(Config, ReadsListsOfTables) {
  Garden garden;
  garden.plants.resize(3);
  const auto sources = load(garden.keys(), file("[[garden.plants]]\n"
                                                "name = \"rose\"\ncolours = [\"red\", \"white\"]\n"
                                                "[garden]\nwatered = true\n"
                                                "[[garden.plants]]\n"
                                                "height_cm = 200\n"));
  ASSERT_TRUE(sources.has_value()) << sources.error().text();
  ASSERT_EQ(garden.plants.size(), 2) << "those of the file replace the others";
  EXPECT_EQ(garden.plants[0].name, "rose");
  EXPECT_EQ(garden.plants[0].height_cm, 10);
  EXPECT_THAT(garden.plants[0].colours, ElementsAre("red", "white"));
  EXPECT_EQ(garden.plants[1].name, "weed");
  EXPECT_EQ(garden.plants[1].height_cm, 200);
  EXPECT_TRUE(garden.is_watered);
  EXPECT_EQ(sources->back().value, "[{name = \"rose\", colours = [\"red\", \"white\"]}, {height_cm = 200}]");
  EXPECT_EQ(sources->back().where, path_ + ":1");
  // What `config show` prints can be given as well.
  Garden again;
  ASSERT_TRUE(load(again.keys(), file("garden.plants = " + sources->back().value)).has_value());
  EXPECT_EQ(again.plants.size(), 2);
  ASSERT_TRUE(load(again.keys(), file("garden.plants = []\n")).has_value());
  EXPECT_THAT(again.plants, IsEmpty());
}

TEST_F(Config, NamesTheElementOfAMistakeInAListOfTables) {
  struct TableMistake {
    std::string text;
    std::string message;
    std::string field;
    std::string hint;
  };
  const std::string first = "[[garden.plants]]\nname = \"rose\"\n[[garden.plants]]\n";
  const std::vector<TableMistake> mistakes{
      {first + "nam = \"tulip\"\n", ":4: unknown key nam", "garden.plants[1].nam", "did you mean name?"},
      {first + "name = 7\n", ":4: garden.plants[1].name must be a string, not the integer 7",
       "garden.plants[1].name", ""},
      {first + "height_cm = 501\n", ":4: garden.plants[1].height_cm is 501, which is out of range",
       "garden.plants[1].height_cm", "give a value between 1 and 500"},
      {first + "[garden.plants.name]\n", ":4: garden.plants[1].name must be a string, not a table",
       "garden.plants[1].name", ""},
      {"garden.plants = [\"rose\"]\n", ":1: garden.plants must be a list of tables in the file, not a list",
       "garden.plants", ""},
      {"garden.watered = [{}]\n", ":1: garden.watered must be true or false, not a list of tables",
       "garden.watered", ""},
      {"[garden.plants]\nname = \"rose\"\n", ":2: unknown key garden.plants.name", "garden.plants.name", "*"},
  };
  for (const TableMistake& mistake : mistakes) {
    Garden garden;
    const auto loaded = load(garden.keys(), file(mistake.text));
    ASSERT_FALSE(loaded.has_value()) << mistake.text;
    EXPECT_EQ(loaded.error().message, path_ + mistake.message);
    EXPECT_EQ(loaded.error().field, mistake.field);
    if (mistake.hint != "*") {
      EXPECT_EQ(loaded.error().hint, mistake.hint);
    }
  }
  Garden garden;
  const auto flag = load(garden.keys(), {.environment = no_variable, .flags = {{"garden.plants", "rose"}}});
  EXPECT_EQ(flag.error().message,
            "command line: garden.plants must be a list of tables in the file, not \"rose\"");
}

TEST_F(Config, ShowsTheKeysOfAListOfTablesAsAComment) {
  Garden garden;
  EXPECT_THAT(example(garden.keys()), EndsWith("\n# What grows there:\n"
                                               "#     [[garden.plants]]\n"
                                               "#     # What it is called.\n"
                                               "#     name = \"weed\"\n"
                                               "#     # How high it grows.\n"
                                               "#     # In summer.\n"
                                               "#     height_cm = 10\n"
                                               "#     # Of its flowers.\n"
                                               "#     colours = []\n"
                                               "#plants = []\n"));
}

TEST_F(Config, PrintsADocumentedExample) {
  Sample sample;
  EXPECT_THAT(example(sample.keys()),
              EndsWith("\n\n# Some text.\n#text = \"plain\"\n"
                       "\n[numbers]\n# A count.\n# Permitted: between 1 and 10.\n#count = 5\n"
                       "\n# A share.\n# Permitted: between 0 and 1.\n#share = 0.5\n"
                       "\n[other]\n# A switch.\n#fast = false\n"
                       "\n# Names.\n# Of things.\n#names = [\"a\"]\n"
                       "\n# A time.\n# Permitted: between 100ms and 1h.\n#window = \"1s\"\n"
                       "\n# A size.\n# Permitted: between 0B and 1GiB.\n#bytes = \"4KiB\"\n"));
}

// The example with the '#' of every key taken away.
std::string with_every_key(const std::string& text) {
  return std::regex_replace(text, std::regex("#([a-z_]+ = )"), "$1");
}

std::string values_of(const Sources& sources) {
  std::string text;
  for (const Source& source : sources) {
    text += source.key + " = " + source.value + "\n";
  }
  return text;
}

template <typename Program>
class ProgramConfig : public Config {
 protected:
  std::string committed() const {
    const std::string name = std::is_same_v<Program, ServerConfig> ? "server" : "daemon";
    return read_file(source_file("config/") + name + ".example.toml", 1 << 20).value();
  }
};
using Programs = ::testing::Types<ServerConfig, DaemonConfig>;
TYPED_TEST_SUITE(ProgramConfig, Programs);

TYPED_TEST(ProgramConfig, HasACommittedExampleThatChangesNothing) {
  TypeParam defaults;
  EXPECT_EQ(this->committed(), example(defaults.keys()));
  const auto expected = load(defaults.keys(), {.environment = no_variable});
  ASSERT_TRUE(expected.has_value()) << expected.error().text();
  for (const std::string& text : {this->committed(), with_every_key(this->committed())}) {
    TypeParam loaded;
    const auto sources = load(loaded.keys(), this->file(text));
    ASSERT_TRUE(sources.has_value()) << sources.error().text();
    EXPECT_EQ(values_of(*sources), values_of(*expected));
  }
  EXPECT_EQ(load(defaults.keys(), this->file(with_every_key(this->committed())))->front().origin,
            Origin::kFile);
}

TYPED_TEST(ProgramConfig, HasDefaultsInsideTheirRanges) {
  TypeParam defaults;
  std::vector<std::pair<std::string, std::string>> flags;
  const auto sources = load(defaults.keys(), {.environment = no_variable});
  ASSERT_TRUE(sources.has_value()) << sources.error().text();
  for (const Source& source : *sources) {
    if (source.value.find_first_of("[/") == std::string::npos) {
      std::string text = source.value;
      std::erase(text, '"');
      flags.emplace_back(source.key, text);
    }
  }
  const auto loaded = load(defaults.keys(), {.environment = no_variable, .flags = flags});
  EXPECT_TRUE(loaded.has_value()) << loaded.error().text();
}

TYPED_TEST(ProgramConfig, GivesAValueOrAnErrorForAnyDamage) {
  const std::string original = with_every_key(this->committed());
  std::mt19937 random(7);
  int errors = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = original;
    for (unsigned changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t at = random() % text.size();
      const size_t length = std::min<size_t>(1 + random() % 20, text.size() - at);
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), length));
          break;
        default:
          text[at] = "=[]{}\"'.,#\n-0e"[random() % 14];
      }
    }
    TypeParam loaded;
    const auto sources = load(loaded.keys(), this->file(text));
    if (!sources) {
      ++errors;
      EXPECT_EQ(sources.error().code, ErrorCode::kInvalid);
      EXPECT_THAT(sources.error().message, HasSubstr(this->path_ + ":"));
    }
  }
  EXPECT_GT(errors, 200);
  EXPECT_LT(errors, 2000);
}

TEST_F(Config, RefusesKeysOfAttributesThatNoSpanCanHave) {
  const auto loaded = [this](const std::string& key) {
    return load_server_config(file("[traces]\nattributes = [\"host.type\", \"" + key + "\"]\n"));
  };
  EXPECT_TRUE(loaded(std::string(256, 'a')));
  EXPECT_TRUE(loaded("größe"));
  for (const auto& [key, why] :
       {std::pair(std::string(), "an attribute has an empty key"),
        {std::string(257, 'a'), "the key of an attribute has 257 bytes, where at most 256 are kept"},
        {"a\\u0007b", "the key of an attribute is not printable: a?b"}}) {
    const auto refused = loaded(key);
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().message, why);
    EXPECT_EQ(refused.error().field, "traces.attributes");
  }
  EXPECT_TRUE(load_server_config(file("[traces]\nattributes = []\n")));
}

TEST_F(Config, HowMuchOfABinaryIsSentIsOneOfThreeChoices) {
  EXPECT_EQ(load_server_config(file(""))->binaries_content, "debug");
  EXPECT_EQ(load_daemon_config(file(""))->binaries_content, "debug");
  for (const std::string content : {"symbols", "debug", "code"}) {
    const std::string text = "[binaries]\ncontent = \"" + content + "\"\n";
    EXPECT_TRUE(load_server_config(file(text))) << content;
    EXPECT_TRUE(load_daemon_config(file(text))) << content;
  }
  const auto server = load_server_config(file("[binaries]\ncontent = \"all\"\n"));
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().field, "binaries.content");
  const auto daemon = load_daemon_config(file("[binaries]\ncontent = \"\"\n"));
  ASSERT_FALSE(daemon);
  EXPECT_EQ(daemon.error().field, "binaries.content");
}

TEST_F(Config, ReplicatedTablesRequireAnAddress) {
  EXPECT_FALSE(load_server_config(file("")).value().store_replicated);
  const auto refused = load_server_config(file("[store]\nreplicated = true\n"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "store.replicated");
  const auto server = load_server_config(
      file("[store]\naddress = \"clickhouse://a,b/p\"\nreplicated = true\ninsert_quorum = 3\n"));
  ASSERT_TRUE(server) << server.error().text();
  EXPECT_TRUE(server->store_replicated);
  EXPECT_EQ(server->store_insert_quorum, 3);
  EXPECT_FALSE(load_server_config(file("[store]\ninsert_quorum = 1\n")));
}

TEST_F(Config, RowsInClickHouseGoWithObjects) {
  const auto server = load_server_config(
      file("[store]\naddress = \"clickhouse://a/p\"\n[objects]\naddress = \"file:///mnt/objects\"\n"));
  ASSERT_TRUE(server) << server.error().text();
  EXPECT_EQ(server->store_address, "clickhouse://a/p");
  EXPECT_EQ(server->objects_address, "file:///mnt/objects");
}

TEST_F(Config, ShardsRequireAnAddress) {
  EXPECT_THAT(load_server_config(file("")).value().store_shards, ::testing::IsEmpty());
  const auto refused = load_server_config(file("[store]\nshards = [\"clickhouse://b/p\"]\n"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "store.shards");
  const auto server = load_server_config(file(
      "[store]\naddress = \"clickhouse://a/p\"\nshards = [\"clickhouse://b/p\", \"clickhouse://c/p\"]\n"));
  ASSERT_TRUE(server) << server.error().text();
  EXPECT_THAT(server->store_shards, ::testing::ElementsAre("clickhouse://b/p", "clickhouse://c/p"));
}

TEST_F(Config, LoadsBothPrograms) {
  const auto server = load_server_config(file("[collect]\nrate_hz = 199\n[fleet]\nheartbeat = \"1s\"\n"));
  ASSERT_TRUE(server.has_value()) << server.error().text();
  EXPECT_EQ(server->collect_rate_hz, 199);
  EXPECT_EQ(server->heartbeat_ns, kNsPerSecond);
  EXPECT_EQ(server->listen, "127.0.0.1:7070");
  EXPECT_FALSE(load_server_config(file("[collect]\nrate_hz = 10001\n")).has_value());
  const auto stacks =
      load_server_config(file("[collect]\nrate_hz = 199\nstack_rate_hz = 20\nstack_bytes = \"64KiB\"\n"));
  ASSERT_TRUE(stacks.has_value()) << stacks.error().text();
  EXPECT_EQ(stacks->collect_stack_rate_hz, 20);
  EXPECT_EQ(stacks->collect_stack_bytes, 65'536);
  EXPECT_FALSE(load_server_config(file("[collect]\nstack_bytes = \"65KiB\"\n")).has_value());
  const auto too_many = load_server_config(file("[collect]\nrate_hz = 99\nstack_rate_hz = 100\n"));
  ASSERT_FALSE(too_many.has_value());
  EXPECT_EQ(too_many.error().field, "collect.stack_rate_hz");
  EXPECT_EQ(too_many.error().message, "100 stacks per second is more than 99 samples per second");

  const auto daemon = load_daemon_config(file("[machine]\nid = \"m1\"\n"));
  ASSERT_TRUE(daemon.has_value()) << daemon.error().text();
  EXPECT_EQ(daemon->machine_id, "m1");
  EXPECT_EQ(daemon->max_window_ns, 300 * kNsPerSecond);
  const auto limited =
      load_daemon_config(file("[limits]\nmax_stack_bytes = \"8KiB\"\nmax_stack_rate_hz = 50\n"));
  ASSERT_TRUE(limited.has_value()) << limited.error().text();
  EXPECT_EQ(limited->max_stack_bytes, 8192);
  EXPECT_EQ(limited->max_stack_rate_hz, 50);
  EXPECT_TRUE(daemon->count.groups.empty());
  EXPECT_EQ(daemon->count.events, (std::vector<std::string>{"cycles", "instructions"}));
  const auto counting =
      load_daemon_config(file("[count]\ngroups = ['^/a$', '^/b$']\nevents = ['task-clock']\nmax_fds = 64\n"));
  ASSERT_TRUE(counting.has_value()) << counting.error().text();
  EXPECT_EQ(counting->count.groups, (std::vector<std::string>{"^/a$", "^/b$"}));
  EXPECT_EQ(counting->count.events, std::vector<std::string>{"task-clock"});
  EXPECT_EQ(counting->count.max_fds, 64);
  EXPECT_FALSE(load_daemon_config(file("[count]\nmax_fds = 0\n")).has_value());
  const auto listening =
      load_daemon_config(file("[[scrape.listening]]\nprogram = 'search'\nports = '6060'\n"));
  ASSERT_TRUE(listening.has_value()) << listening.error().text();
  EXPECT_EQ(listening->scrape_listening.at(0).paths, std::vector<std::string>{"/debug/pprof/heap"});
  const auto any_port = load_daemon_config(file("[[scrape.listening]]\nprogram = 'search'\n"));
  ASSERT_FALSE(any_port.has_value());
  EXPECT_EQ(any_port.error().field, "scrape.listening");
  const auto ruled = load_daemon_config(
      file("[identity]\nenvironment = [\"JOB\"]\n"
           "[[identity.rules]]\ncgroup = '^/x/(.+)'\nenvironment = 'JOB=(.+)'\njob = '$2'\n"));
  ASSERT_TRUE(ruled.has_value()) << ruled.error().text();
  ASSERT_EQ(ruled->identity.rules.size(), 1);
  EXPECT_EQ(ruled->identity.rules[0].cgroup, "^/x/(.+)");
  EXPECT_EQ(ruled->identity.rules[0].job, "$2");
}

}  // namespace
}  // namespace plimsoll::config
