// What binaries say of their making: compilers in .comment, packages' notes, Go's build info.
#include "elf/build_facts.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/elf/elf_image.h"

namespace plimsoll::elf {
namespace {

constexpr uint32_t kPackageMetadata = 0xcafe1a7e;

// As linkers write them into .comment.
std::string strings(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts) {
    bytes.append(text).push_back('\0');
  }
  return bytes;
}

BuildFacts facts_of(const ElfImage& image) {
  const std::string bytes = image.bytes();
  const auto loaded = LoadedImage::from_file(read_at_of(as_bytes(bytes)));
  EXPECT_TRUE(loaded) << loaded.error().text();
  return loaded ? read_build_facts(*loaded) : BuildFacts();
}

std::string brief(const BuildFacts& facts) {
  return facts.compiler + "|" + facts.revision + "|" + facts.builder;
}

TEST(MainCompiler, IsTheOneThatIsNotEverybodys) {
  const std::string debian = "GCC: (Debian 12.2.0-14) 12.2.0";
  const std::string clang = "Debian clang version 16.0.6 (15~deb12u1)";
  const std::string rust = "rustc version 1.70.0 (90c541806 2023-05-31)";
  struct Case {
    std::vector<std::string> comment;
    std::string compiler;
  };
  const std::vector<Case> cases{
      {{debian}, debian},
      {{clang}, clang},
      {{debian, clang}, clang},
      {{debian, "Linker: LLD 16.0.6", clang}, clang},
      {{"Linker: LLD 16.0.6"}, ""},
      {{"mold 2.30.0 (compatible with GNU ld)", debian}, debian},
      {{debian, clang, rust}, rust},
      {{rust, debian}, rust},
      {{debian, "GHC 9.0.2"}, "GHC 9.0.2"},
      {{debian, "The Netwide Assembler 2.16.01"}, debian},
      {{"The Netwide Assembler 2.16.01"}, "The Netwide Assembler 2.16.01"},
      {{"GCC: (GNU) 8.5.0 20210514 (Red Hat 8.5.0-28)", "GCC: (GNU) 13.2.0"}, "GCC: (GNU) 13.2.0"},
      {{"GCC: (GNU) 13.2.0", debian}, "GCC: (GNU) 13.2.0"},
      {{"GCC: (GNU) 9.5.0", "GCC: (Debian 12.2.0-14) 12.2.0"}, "GCC: (Debian 12.2.0-14) 12.2.0"},
      {{"GCC: (GNU) 12.2.0", "GCC: (GNU) 12.10.0"}, "GCC: (GNU) 12.10.0"},
      {{"", ""}, ""},
      {{}, ""},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(main_compiler(strings(c.comment)), c.compiler);
    const std::vector<std::string> reversed(c.comment.rbegin(), c.comment.rend());
    EXPECT_EQ(main_compiler(strings(reversed)), c.compiler) << "whatever the order";
  }
}

TEST(MainCompiler, IsPrintableAndShort) {
  EXPECT_EQ(main_compiler("GCC: odd\x01\xff 1.2"), "GCC: odd?? 1.2") << "nothing ends the last string";
  EXPECT_EQ(main_compiler(std::string(100'000, 'x')).size(), 256);
}

TEST(PackageFacts, AreVersionAndKindWithItsSystem) {
  struct Case {
    std::string json;
    std::string facts;
  };
  const std::vector<Case> cases{
      {R"({"type":"rpm","name":"systemd","version":"248-1.fc34","architecture":"x86_64",)"
       R"("osCpe":"cpe:/o:fedoraproject:fedora:33"})",
       "|248-1.fc34|rpm fedora 33"},
      {R"({"type":"deb","os":"debian","name":"job","version":"1.2-3","architecture":"amd64"})",
       "|1.2-3|deb debian"},
      {R"({"type":"deb","os":"ubuntu","osVersion":"22.04","version":"1"})", "|1|deb ubuntu 22.04"},
      {R"({"type":"apk","osCpe":"cpe:2.3:o:a:b"})", "||apk"},
      {R"({"type":"apk","osCpe":"cpe:/o:"})", "||apk"},
      {R"({"version":7,"type":["a"]})", "||"},
      {R"({"version":"new\nline"})", "|new?line|"},
      {std::string("{\"version\":\"1\"}\0\0\0", 18), "|1|"},
      {"{\"version\":\"1\"", "||"},
      {"[\"version\"]", "||"},
      {"\"version\"", "||"},
      {"", "||"},
      {std::string(10'000, '['), "||"},
      {"{\"version\":\"1\",\"more\":\"" + std::string(20'000, 'x') + "\"}", "||"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(brief(package_facts(c.json)), c.facts) << c.json.substr(0, 200);
  }
}

TEST(GoModuleFacts, PreferTheRevisionToTheVersion) {
  const std::string working_copy = "path\texample.org/job\nmod\texample.org/job\t(devel)\t\n";
  EXPECT_EQ(brief(go_module_facts(working_copy)), "||go");
  const std::string revision =
      working_copy + "dep\tother\tv9.9.9\th1:x\nbuild\tvcs=git\nbuild\tvcs.revision=03563d34\n";
  EXPECT_EQ(brief(go_module_facts(revision + "build\tvcs.modified=false\n")), "|03563d34|go");
  EXPECT_EQ(brief(go_module_facts(revision + "build\tvcs.modified=true\n")), "|03563d34+dirty|go");
  EXPECT_EQ(brief(go_module_facts("mod\texample.org/job\tv1.2.3\th1:x=\n")), "|v1.2.3|go");
  EXPECT_EQ(brief(go_module_facts("")), "||go");
  EXPECT_EQ(brief(go_module_facts("mod\nbuild\n\t\t\nmod\tx")), "||go");
}

// A Go program's file: everything in one section, at the address that is its file offset.
class GoImage {
 public:
  static constexpr uint64_t kInfoAddress = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);

  static std::string marked(const std::string& text) {
    return std::string(16, '<') + text + std::string(16, '>');
  }
  static std::string inlined(const std::string& version, const std::string& modules) {
    std::string info = "\xff Go buildinf:";
    info += {8, 2};
    info.resize(32);
    for (const std::string& text : {version, modules}) {
      info += static_cast<char>(0x80 | (text.size() & 0x7f));  // a number of two bytes
      info += static_cast<char>(text.size() >> 7);
      info += text;
    }
    return info;
  }
  // Before Go 1.18: addresses of strings, each an address and a length.
  static std::string pointed(const std::string& version, const std::string& modules) {
    constexpr uint64_t kStrings = kInfoAddress + 32;
    std::string info = "\xff Go buildinf:";
    info += {8, 0};
    info += object_bytes(kStrings) + object_bytes(kStrings + 16);
    info += object_bytes(kStrings + 32) + object_bytes(uint64_t{version.size()});
    info += object_bytes(kStrings + 32 + version.size()) + object_bytes(uint64_t{modules.size()});
    return info + version + modules;
  }
  static ElfImage with(const std::string& info) {
    ElfImage image;
    image.load({PF_R | PF_W, 0, 0, kInfoAddress + info.size()});
    image.section(".go.buildinfo", SHT_PROGBITS, info);
    return image;
  }
};

TEST(GoBuildInfo, IsReadInBothForms) {
  const std::string modules = GoImage::marked("mod\tjob\tv1.2.3\th1:x\nbuild\tvcs.revision=abc\n");
  for (const std::string& info :
       {GoImage::inlined("go1.19.8", modules), GoImage::pointed("go1.19.8", modules)}) {
    EXPECT_EQ(brief(facts_of(GoImage::with(info))), "go1.19.8|abc|go");
  }
  EXPECT_EQ(brief(facts_of(GoImage::with(GoImage::inlined("go1.21.0", "")))), "go1.21.0||go")
      << "built without modules";
}

TEST(GoBuildInfo, IsFoundWithoutSectionHeaders) {
  ElfImage image;
  const std::string build_note = note(std::string("Go\0", 3), 4, "id");
  const std::string info = GoImage::inlined("go1.20.1", GoImage::marked("mod\tjob\tv2\t\n"));
  constexpr uint64_t kInfoOffset = 256;  // behind headers and note
  image.load({PF_R | PF_W, 0, 0, kInfoOffset + info.size()});
  image.segment(PT_NOTE, build_note);
  image.segment(PT_NULL, info);
  ASSERT_EQ(image.bytes().find("\xff Go"), kInfoOffset);
  EXPECT_EQ(brief(facts_of(image)), "go1.20.1|v2|go");
}

TEST(GoBuildInfo, LeavesOutWhatIsDamaged) {
  const std::string modules = GoImage::marked("mod\tjob\tv1.2.3\th1:x\n");
  std::string big_endian = GoImage::pointed("go1.17", modules);
  big_endian[15] = 1;
  std::string small_pointers = GoImage::pointed("go1.17", modules);
  small_pointers[14] = 4;
  std::string far = GoImage::pointed("go1.17", modules);
  far[20] = 1;
  const std::string whole = GoImage::inlined("go1.19", modules);
  for (const std::string& info : {big_endian, small_pointers, far, whole.substr(0, 40), whole.substr(0, 20),
                                  "x" + whole, std::string("\xff Go buildinf:")}) {
    EXPECT_EQ(brief(facts_of(GoImage::with(info))), "||");
  }
  EXPECT_EQ(brief(facts_of(GoImage::with(GoImage::inlined("go1.19", "no marks")))), "go1.19||go");
}

TEST(BuildFacts, AreThoseOfTheFilesParts) {
  const std::string package = R"({"type":"rpm","version":"3-1.fc38","os":"fedora","osVersion":"38"})";
  ElfImage image;
  image.load({PF_R, 0, 0, 4096});
  image.segment(PT_NOTE, note("GNU", NT_GNU_BUILD_ID, "id") + note("FDO", kPackageMetadata, package));
  image.section(".comment", SHT_PROGBITS, strings({"GCC: (GNU) 13.1.1", "rustc version 1.70.0"}));
  EXPECT_EQ(brief(facts_of(image)), "rustc version 1.70.0|3-1.fc38|rpm fedora 38");
  // Of a Go program the package is known better than the source.
  image.section(".go.buildinfo", SHT_PROGBITS,
                GoImage::inlined("go1.20", GoImage::marked("build\tvcs.revision=abc\n")));
  EXPECT_EQ(brief(facts_of(image)), "go1.20|3-1.fc38|rpm fedora 38");
}

TEST(BuildFacts, AreEmptyOfAFileThatSaysNothing) {
  EXPECT_EQ(brief(facts_of(ElfImage())), "||");
}

TEST(BuildFacts, KnowTheCompilerOfThisTest) {
  const std::string path = "/proc/self/exe";
  const auto fd = std::make_shared<UniqueFd>(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto image = LoadedImage::from_file(read_at_of(fd, path));
  ASSERT_TRUE(image) << image.error().text();
  const std::string compiler = read_build_facts(*image).compiler;
#ifdef __clang__
  EXPECT_NE(compiler.find("clang version " __clang_version__), std::string::npos) << compiler;
#else
  EXPECT_TRUE(compiler.starts_with("GCC: ")) << compiler;
  EXPECT_TRUE(compiler.ends_with(__VERSION__)) << compiler;
#endif
}

}  // namespace
}  // namespace plimsoll::elf
