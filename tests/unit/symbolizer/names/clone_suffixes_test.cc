#include "symbolizer/names/clone_suffixes.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plimsoll::symbolizer {
namespace {

struct Clone {
  std::string_view linkage_name;
  std::string_view of;
};

TEST(CloneSuffixes, ClonesAreFoldedIntoTheFunctionTheyComeFrom) {
  for (const auto& [linkage_name, of] : {
           Clone{"parse.part.0", "parse"},                // gcc, a function split in two
           {"parse.cold", "parse"},                       // gcc, clang: what hardly ever runs
           {"parse.cold.17", "parse"},                    // gcc 8
           {"parse.isra.0", "parse"},                     // gcc, other parameters
           {"parse.constprop.12", "parse"},               // gcc, a parameter that is a constant
           {"parse.clone.3", "parse"},                    // gcc before 4.6
           {"parse.specialized.1", "parse"},              // clang
           {"parse.lto_priv.0", "parse"},                 // gcc -flto, a static function
           {"parse.localalias", "parse"},                 // gcc
           {"parse.localalias.4", "parse"},               //
           {"parse.llvm.15083123456789012345", "parse"},  // clang -flto=thin, rustc
           {"parse.__uniq.245182313", "parse"},           // clang -funique-internal-linkage-names
           {"parse.__part.2", "parse"},                   // clang -fbasic-block-sections
           {"parse.eh", "parse"},                         // landing pads, without a number
           {"parse.memprof.1", "parse"},                  // clang, by a heap profile
           {"parse.org.0", "parse"},                      // BOLT, the code before
           {"parse.anything_new.7", "parse"},             //
           {"parse.llvm.1234.__part.2", "parse"},
           {"state.1234", "state"},  // a static variable, a nested function
           {"main.cold", "main"},
           {"parse.isra.0.part.0.cold", "parse"},
           {"parse.__uniq.245182313.llvm.81812", "parse"},
           {"_ZN3ns15parseEv.constprop.0.isra.0", "_ZN3ns15parseEv"},
           {"_Z3foov.1234", "_Z3foov"},
           {"_ZN65_$LT$std..ffi..OsString$GT$4from17h0123456789abcdefE.llvm.123",
            "_ZN65_$LT$std..ffi..OsString$GT$4from17h0123456789abcdefE"},
           {"_RNvNtCsbDqzXfLQacH_5hello4main3run.llvm.123", "_RNvNtCsbDqzXfLQacH_5hello4main3run"},
           {"_GLOBAL__sub_I_main.cpp.cold", "_GLOBAL__sub_I_main.cpp"},
           {"_D4main5parseFZv.part.0", "_D4main5parseFZv"},
           {"$s4main5parseyyF.cold", "$s4main5parseyyF"},
       }) {
    EXPECT_EQ(without_clone_suffixes(linkage_name), of) << linkage_name;
  }
}

TEST(CloneSuffixes, WhatIsNoCloneKeepsItsName) {
  for (
      const std::string_view name : {
          "main",
          "",
          ".",
          ".cold",
          ".1234",
          "parse.",
          "parse.part",
          "parse.isra.",
          "parse.part.x",
          "parse.cold.x",
          "_GLOBAL__sub_I_main.cpp",
          // Functions of their own: a parallel loop's body, a coroutine's later half, a version for some CPUs.
          "sum._omp_fn.0",
          "_Z3sumv._omp_fn.0",
          "_Z4taskv.resume",
          "dot.avx2",
          "dot.avx2.0",
          "dot.arch_haswell_avx2.3",
          "dot.default.1",
          "parse._loopfn.0",
          "main.omp_outlined.1",
          "_Z1fv.resume.3",
          "dot.resolver",
          // Go's: an initializer, closures, a method of a type, a method called cold.
          "main.init.0",
          "main.main.func1.2",
          "encoding/json.(*Decoder).Decode",
          "main.(*cache).cold",
          "main.cache.cold",
          "example.com/v2/cache.cold",
          "main.glob..func1",
          "type..eq.[2]string",
          "type..hash.main.T",
          // Names that are no linkage names.
          "ns::(anonymous namespace)::parse",
          "operator new",
      }) {
    EXPECT_EQ(without_clone_suffixes(name), name);
  }
}

TEST(CloneSuffixes, AKnownSuffixBehindAnUnknownOneIsFolded) {
  EXPECT_EQ(without_clone_suffixes("_Z3sumv._omp_fn.0.cold"), "_Z3sumv._omp_fn.0");
  EXPECT_EQ(without_clone_suffixes("_Z4taskv.resume.llvm.1234"), "_Z4taskv.resume");
}

TEST(CloneSuffixes, AnyCombinationOfSuffixesLeadsBackToTheFunction) {
  const std::vector<std::string> suffixes{".part.0",       ".isra.17",    ".constprop.3", ".cold",
                                          ".cold.2",       ".lto_priv.0", ".clone.9",     ".llvm.123",
                                          ".__uniq.99999", ".localalias"};
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::string function = i % 2 == 0 ? "parse_line" : "_ZN3net6Socket4readEPci";
    std::string clone = function;
    for (uint64_t count = random() % 6; count > 0; --count) {
      clone += suffixes[random() % suffixes.size()];
    }
    EXPECT_EQ(without_clone_suffixes(clone), function) << clone;
  }
}

}  // namespace
}  // namespace plimsoll::symbolizer
