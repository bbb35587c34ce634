#pragma once

#include <simdjson.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

// Programs in the JSON form of old schema versions.
namespace edgefx::test {

// The value as JSON text with members sorted and members that are null left out: equal for values that
// readers take as equal. Members of these names are left out everywhere.
std::string canonicalJson(simdjson::dom::element value, std::initializer_list<std::string_view> without = {});

// Text of a program in the form of schema major 8 as one of `major`, 5 or 2, has it.
std::string downgradedJson(simdjson::dom::element program, int64_t major);

// The text with all members in every union, null but the one, as majors 1 and 2 write them.
std::string withAllMembers(simdjson::dom::element value);

}  // namespace edgefx::test
