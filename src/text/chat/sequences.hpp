// What several list filters share: attribute paths such as "function.name", sort keys, sorting.
#pragma once

#include <vector>

#include "text/chat/value.hpp"

namespace moe::text::jinja {

// The path of an `attribute` argument, read as jinja2 does: names and positions with dots between.
class AttributePath {
 public:
  // None or missing: the item itself. `ignore_case` lowers texts, `otherwise` stands in for
  // undefined.
  static Result<AttributePath> parse(const Value& attribute, bool ignore_case,
                                     Value otherwise = {});
  Result<Value> get(Interp& interp, const Value& item) const;

 private:
  std::vector<Value> parts_;
  bool ignore_case_ = false;
  Value otherwise_;
};

Result<Value> lowered(Interp& interp, const Value& value);

struct Keyed {
  Value key;
  Value item;
};
// Stable, by the order of Python's <.
Status sort_by_key(Interp& interp, std::vector<Keyed>& items, bool reverse);

}  // namespace moe::text::jinja
