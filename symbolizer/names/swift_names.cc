#include "symbolizer/names/swift_names.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "symbolizer/names/name_cursor.h"

namespace plimsoll::symbolizer {
namespace {

// Since Swift 4.2 or 5.0; on Darwin with an underscore before it.
constexpr std::array<std::string_view, 4> kPrefixes{"$s", "$S", "_$s", "_$S"};

// Types and protocols of the standard library, which have letters of their own.
using Letter = std::pair<char, std::string_view>;
constexpr std::array<Letter, 48> kStandardTypes{{
    {'A', "AutoreleasingUnsafeMutablePointer"},
    {'a', "Array"},
    {'B', "BinaryFloatingPoint"},
    {'b', "Bool"},
    {'D', "Dictionary"},
    {'d', "Double"},
    {'E', "Encodable"},
    {'e', "Decodable"},
    {'F', "FloatingPoint"},
    {'f', "Float"},
    {'G', "RandomNumberGenerator"},
    {'H', "Hashable"},
    {'h', "Set"},
    {'I', "DefaultIndices"},
    {'i', "Int"},
    {'J', "Character"},
    {'j', "Numeric"},
    {'K', "BidirectionalCollection"},
    {'k', "RandomAccessCollection"},
    {'L', "Comparable"},
    {'l', "Collection"},
    {'M', "MutableCollection"},
    {'m', "RangeReplaceableCollection"},
    {'N', "ClosedRange"},
    {'n', "Range"},
    {'O', "ObjectIdentifier"},
    {'P', "UnsafePointer"},
    {'p', "UnsafeMutablePointer"},
    {'Q', "Equatable"},
    {'q', "Optional"},
    {'R', "UnsafeBufferPointer"},
    {'r', "UnsafeMutableBufferPointer"},
    {'S', "String"},
    {'s', "Substring"},
    {'T', "Sequence"},
    {'t', "IteratorProtocol"},
    {'U', "UnsignedInteger"},
    {'u', "UInt"},
    {'V', "UnsafeRawPointer"},
    {'v', "UnsafeMutableRawPointer"},
    {'W', "UnsafeRawBufferPointer"},
    {'w', "UnsafeMutableRawBufferPointer"},
    {'X', "RangeExpression"},
    {'x', "Strideable"},
    {'Y', "RawRepresentable"},
    {'y', "StringProtocol"},
    {'Z', "SignedInteger"},
    {'z', "BinaryInteger"},
}};

// What the last letters of a name say: what declaration without a name of its own it is of, or which part of one that has one.
using Ending = std::pair<std::string_view, std::string_view>;
constexpr std::array<Ending, 7> kNameless{{{"fC", ".init"},
                                           {"fc", ".init"},
                                           {"fD", ".deinit"},
                                           {"fd", ".deinit"},
                                           {"cig", ".subscript.getter"},
                                           {"cis", ".subscript.setter"},
                                           {"ciM", ".subscript.modify"}}};
constexpr std::array<Ending, 7> kNamed{{{"F", ""},
                                        {"vg", ".getter"},
                                        {"vs", ".setter"},
                                        {"vM", ".modify"},
                                        {"vr", ".read"},
                                        {"vw", ".willset"},
                                        {"vW", ".didset"}}};

// The letters of operators: "oi" of infix, "op" of prefix and "oP" of postfix ones follow.
constexpr std::string_view kOperatorLetters = "acdeglmnopqrstxz";
constexpr std::string_view kOperatorSymbols = "&@/=><*!|+?%-~^.";

// A letter stands for a word of any length: names could grow by their square.
constexpr size_t kMaxIdentifierBytes = 4096;
constexpr size_t kMaxPathBytes = size_t{16} << 10;

constexpr size_t kMaxWords = 26;  // that later identifiers of a name may refer to, by a letter

constexpr bool is_capital(char character) {
  return character >= 'A' && character <= 'Z';
}

class SwiftReader {
 public:
  explicit SwiftReader(std::string_view name) : cursor_(name) {}

  std::optional<std::string> read() {
    if (std::ranges::none_of(kPrefixes, [&](std::string_view prefix) { return cursor_.take(prefix); }) ||
        !context() || !declaration() || path_.size() > kMaxPathBytes) {
      return std::nullopt;
    }
    return std::move(path_);
  }

 private:
  // A module and the types within it that the declaration stands in, or a type of the standard library.
  bool context() {
    if (cursor_.take('s')) {
      path_ = "Swift";
    } else if (cursor_.take('S')) {
      const char letter = cursor_.next();
      const auto* const type = std::ranges::find(kStandardTypes, letter, &Letter::first);
      if (type == kStandardTypes.end()) {
        return false;
      }
      path_ = "Swift." + std::string(type->second);
    } else if (!identifier(path_)) {
      return false;
    }
    while (nested_type() || extension()) {
    }
    return true;
  }

  bool nested_type() {
    const Mark mark(*this);
    std::string name;
    // Class, structure, enumeration, protocol.
    if (path_.size() > kMaxPathBytes || !identifier(name) || !skip_file_of_private() ||
        !std::string_view("CVOP").contains(cursor_.peek()) || cursor_.is_at_end()) {
      return mark.go_back();
    }
    cursor_.next();
    path_ += "." + name;
    return true;
  }

  // Of another module's type: the type's name stands for where the function is found.
  bool extension() {
    const Mark mark(*this);
    std::string module;
    if ((!cursor_.take('s') && !identifier(module)) || !cursor_.take('E')) {
      return mark.go_back();
    }
    return true;
  }

