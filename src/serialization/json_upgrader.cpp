#include "serialization/json_upgrader.h"

#include <edgefx/support/error.h>

#include "serialization/byte_text.h"
#include "support/fail.h"

#include <cmath>

namespace edgefx::detail {

std::string JsonUpgrader::pathText() const {
  std::string text;
  for (const Step& step : path_) {
    if (!step.isKey) {
      text += fmt::format("[{}]", step.index);
      continue;
    }
    if (!text.empty()) text += '.';
    text += printable(step.key);
  }
  return printable(text);
}

void JsonUpgrader::fail(const std::string& message) const {
  detail::fail<ParseError>("{}{}{}", pathText(), path_.empty() ? "" : ": ", message);
}

void JsonUpgrader::failKind(std::string_view wanted, JsonValue found) const {
  fail(fmt::format("expected {}, found {}", wanted, kindName(found)));
}

simdjson::dom::object JsonUpgrader::asObject(JsonValue value) const {
  simdjson::dom::object fields;
  if (value.get(fields) != simdjson::SUCCESS) failKind("an object", value);
  return fields;
}

simdjson::dom::array JsonUpgrader::asArray(JsonValue value) const {
  simdjson::dom::array items;
  if (value.get(items) != simdjson::SUCCESS) failKind("an array", value);
  return items;
}

std::string_view JsonUpgrader::asString(JsonValue value) const {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) failKind("a string", value);
  return text;
}

