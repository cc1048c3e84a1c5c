// The tables of built-in filters, tests, methods and global functions: a name and what it does.
// Each table lives beside its functions (filters_*.cpp, tests.cpp, methods_*.cpp, globals.cpp).
#pragma once

#include <span>
#include <string_view>

#include "text/chat/value.hpp"

namespace moe::text::jinja {

struct Filter {
  std::string_view name;
  Result<Value> (*run)(Interp& interp, const Value& input, Args& args);
};
struct Test {
  std::string_view name;
  Result<bool> (*run)(Interp& interp, const Value& input, Args& args);
};
struct Method {
  std::string_view name;
  Result<Value> (*run)(Interp& interp, const Value& self, Args& args);
};

// Null when there is none. A filter of jinja2's that we lack is there and refuses when it runs.
const Filter* find_filter(std::string_view name);
const Test* find_test(std::string_view name);

std::span<const Filter> text_filters();
std::span<const Filter> list_filters();
std::span<const Filter> select_filters();
std::span<const Filter> number_filters();
std::span<const Filter> unsupported_filters();

std::span<const Method> text_methods();
std::span<const Method> text_query_methods();
const Method* find_text_method(std::string_view name);
const Method* find_list_method(std::string_view name);
const Method* find_dict_method(std::string_view name);

// range, dict, namespace, cycler, joiner, raise_exception, strftime_now, lipsum; missing otherwise.
Value global_value(std::string_view name);

}  // namespace moe::text::jinja
