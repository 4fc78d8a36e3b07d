// Walks over the parts of a C++ linkage name (https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling), and notes what is to be written
// otherwise. It makes nothing of the parts: libiberty reads them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolizer/names/name_cursor.h"

namespace plimsoll::symbolizer {

// Each private function moves over one construct of the grammar, after which it is named; false: it is not there, and the walk has failed. Without
// going back, so in time by the length of the name.
class CppWalk {
 public:
  explicit CppWalk(std::string_view name) : name_(name), cursor_(name) {}

  // Once. False: the name is no C++ name, or nests deeper than 256.
  bool mangled_name();

  bool has_edits() const { return !edits_.empty(); }
  // After mangled_name(). What follows the mangled name, as that of a clone does, stays.
  std::string edited() const;

 private:
  // In place of the bytes from `from` to `to`; by rising places.
  struct Edit {
    size_t from = 0;
    size_t to = 0;
    std::string text = {};
  };
  struct Substitution {
    std::optional<size_t> edited_number = {};  // in the edited name; nothing: it is left out there
    std::string_view template_param = {};      // where it is one: its text
  };
  // How deep constructs nest, while it lives.
  class Deeper {
   public:
    explicit Deeper(CppWalk& walk) : walk_(walk) { ++walk_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --walk_.depth_; }
    bool is_bounded() const;

   private:
    CppWalk& walk_;
  };
  using Part = bool (CppWalk::*)();

  // cpp_walk.cc
  bool encoding();
  bool signature();
  bool special_name();
  bool call_offset();
  bool name();
  bool unscoped_name(bool& is_substitution);
  bool nested_name();
  bool prefix_part(bool has_scope);
  bool local_name();
  bool discriminator();
  bool unqualified_name(bool has_scope);
  bool unnamed_type();
  bool lambda();
  bool constructor();
  bool operator_name();
  bool source_name();
  bool integer();
  bool substitution();

  // cpp_walk_templates.cc
  bool template_args();
  bool template_arg();
  bool is_declaration() const;
  bool declared_arg();
  bool declaration();
  bool template_param();
  bool constraint();

  // cpp_walk_types.cc
  bool type();
  bool unqualified_type();
  bool qualified_type();
  bool is_function_type() const;
  bool type_of_d();
  bool constrained_auto();
  bool function_type();
  bool array_type();
  bool vector_type();
  bool type_of_s();
  bool type_of_t();

  // cpp_walk_expressions.cc
  bool expression();
  bool operator_expression(std::string_view code);
  bool other_expression(std::string_view code);
  bool literal();
  bool function_param();
  bool fold();
  bool conversion();
  bool new_expression();
  bool requires_expression();
  bool requirement();
  bool braced_expression();
  bool unresolved_name();
  bool qualifier_level();
  bool unresolved_type();
  bool simple_id();
  bool base_unresolved_name();
  bool vendor_expression();

  // Parts up to that character, which follows the last.
  bool each_to(char end, Part part) {
    while (!cursor_.take(end)) {
      if (!(this->*part)()) {
        return false;
      }
    }
    return true;
  }
  void qualifiers() {
    while (cursor_.take('r') || cursor_.take('V') || cursor_.take('K')) {
    }
  }
  void move(size_t characters) { cursor_.move_to(cursor_.at() + characters); }
  bool add_substitution(std::string_view template_param = {}) {
    substitutions_.push_back({.template_param = template_param});
    if (omitting_ == 0) {
      substitutions_.back().edited_number = edited_substitutions_++;
    }
    return true;
  }
  // One that only the edited name has.
  void count_edited_substitution() { edited_substitutions_ += omitting_ == 0 ? 1 : 0; }
  void drop_substitution() {
    edited_substitutions_ -= substitutions_.back().edited_number ? 1 : 0;
    substitutions_.pop_back();
  }
  bool refer_to(size_t number, size_t from);
  // Of what is left out itself nothing is edited.
  void edit(size_t from, size_t to, std::string text) {
    if (omitting_ == 0) {
      edits_.push_back({from, to, std::move(text)});
    }
  }
  // Writes `text` in place of the part that comes next, and of what stands before it from `from` on.
  bool replace(size_t from, Part part, std::string text);

  const std::string_view name_;
  NameCursor cursor_;
  int depth_ = 0;
  int omitting_ = 0;
  bool takes_template_args_ =
      true;  // false: those after a type are of the conversion operator that it is the name of
  std::vector<Substitution> substitutions_;
  size_t edited_substitutions_ = 0;
  std::vector<Edit> edits_;
};

}  // namespace plimsoll::symbolizer