std::optional<JsonValue> JsonUpgrader::find(simdjson::dom::object fields, std::string_view name) const {
  JsonValue value;
  if (fields.at_key(name).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

JsonValue JsonUpgrader::member(simdjson::dom::object fields, std::string_view name) const {
  std::optional<JsonValue> value = find(fields, name);
  if (!value) fail(fmt::format("member '{}' is missing", name));
  return *value;
}

std::string_view JsonUpgrader::stringMember(simdjson::dom::object fields, std::string_view name) {
  JsonValue value = member(fields, name);
  Inside here(*this, name);
  return asString(value);
}

// Majors 1 and 2 write every member of a union, all null but one; later ones write the one.
JsonUpgrader::Tagged JsonUpgrader::pick(JsonValue value, std::string_view unionName) const {
  std::optional<Tagged> picked;
  size_t members = 0;
  for (auto field : asObject(value)) {
    ++members;
    if (field.value.is_null()) continue;
    if (picked) {
      fail(fmt::format("{} needs exactly one tag, found '{}' and '{}'", unionName, printable(picked->tag),
                       printable(field.key)));
    }
    picked = Tagged{field.key, field.value};
  }
  if (!picked) fail(fmt::format("{} needs exactly one tag, found none", unionName));
  if (members == 1) return *picked;
  if (major_ > 2) fail(fmt::format("{} needs exactly one tag, found {} members", unionName, members));
  size_t same = 0;
  for (auto field : asObject(value)) same += field.key == picked->tag ? 1 : 0;
  if (same > 1) fail(fmt::format("tag '{}' of {} occurs twice", printable(picked->tag), unionName));
  return *picked;
}

void JsonUpgrader::copy(JsonValue value) {
  if (value.is_string()) {
    writer_.string(std::string_view(value));
  } else if (value.is_int64()) {
    writer_.integer(int64_t(value));
  } else {
    writer_.raw(pythonJson(value));
  }
}

void JsonUpgrader::copyMember(std::string_view name, JsonValue value) {
  writer_.key(name);
  copy(value);
}

void JsonUpgrader::structMembers(simdjson::dom::object fields, const Schema& schema) {
  uint32_t seen = 0;
  for (auto field : fields) {
    size_t i = 0;
    while (i < schema.members.size() && schema.members[i].name != field.key) ++i;
    if (i == schema.members.size()) {
      copyMember(field.key, field.value);
      continue;
    }
    if ((seen >> i & 1) != 0) fail(fmt::format("member '{}' of {} occurs twice", field.key, schema.name));
    seen |= uint32_t{1} << i;
    const Member& member = schema.members[i];
    if (member.convert == nullptr) continue;
    writer_.key(member.name);
    if (field.value.is_null()) {
      writer_.raw(member.absent.empty() ? "null" : member.absent);
      continue;
    }
    Inside here(*this, member.name);
    (this->*member.convert)(field.value);
  }
  for (size_t i = 0; i < schema.members.size(); ++i) {
    const Member& member = schema.members[i];
    if ((seen >> i & 1) != 0 || member.convert == nullptr || member.absent.empty()) continue;
    writer_.key(member.name);
    writer_.raw(member.absent);
  }
}

void JsonUpgrader::structOf(JsonValue value, const Schema& schema) {
  simdjson::dom::object fields = asObject(value);
  writer_.beginObject();
  structMembers(fields, schema);
  writer_.endObject();
}

void JsonUpgrader::unionOf(JsonValue value, const Schema& schema) {
  taggedAs(pick(value, schema.name), schema.members);
}

void JsonUpgrader::taggedAs(const Tagged& picked, std::span<const Member> tags) {
  writer_.beginObject();
  writer_.key(picked.tag);
  Inside here(*this, picked.tag);
  Convert convert = &JsonUpgrader::copy;
  for (const Member& known : tags) {
    if (known.name == picked.tag) convert = known.convert;
  }
  (this->*convert)(picked.value);
  writer_.endObject();
}

void JsonUpgrader::program(JsonValue value) {
  static constexpr Member kMembers[] = {
      {"graph_module", &JsonUpgrader::graphModule},
      {"range_constraints", &JsonUpgrader::dictOf<&JsonUpgrader::rangeConstraint>},
      {"schema_version", &JsonUpgrader::schemaVersion},
      {"torch_version", &JsonUpgrader::copy, R"("<=2.4")"},
      {"guards_code", &JsonUpgrader::copy, "[]"},
      {"verifiers", nullptr},
      {"dialect", nullptr},
      {"equality_constraints", nullptr},
  };
  simdjson::dom::object fields = asObject(value);
  isExir_ = major_ == 5 && find(fields, "dialect") && find(fields, "verifiers");
  writer_.beginObject();
  structMembers(fields, {"ExportedProgram", kMembers});
  verifiers(fields);
  writer_.endObject();
  if (auto constraints = find(fields, "equality_constraints")) {
    Inside here(*this, "equality_constraints");
    equalityConstraints(*constraints);
  }
}

void JsonUpgrader::schemaVersion(JsonValue value) {
  if (!value.is_int64()) {
    copy(value);
    return;
  }
  writer_.beginObject();
  copyMember("major", value);
  writer_.key("minor");
  writer_.integer(1);
  writer_.endObject();
}

// Until major 7 a program named one dialect instead of its verifiers; those of ExecuTorch have both.
void JsonUpgrader::verifiers(simdjson::dom::object fields) {
  writer_.key("verifiers");
  if (auto listed = find(fields, "verifiers")) {
    copy(*listed);
    return;
  }
  writer_.beginArray();
  if (auto dialect = find(fields, "dialect")) {
    Inside here(*this, "dialect");
    writer_.string(asString(*dialect));
  }
  writer_.endArray();
}

// [[[input, dim], [input, dim]], ...]
void JsonUpgrader::equalityConstraints(JsonValue value) {
  constexpr size_t kMostShown = 4;
  size_t count = 0;
  std::string shown;
  for (JsonValue pair : asArray(value)) {
    Inside here(*this, count);
    std::string sides;
    size_t sideCount = 0;
    for (JsonValue side : asArray(pair)) {
      JsonValue input, dim;
      simdjson::dom::array parts = asArray(side);
      if (parts.at(0).get(input) != simdjson::SUCCESS || parts.at(1).get(dim) != simdjson::SUCCESS ||
          !input.is_string() || !dim.is_int64()) {
        fail("expected an input's name and a dimension");
      }
      if (count < kMostShown && sideCount < 2) {
        sides += fmt::format("{}{}[{}]", sides.empty() ? "" : " = ", printable(std::string_view(input)),
                             int64_t(dim));
      }
      ++sideCount;
    }
    if (sideCount != 2) fail(fmt::format("expected two dimensions, found {}", sideCount));
    if (count < kMostShown) shown += (shown.empty() ? "" : ", ") + sides;
    ++count;
  }
  if (count == 0) return;
  lost_ = fmt::format(
      "that dimensions of inputs are equal is not kept, for schema versions after 1 cannot say it: {}{}",
      shown, count > kMostShown ? fmt::format(", and {} more", count - kMostShown) : "");
}

void JsonUpgrader::rangeConstraint(JsonValue value) {
  static constexpr Member kMembers[] = {{"min_val", &JsonUpgrader::lowerBound, "null"},
                                        {"max_val", &JsonUpgrader::upperBound, "null"}};
  structOf(value, {"RangeConstraint", kMembers});
}

void JsonUpgrader::bound(JsonValue value, std::string_view infinity) {
  constexpr double kLimit = 9223372036854775808.0;  // 2^63
  if (value.is_int64()) {
    writer_.integer(int64_t(value));
  } else if (value.type() == simdjson::dom::element_type::DOUBLE) {
    auto number = double(value);
    if (std::trunc(number) != number || !(number >= -kLimit && number < kLimit)) {
      fail(fmt::format("a bound must be a 64-bit integer or infinite, found {}", number));
    }
    writer_.integer(static_cast<int64_t>(number));
  } else if (value.is_string() && asString(value) == infinity) {
    writer_.null();
  } else if (value.is_string()) {
    fail(fmt::format("a bound must be an integer or '{}', found '{}'", infinity, printable(asString(value))));
  } else {
    failKind("a 64-bit integer", value);
  }
}

void JsonUpgrader::graphModule(JsonValue value) {
  static constexpr Member kMembers[] = {
      {"graph", &JsonUpgrader::graph},
      {"signature", &JsonUpgrader::signature},
      {"module_call_graph", &JsonUpgrader::callEntries},
      {"metadata", &JsonUpgrader::copy, "{}"},
      {"treespec_namedtuple_fields", &JsonUpgrader::copy, "{}"},
      {"call_spec", nullptr},
  };
  simdjson::dom::object fields = asObject(value);
  graph_ = find(fields, "graph");
  callSpec_ = find(fields, "call_spec");
  writer_.beginObject();
  structMembers(fields, {"GraphModule", kMembers});
  if (callSpec_ && fields.at_key("module_call_graph").error() != simdjson::SUCCESS) {
    writer_.key("module_call_graph");
    writer_.beginArray();
    programCall();
    writer_.endArray();
  }
  writer_.endObject();
}

// Major 1 has the calling convention of the program in `call_spec`, later ones in the entry without a name.
void JsonUpgrader::callEntries(JsonValue value) {
  simdjson::dom::array entries = asArray(value);
  bool hasOwn = false;
  size_t i = 0;
  for (JsonValue entry : entries) {
    Inside here(*this, i++);
    hasOwn = hasOwn || stringMember(asObject(entry), "fqn").empty();
  }
  writer_.beginArray();
  if (callSpec_ && !hasOwn) programCall();
  i = 0;
  for (JsonValue entry : entries) {
    Inside here(*this, i++);
    callEntry(entry);
  }
  writer_.endArray();
}

void JsonUpgrader::callEntry(JsonValue value) {
  static constexpr Member kMembers[] = {{"signature", &JsonUpgrader::callSignature, "null"}};
  simdjson::dom::object fields = asObject(value);
  if (callSpec_ && stringMember(fields, "fqn").empty() && !find(fields, "signature")) {
    programCall();
  } else {
    structOf(value, {"ModuleCallEntry", kMembers});
  }
}

void JsonUpgrader::callSignature(JsonValue value) {
  static constexpr Member kMembers[] = {{"inputs", &JsonUpgrader::listOf<&JsonUpgrader::argument>},
                                        {"outputs", &JsonUpgrader::listOf<&JsonUpgrader::argument>},
                                        {"forward_arg_names", &JsonUpgrader::copy, "null"}};
  structOf(value, {"ModuleCallSignature", kMembers});
}

void JsonUpgrader::programCall() {
  writer_.beginObject();
  writer_.key("fqn");
  writer_.string("");
  writer_.key("signature");
  writer_.beginObject();
  for (std::string_view list : {"inputs", "outputs"}) {
    writer_.key(list);
    writer_.raw("[]");
  }
  simdjson::dom::object spec = asObject(*callSpec_);
  copyMember("in_spec", member(spec, "in_spec"));
  copyMember("out_spec", member(spec, "out_spec"));
  writer_.key("forward_arg_names");
  writer_.null();
  writer_.endObject();
  writer_.endObject();
}

}  // namespace edgefx::detail
