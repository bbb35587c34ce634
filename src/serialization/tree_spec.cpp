#include "serialization/tree_spec.h"

#include "serialization/byte_text.h"
#include "serialization/json_fault.h"
#include "serialization/json_reader.h"
#include "support/fail.h"

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace edgefx::detail {
namespace {

constexpr size_t kDeepest = 256;
constexpr size_t kDeepestJson = 1024;  // simdjson's own limit
constexpr int64_t kProtocol = 1;

enum class Context { Null, Keys, Text, DefaultDict, Length };

struct Container {
  std::string_view type;
  TreeKind kind;
  Context context;
};
constexpr std::array<Container, 7> kContainers = {{
    {"builtins.tuple", TreeKind::Tuple, Context::Null},
    {"builtins.list", TreeKind::List, Context::Null},
    {"builtins.dict", TreeKind::Dict, Context::Keys},
    {"collections.OrderedDict", TreeKind::Dict, Context::Keys},
    {"collections.namedtuple", TreeKind::NamedTuple, Context::Text},
    {"collections.defaultdict", TreeKind::Dict, Context::DefaultDict},
    {"collections.deque", TreeKind::Deque, Context::Length},
}};

JsonValue parseJson(simdjson::dom::parser& parser, std::string_view text, std::string& error) {
  JsonValue root;
  simdjson::error_code code = parser.parse(text.data(), text.size()).get(root);
  error = code == simdjson::SUCCESS ? "" : jsonErrorText(text, simdjson::error_message(code), kDeepestJson);
  return root;
}

// A key of a dict, whose kind is known to be none of the containers.
TreeKey keyOf(JsonValue value) {
  switch (value.type()) {
    case simdjson::dom::element_type::STRING: {
      std::string_view text;
      if (value.get(text) == simdjson::SUCCESS) return std::string(text);
      break;
    }
    case simdjson::dom::element_type::INT64: {
      int64_t number = 0;
      if (value.get(number) == simdjson::SUCCESS) return number;
      break;
    }
    case simdjson::dom::element_type::BOOL: {
      bool flag = false;
      if (value.get(flag) == simdjson::SUCCESS) return flag;
      break;
    }
    case simdjson::dom::element_type::UINT64:
    case simdjson::dom::element_type::DOUBLE: {
      double number = 0;
      if (value.get(number) == simdjson::SUCCESS) return number;
      break;
    }
    default:
      break;
  }
  return std::monostate();
}

class TreeSpecReader {
 public:
  // Returns the number of leaves. Fills `into` unless it is null.
  size_t read(JsonValue root, TreeSpec* into) {
    simdjson::dom::array parts;
    if (root.get(parts) != simdjson::SUCCESS)
      failHere(fmt::format("expected [1, spec], found {}", kindName(root)));
    size_t count = countOf(parts);
    if (count != 2) failHere(fmt::format("expected [1, spec], found an array of {}", count));
    auto at = parts.begin();
    JsonValue protocol = *at;
    ++at;
    int64_t number = 0;
    if (protocol.get(number) != simdjson::SUCCESS) {
      failHere(fmt::format("the protocol must be an integer, found {}", kindName(protocol)));
    }
    if (number != kProtocol) failHere(fmt::format("unknown protocol {}, expected {}", number, kProtocol));
    node(*at, into);
    return leaves_;
  }

 private:
  struct Members {
    std::optional<JsonValue> type, context, children;
  };

  [[noreturn]] void failHere(std::string_view message) const {
    std::string path;
    for (size_t index : path_) path += fmt::format(".children_spec[{}]", index);
    fail<ParseError>("tree spec{}: {}", printable(path), message);
  }

  Members members(JsonValue value) const {
    simdjson::dom::object fields;
    if (value.get(fields) != simdjson::SUCCESS)
      failHere(fmt::format("expected an object, found {}", kindName(value)));
    Members found;
    for (auto field : fields) {
      std::optional<JsonValue>* into = field.key == "type"            ? &found.type
                                       : field.key == "context"       ? &found.context
                                       : field.key == "children_spec" ? &found.children
                                                                      : nullptr;
      if (into == nullptr) continue;
      if (*into) failHere(fmt::format("member '{}' occurs twice", field.key));
      *into = field.value;
    }
    if (!found.type) failHere("member 'type' is missing");
    if (!found.context) failHere("member 'context' is missing");
    if (!found.children) failHere("member 'children_spec' is missing");
    return found;
  }

  void node(JsonValue value, TreeSpec* into) {
    if (path_.size() >= kDeepest) failHere(fmt::format("nested deeper than {} levels", kDeepest));
    Members found = members(value);
    simdjson::dom::array children;
    if (found.children->get(children) != simdjson::SUCCESS) {
      failHere(fmt::format("'children_spec' must be an array, found {}", kindName(*found.children)));
    }
    size_t count = countOf(children);
    if (found.type->is_null()) {
      if (!found.context->is_null()) failHere("a leaf has a context");
      if (count != 0) failHere(fmt::format("a leaf has {} children", count));
      ++leaves_;
      return;
    }
    std::string_view type;
    if (found.type->get(type) != simdjson::SUCCESS) {
      failHere(fmt::format("'type' must be a string or null, found {}", kindName(*found.type)));
    }
    if (into != nullptr) {
      into->kind = TreeKind::Other;
      into->type = type;
      into->children.resize(count);
    }
    for (const Container& known : kContainers) {
      if (known.type != type) continue;
      if (into != nullptr) into->kind = known.kind;
      checkContext(known, *found.context, count, into);
    }
    const size_t leavesBefore = leaves_;
    path_.push_back(0);
    for (JsonValue child : children) {
      node(child, into != nullptr ? &into->children[path_.back()] : nullptr);
      ++path_.back();
    }
    path_.pop_back();
    if (into != nullptr) into->leaves = leaves_ - leavesBefore;
  }

  void checkContext(const Container& container, JsonValue context, size_t children, TreeSpec* into) {
    if (container.context == Context::DefaultDict) {
      checkDefaultDict(context, children, into);
      return;
    }
    std::string_view text;
    if (context.get(text) != simdjson::SUCCESS) {
      failHere(
          fmt::format("the context of '{}' must be a string, found {}", container.type, kindName(context)));
    }
    if (container.context == Context::Text) {
      if (text.empty()) failHere(fmt::format("the context of '{}' is empty", container.type));
      return;
    }
    std::string error;
    JsonValue held = parseJson(contextParser_, text, error);
    if (!error.empty()) failHere(fmt::format("the context of '{}' is {}", container.type, error));
    if (container.context == Context::Keys) {
      checkKeys(held, children, into);
    } else if (held.is_null()) {
      return;
    } else if (container.context == Context::Null) {
      failHere(fmt::format("the context of '{}' must be null, found {}", container.type, kindName(held)));
    } else {
      checkLength(held, children);
    }
  }

  // Keys in the order of the children.
  void checkKeys(JsonValue value, size_t children, TreeSpec* into) {
    simdjson::dom::array keys;
    if (value.get(keys) != simdjson::SUCCESS) {
      failHere(fmt::format("the keys of a dict must be an array, found {}", kindName(value)));
    }
    size_t count = countOf(keys);
    if (count != children) failHere(fmt::format("a dict has {} keys, but {} children", count, children));
    std::set<std::string> seen;
    for (JsonValue key : keys) {
      if (key.is_array() || key.is_object())
        failHere(fmt::format("{} cannot be the key of a dict", kindName(key)));
      std::string text = pythonJson(key);
      if (!seen.insert(text).second) failHere(fmt::format("key {} of a dict occurs twice", printable(text)));
      if (into != nullptr) into->keys.push_back(keyOf(key));
    }
  }

  // The only container whose context is no text.
  void checkDefaultDict(JsonValue context, size_t children, TreeSpec* into) {
    simdjson::dom::object fields;
    if (context.get(fields) != simdjson::SUCCESS) {
      failHere(fmt::format("the context of a defaultdict must be an object, found {}", kindName(context)));
    }
    for (std::string_view name : {"default_factory_module", "default_factory_name"}) {
      JsonValue value;
      if (fields.at_key(name).get(value) != simdjson::SUCCESS || !value.is_string()) {
        failHere(fmt::format("the context of a defaultdict needs a string '{}'", name));
      }
    }
    JsonValue keys;
    if (fields.at_key("dict_context").get(keys) != simdjson::SUCCESS) {
      failHere("the context of a defaultdict needs its 'dict_context'");
    }
    checkKeys(keys, children, into);
  }

  void checkLength(JsonValue value, size_t children) {
    int64_t length = 0;
    if (value.get(length) != simdjson::SUCCESS || length < 0) {
      failHere(fmt::format("the context of a deque must be its maximal length or null, found {}",
                           kindName(value)));
    }
    if (children > static_cast<uint64_t>(length)) {
      failHere(fmt::format("a deque of at most {} has {} children", length, children));
    }
  }

  simdjson::dom::parser contextParser_;
  std::vector<size_t> path_;
  size_t leaves_ = 0;
};

size_t readTreeSpec(std::string_view text, TreeSpec* into) {
  simdjson::dom::parser parser;
  std::string error;
  JsonValue root = parseJson(parser, text, error);
  if (!error.empty()) fail<ParseError>("tree spec: {}", error);
  return TreeSpecReader().read(root, into);
}

}  // namespace

TreeSpec parseTreeSpec(std::string_view text) {
  TreeSpec spec;
  readTreeSpec(text, &spec);
  return spec;
}

size_t checkTreeSpec(std::string_view text) {
  return readTreeSpec(text, nullptr);
}

}  // namespace edgefx::detail
