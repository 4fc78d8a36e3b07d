#include <gtest/gtest.h>

#include <array>

#include "symbolizer/names/demangle.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/seed.h"

namespace plimsoll::symbolizer {
namespace {

constexpr int kMutations = 10'000;
constexpr size_t kMaxDemangledBytes = size_t{16} << 10;

constexpr std::array<std::string_view, 20> kNames{
    "_ZNSt6vectorIiSaIiEE9push_backERKi.isra.0.cold",
    "_ZNSt8_Rb_treeINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4pairIKS5_iESt10_Select1stIS8_"
    "ESt4lessIS5_"
    "ESaIS8_EE29_M_get_insert_hint_unique_posESt23_Rb_tree_const_iteratorIS8_ERS7_",
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc@@GLIBCXX_3.4",
    "_ZZN5outer3runEvENKUlT_DpT0_E_clIiJcdEEEDaS0_S2_.constprop.1",
    "_ZN9__gnu_cxx17__normal_iteratorIPSt10unique_ptrI1AB5cxx11St14default_deleteIS2_EESt6vectorIS5_SaIS5_"
    "EEEppEv",
    "_ZSt4moveIRiEONSt16remove_referenceIT_E4typeEOS2_",
    "_ZN4core3ptr85drop_in_place$LT$std..rt..lang_start$LT$$LP$$RP$$GT$..$u7b$$u7b$closure$u7d$$u7d$$GT$"
    "17h0123456789abcdefE.llvm.1234567890",
    "_RINvNtC3std3mem8align_ofNtNtC4test5outer5InnerE",
    "_RNvXs2_NtCsbDqzXfLQacH_5alloc3vecINtB5_3VechENtNtNtCsiSGsc_4core3ops4drop4Drop4dropCskDf_5hello",
    "_RINvNtCs1_5alloc3vec3newKj1f_Kb1_hRShTmdEE",
    "_GLOBAL__sub_I_main.cpp.cold",
    "main.(*List[go.shape.[]int_0]).Push.func1.2",
    "_D3std9algorithm9iteration__T3mapZ__TQjTAiZQqMFNaNbNiNfQpZv.part.0",
    "$s4main4ListV3mapyACyqd__Gqd__xXElF.cold",
    "_$Ss10DictionaryV3t17E6Index2V1loiSbAEyxq__G_AGtFZ",
    "camlStdlib__List.$5e_1234",
    "_Z3f5bIiTpTnNSt9enable_ifIXsr3stdE13is_integral_vIT_EES1_E4typeEJLi1ELi2EEES1_S1_",
    "_Z2f3IiET_S0_QrQS0__Xplfp_fp_TNSt6vectorIS0_SaIS0_EE8iteratorEXplfp_Li0ERSt8integralQeqstS0_Li4EE.cold",
    "_ZNSt6ranges11filter_viewI1AZ4mainE3$_0E9_IteratorFeqERKS8_SA_Q19equality_comparableIDTcl7__beginIRT_"
    "EEE",
    "_ZNH3BoxIiE1mITkSt8integralDkS_TtTyQ5SmallIT_EES_EEvRKS0_UlTk5SmallT_E_",
};

std::string_view any_name(std::mt19937_64& random) {
  return kNames[random() % kNames.size()];
}

// A name with a piece of another in place of a piece of its own: most of the grammar stays whole.
std::string crossed(std::string_view original, std::mt19937_64& random) {
  std::string name(original);
  const std::string_view other = any_name(random);
  name.replace(random() % name.size(), random() % 4, other.substr(random() % other.size(), 1 + random() % 4));
  return name;
}

// The same bytes, or a text within the demanglers' bound, and that doubled at most where it was shortened.
TEST(FuzzNames, DamagedNamesGiveTextsOfBoundedLength) {
  std::mt19937_64 random(fuzz::seed(1));
  int demangled = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string_view original = any_name(random);
    const std::string name = i % 2 == 0 ? fuzz::mutated(original, random) : crossed(original, random);
    const size_t most = std::max(name.size(), kMaxDemangledBytes);
    for (const NameForm form : {NameForm{}, {.fold_clones = false}, {.demangle = false}}) {
      const std::string full = display_name(name, form);
      ASSERT_LE(full.size(), most) << name;
      ASSERT_EQ(full.empty(), name.empty()) << name;
      NameForm short_form = form;
      short_form.shorten_templates = true;
      ASSERT_LE(display_name(name, short_form).size(), 2 * most) << name;
      demangled += name.starts_with('_') && full.find("::") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_GT(demangled, kMutations / 10) << "much of the damage leaves a name that can be read";
}

// Names that are made of the characters which matter to the one who looks for brackets.
TEST(FuzzNames, ShorteningTwiceIsShorteningOnce) {
  constexpr std::array<std::string_view, 20> kPieces{"<", ">",  "(",  ")",     "[",        "]",         "{",
                                                     "}", "->", "<<", "<=",    "operator", "operator<", " ",
                                                     ",", "::", "a",  "impl ", "lambda(",  "-"};
  std::mt19937_64 random(fuzz::seed(2));
  constexpr NameForm kShort{.demangle = false, .fold_clones = false, .shorten_templates = true};
  int shortened = 0;
  for (int i = 0; i < 10 * kMutations; ++i) {
    std::string name = "a<b>";
    for (uint64_t pieces = random() % 12; pieces > 0; --pieces) {
      name += kPieces[random() % kPieces.size()];
    }
    const std::string once = display_name(name, kShort);
    ASSERT_EQ(display_name(once, kShort), once) << name;
    shortened += once != name ? 1 : 0;
  }
  EXPECT_GT(shortened, kMutations) << "brackets match often enough";
}

}  // namespace
}  // namespace plimsoll::symbolizer