  // The rest: what is declared there.
  bool declaration() {
    std::string_view rest = cursor_.rest();
    if (rest.ends_with('Z')) {  // static
      rest.remove_suffix(1);
    }
    if (const auto* const ending = ending_of(rest, kNameless)) {
      path_ += ending->second;
      return true;
    }
    std::string name;
    if (!identifier(name) || !skip_file_of_private() || has_local_declaration(cursor_.rest())) {
      return false;
    }
    path_ += "." + operator_symbols(name).value_or(name);
    if (is_of_closure(rest)) {
      path_.insert(0, "closure in ");
      return true;
    }
    const auto* const ending = ending_of(rest, kNamed);
    path_ += ending == nullptr ? "" : ending->second;
    return ending != nullptr;
  }

  static const Ending* ending_of(std::string_view text, std::span<const Ending> endings) {
    const auto found =
        std::ranges::find_if(endings, [&](const Ending& ending) { return text.ends_with(ending.first); });
    return found == endings.end() ? nullptr : &*found;
  }

  // "L_", "L0_" and so on: what is named stands within a function, of which the path is then.
  static bool has_local_declaration(std::string_view rest) {
    for (size_t place = rest.find('L'); place != std::string_view::npos; place = rest.find('L', place + 1)) {
      const std::string_view behind = rest.substr(place + 1);
      const size_t end = behind.find_first_not_of("0123456789");
      if (end != std::string_view::npos && behind[end] == '_') {
        return true;
      }
    }
    return false;
  }

  // "fU_", "fU0_" and so on: of the function that was named; "fu_", of an expression that is one.
  static bool is_of_closure(std::string_view rest) {
    if (!rest.ends_with('_')) {
      return false;
    }
    rest.remove_suffix(1);
    while (!rest.empty() && is_digit(rest.back())) {
      rest.remove_suffix(1);
    }
    return rest.ends_with("fU") || rest.ends_with("fu");
  }

  // "33_" and 32 hexadecimal digits, "LL": the file of a private declaration.
  bool skip_file_of_private() {
    const Mark mark(*this);
    std::string file;
    if (!identifier(file) || !file.starts_with('_') || !cursor_.take("LL")) {
      mark.go_back();
    }
    return true;
  }

  std::optional<std::string> operator_symbols(std::string_view letters) {
    if (!cursor_.take("oi") && !cursor_.take("op") && !cursor_.take("oP")) {
      return std::nullopt;
    }
    std::string symbols;
    for (const char letter : letters) {
      const size_t place = kOperatorLetters.find(letter);
      symbols += place == std::string_view::npos ? letter : kOperatorSymbols[place];
    }
    return symbols;
  }

  // A length and so many characters. With a zero before it pieces like that, and letters for words of identifiers before: capital is the
  // last of them, and what follows it the last piece, if not a zero.
  bool identifier(std::string& name) {
    if (!is_digit(cursor_.peek())) {
      return false;
    }
    bool has_words = cursor_.take('0');
    if (has_words && cursor_.peek() == '0') {
      return false;  // Punycode
    }
    do {
      while (has_words && is_letter(cursor_.peek())) {
        const char letter = cursor_.next();
        has_words = !is_capital(letter);
        const auto word = static_cast<size_t>(letter - (has_words ? 'a' : 'A'));
        if (word >= words_.size() || name.size() > kMaxIdentifierBytes) {
          return false;
        }
        name += words_[word];
      }
      if (cursor_.take('0')) {
        return true;
      }
      if (!piece(name)) {
        return false;
      }
    } while (has_words);
    return true;
  }

  bool piece(std::string& name) {
    const auto size = cursor_.number();
    const auto text = size ? cursor_.text(*size) : std::nullopt;
    if (!text || text->empty() || !std::ranges::all_of(*text, is_word_character)) {
      return false;
    }
    note_words(*text);
    name += *text;
    return true;
  }

  // A word begins where one ended, but with no digit or underscore; it ends before an underscore, and before a capital letter behind one that
  // is not.
  void note_words(std::string_view text) {
    std::optional<size_t> begin;
    for (size_t i = 0; i <= text.size(); ++i) {
      const char next = i < text.size() ? text[i] : '_';
      if (begin && (next == '_' || (is_capital(next) && !is_capital(text[i - 1])))) {
        if (i - *begin >= 2 && words_.size() < kMaxWords) {
          words_.emplace_back(text.substr(*begin, i - *begin));
        }
        begin.reset();
      }
      if (!begin && next != '_' && !is_digit(next)) {
        begin = i;
      }
    }
  }

  static bool is_letter(char character) {
    return is_capital(character) || (character >= 'a' && character <= 'z');
  }

  // Where reading goes on from if what comes next turns out to be something else.
  class Mark {
   public:
    explicit Mark(SwiftReader& reader)
        : reader_(reader), at_(reader.cursor_.at()), words_(reader.words_.size()) {}
    bool go_back() const {
      reader_.cursor_.move_to(at_);
      reader_.words_.resize(words_);
      return false;
    }

   private:
    SwiftReader& reader_;
    const size_t at_;
    const size_t words_;
  };

  NameCursor cursor_;
  std::string path_;
  std::vector<std::string> words_;
};

}  // namespace

std::optional<std::string> swift_name(std::string_view linkage_name) {
  return SwiftReader(linkage_name).read();
}

}  // namespace plimsoll::symbolizer
