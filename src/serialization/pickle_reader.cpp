#include "serialization/pickle_reader.h"

#include <edgefx/support/error.h>

#include "serialization/byte_text.h"
#include "serialization/pickle_globals.h"
#include "serialization/pickle_input.h"
#include "serialization/pickle_opcode.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace edgefx::detail {

namespace {

constexpr int kMaxDepth = 512;
constexpr size_t kMaxRank = 64;
constexpr size_t kMaxKeyLength = 256;

// Bounds the memory that short opcodes can claim through the memo; enough for half a million tensors.
constexpr uint64_t kMaxValues = uint64_t{1} << 24;

class PickleReader : private PickleInput {
 public:
  PickleReader(std::span<const std::byte> bytes, std::string_view record, PickledObjects objects)
      : PickleInput(bytes, record), objects_(objects) {}

  PickleValue run() {
    readProtocol();
    while (true) {
      const auto op = static_cast<PickleOp>(takeOpcode());
      if (op == PickleOp::Stop) return finish();
      step(op);
    }
  }

 private:
  using Items = std::vector<PickleValue>;

  PickleValue finish() {
    if (!marks_.empty() || stack_.size() != 1) {
      refuse("the pickle stops with {} values and {} open marks, expected 1 and 0", stack_.size(),
             marks_.size());
    }
    if (left() != 0) refuse("{} bytes follow the end of the pickle", left());
    return std::move(stack_.back());
  }

  // The stack.

  void charge(uint64_t values) {
    valueCount_ += values;
    if (valueCount_ > kMaxValues) refuse("the pickle makes more than {} values", kMaxValues);
  }

  template <typename T>
  void push(T value) {
    charge(1);
    stack_.push_back(PickleValue{std::move(value)});
  }

  void needValue() const {
    const size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() <= floor) refuse("expected a value on the stack, found none");
  }

  PickleValue& top() {
    needValue();
    return stack_.back();
  }

  PickleValue pop() {
    needValue();
    PickleValue value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }

  Items popLast(size_t count) {
    Items items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }

  Items popToMark() {
    if (marks_.empty()) refuse("expected a mark, found none");
    Items items = popLast(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }

  // Containers. A value that goes into one is sealed: nothing but a self-reference would change it later.

  void enclose(PickleContainer& container, const PickleValue& child) const {
    auto seal = [&](const auto& held) {
      held->isSealed = true;
      container.depth = std::max(container.depth, held->depth + 1);
    };
    if (const auto* list = std::get_if<std::shared_ptr<PickleList>>(&child.data)) seal(*list);
    if (const auto* tuple = std::get_if<std::shared_ptr<PickleTuple>>(&child.data)) seal(*tuple);
    if (const auto* dict = std::get_if<std::shared_ptr<PickleDict>>(&child.data)) seal(*dict);
    if (container.isSealed) refuse("changes a container that already lies in another, or in itself");
    if (container.depth > kMaxDepth) refuse("values nest more than {} levels deep", kMaxDepth);
  }

  void pushTuple(Items items) {
    auto tuple = std::make_shared<PickleTuple>();
    for (const PickleValue& item : items) enclose(*tuple, item);
    tuple->items = std::move(items);
    push(std::move(tuple));
  }

  void appendToTop(Items items) {
    const auto* list = std::get_if<std::shared_ptr<PickleList>>(&top().data);
    if (list == nullptr) refuse("expected a list to append to, found {}", top().kindName());
    for (PickleValue& item : items) {
      enclose(**list, item);
      (*list)->items.push_back(std::move(item));
    }
  }

  void setItemsOfTop(Items items) {
    const auto* dict = std::get_if<std::shared_ptr<PickleDict>>(&top().data);
    if (dict == nullptr) refuse("expected a dict to set items of, found {}", top().kindName());
    if (items.size() % 2 != 0) refuse("expected pairs of keys and values, found {} values", items.size());
    for (size_t i = 0; i < items.size(); i += 2) {
      enclose(**dict, items[i]);
      enclose(**dict, items[i + 1]);
      (*dict)->entries.emplace_back(std::move(items[i]), std::move(items[i + 1]));
    }
  }

  // The memo.

  void memoize(uint64_t index) {
    // Writers number from 0 on, so an index cannot exceed the bytes read.
    if (index >= position()) refuse("memo index {}, expected less than the {} bytes read", index, position());
    if (index >= memo_.size()) memo_.resize(index + 1);
    memo_[index] = top();
  }

  void recall(uint64_t index) {
    if (index >= memo_.size() || !memo_[index]) refuse("memo index {} was never set", index);
    charge(1);
    stack_.push_back(*memo_[index]);
  }

  void step(PickleOp op) {
    switch (op) {
      case PickleOp::None:
        return push(PickleValue::None());
      case PickleOp::NewTrue:
        return push(true);
      case PickleOp::NewFalse:
        return push(false);
      case PickleOp::BinInt:
        return push(int64_t{static_cast<int32_t>(takeNumber<uint32_t>())});
      case PickleOp::BinInt1:
        return push(int64_t{takeByte()});
      case PickleOp::BinInt2:
        return push(int64_t{takeNumber<uint16_t>()});
      case PickleOp::Long1:
        return push(readLong());
      case PickleOp::BinFloat:
        return push(readDouble());
      case PickleOp::BinUnicode:
        return push(std::make_shared<const std::string>(takeText(takeNumber<uint32_t>())));
      case PickleOp::ShortBinUnicode:
        return push(std::make_shared<const std::string>(takeText(takeByte())));
      case PickleOp::EmptyList:
        return push(std::make_shared<PickleList>());
      case PickleOp::EmptyDict:
        return push(std::make_shared<PickleDict>());
      case PickleOp::EmptyTuple:
        return pushTuple({});
      case PickleOp::Tuple1:
        return pushTuple(popLast(1));
      case PickleOp::Tuple2:
        return pushTuple(popLast(2));
      case PickleOp::Tuple3:
        return pushTuple(popLast(3));
      case PickleOp::Tuple:
        return pushTuple(popToMark());
      case PickleOp::Append:
        return appendToTop(popLast(1));
      case PickleOp::Appends:
        return appendToTop(popToMark());
      case PickleOp::SetItem:
        return setItemsOfTop(popLast(2));
      case PickleOp::SetItems:
        return setItemsOfTop(popToMark());
      case PickleOp::Mark:
        return marks_.push_back(stack_.size());
      case PickleOp::BinPut:
        return memoize(takeByte());
      case PickleOp::LongBinPut:
        return memoize(takeNumber<uint32_t>());
      case PickleOp::Memoize:
        return memoize(memo_.size());
      case PickleOp::BinGet:
        return recall(takeByte());
      case PickleOp::LongBinGet:
        return recall(takeNumber<uint32_t>());
      case PickleOp::Global: {
        const std::string_view module = takeLine();
        return pushGlobal(module, takeLine());
      }
      case PickleOp::StackGlobal: {
        const Items names = popLast(2);
        return pushGlobal(text(names[0], "module"), text(names[1], "name"));
      }
      case PickleOp::BinPersId:
        return pushStorage(pop());
      case PickleOp::Reduce:
      case PickleOp::NewObj: {
        const Items call = popLast(2);
        return reduce(op, call[0], call[1]);
      }
      case PickleOp::Build: {
        // An OrderedDict may carry attributes, as the _metadata of a module's state dict. They are no
        // entries.
        static_cast<void>(pop());
        if (top().dict() == nullptr) refuse("refused to set the state of a {}", top().kindName());
        return;
      }
      case PickleOp::Frame: {
        const auto length = takeNumber<uint64_t>();
        if (length > left()) refuse("frame of {} bytes, the pickle has {} left", length, left());
        return;
      }
      case PickleOp::Proto:
      case PickleOp::Stop:
        break;
    }
    const auto code = static_cast<uint8_t>(op);
    const std::string shown = code > 0x20 && code < 0x7f ? fmt::format(" '{}'", static_cast<char>(code)) : "";
    refuse("refused pickle opcode 0x{:02x}{}", code, shown);
  }

  // Globals and what is made of them.

  void pushGlobal(std::string_view module, std::string_view name) {
    if (const KnownPickleGlobal* known = findPickleGlobal(module, name))
      return push(PickleGlobal{known->name});
    const bool mayBeDtype = module == "torch" && name.find('.') == std::string_view::npos;
    const std::optional<Dtype> dtype = mayBeDtype ? dtypeFromFxText(name) : std::nullopt;
    if (dtype) return push(*dtype);
    if (objects_ == PickledObjects::Refuse || isTorchs(module))
      refuse("refused pickle global '{} {}'", printable(module), printable(name));
    auto text = std::make_shared<const std::string>(fmt::format("{} {}", printable(module), printable(name)));
    charge(text->size() / sizeof(PickleValue));
    push(PickleClass{std::move(text)});
  }

  static bool isTorchs(std::string_view module) { return module == "torch" || module.starts_with("torch."); }

  // An object without state of its own is a named tuple, whose fields are the arguments.
  void pushObject(const PickleClass& type, const PickleValue& arguments) {
    const PickleTuple* fields = arguments.tuple();
    if (fields == nullptr || fields->items.empty()) refuse("refused pickle global '{}'", *type.name);
    charge(1);
    stack_.push_back(arguments);
  }

  const std::string& text(const PickleValue& value, std::string_view what) const {
    const std::string* found = value.string();
    if (found == nullptr) refuse("{}: expected str, found {}", what, value.kindName());
    return *found;
  }

  const std::string& shortText(const PickleValue& value, std::string_view what) const {
    const std::string& found = text(value, what);
    if (found.size() > kMaxKeyLength) {
      refuse("{} of {} bytes, expected at most {}", what, found.size(), kMaxKeyLength);
    }
    return found;
  }

  int64_t integer(const PickleValue& value, std::string_view what) const {
    const int64_t* found = value.integer();
    if (found == nullptr) refuse("{}: expected int, found {}", what, value.kindName());
    return *found;
  }

  bool boolean(const PickleValue& value, std::string_view what) const {
    const bool* found = value.boolean();
    if (found == nullptr) refuse("{}: expected bool, found {}", what, value.kindName());
    return *found;
  }

  std::vector<int64_t> dimensions(const PickleValue& value, std::string_view what) const {
    const PickleTuple* found = value.tuple();
    if (found == nullptr) refuse("{}: expected tuple, found {}", what, value.kindName());
    if (found->items.size() > kMaxRank) {
      refuse("{} of {} dimensions, expected at most {}", what, found->items.size(), kMaxRank);
    }
    std::vector<int64_t> numbers;
    numbers.reserve(found->items.size());
    for (const PickleValue& item : found->items) numbers.push_back(integer(item, what));
    return numbers;
  }

  void pushStorage(const PickleValue& id) {
    const PickleTuple* fields = id.tuple();
    if (fields == nullptr || fields->items.size() != 5) {
      refuse("persistent id: expected a tuple of 5, found {}", id.kindName());
    }
    const Items& items = fields->items;
    if (const std::string& tag = text(items[0], "persistent id"); tag != "storage") {
      refuse("persistent id: expected 'storage', found '{}'", printable(tag));
    }
    const PickleGlobal* global = items[1].global();
    if (global == nullptr || knownPickleGlobal(*global).kind != PickleGlobalKind::Storage) {
      refuse("persistent id: expected a storage class, found {}",
             global != nullptr ? global->name : items[1].kindName());
    }
    PickledStorage storage;
    storage.dtype = knownPickleGlobal(*global).dtype;
    storage.isUntyped = storage.dtype == Dtype::Unknown;
    if (storage.isUntyped) storage.dtype = Dtype::UInt8;
    storage.key = shortText(items[2], "storage key");
    storage.device = shortText(items[3], "storage location");
    const int64_t count = integer(items[4], "storage size");
    int64_t bytes = 0;
    if (count < 0 ||
        __builtin_mul_overflow(count, static_cast<int64_t>(elementSize(storage.dtype)), &bytes)) {
      refuse("storage '{}' of {} elements of {} bytes", printable(storage.key), count,
             elementSize(storage.dtype));
    }
    storage.bytes = static_cast<uint64_t>(bytes);
    charge((storage.key.size() + storage.device.size()) / sizeof(PickleValue));
    push(std::make_shared<const PickledStorage>(std::move(storage)));
  }

  void reduce(PickleOp op, const PickleValue& callable, const PickleValue& arguments) {
    if (const PickleClass* type = callable.pickledClass()) {
      if (op == PickleOp::NewObj) return pushObject(*type, arguments);
      refuse("refused pickle global '{}'", *type->name);
    }
    const PickleGlobal* global = callable.global();
    if (global == nullptr) refuse("refused to call a {}", callable.kindName());
    const PickleTuple* tuple = arguments.tuple();
    if (tuple == nullptr) {
      refuse("arguments of '{}': expected tuple, found {}", global->name, arguments.kindName());
    }
    const KnownPickleGlobal& known = knownPickleGlobal(*global);
    const Items& args = tuple->items;
    if (op == PickleOp::NewObj && known.kind != PickleGlobalKind::OrderedDict)
      refuse("refused to make a '{}'", known.name);

    switch (known.kind) {
      case PickleGlobalKind::OrderedDict:
        needArguments(known, args, 0, 0);
        return push(std::make_shared<PickleDict>());
      case PickleGlobalKind::Device:
        return pushDevice(known, args);
      case PickleGlobalKind::TensorV2:
      case PickleGlobalKind::TensorV3:
        return pushTensor(known, args);
      case PickleGlobalKind::Parameter:
      case PickleGlobalKind::ParameterWithState:
        return pushParameter(known, args);
      case PickleGlobalKind::TensorWithState:
        return reduceWithState(op, known, args);
      case PickleGlobalKind::Storage:
      case PickleGlobalKind::TensorClass:
        break;
    }
    refuse("refused to call '{}'", known.name);
  }

  // Arguments: function, class, the function's arguments, a dict of Python attributes, which is dropped.
  void reduceWithState(PickleOp op, const KnownPickleGlobal& known, const Items& args) {
    needArguments(known, args, 4, 4);
    const PickleGlobal* type = args[1].global();
    if (type == nullptr || knownPickleGlobal(*type).kind != PickleGlobalKind::TensorClass)
      refuse("refused to make a subclass of tensors, {}", args[1].kindName());
    const PickleGlobal* maker = args[0].global();
    const bool isPlain = maker != nullptr && (knownPickleGlobal(*maker).kind == PickleGlobalKind::TensorV2 ||
                                              knownPickleGlobal(*maker).kind == PickleGlobalKind::TensorV3);
    if (!isPlain) refuse("refused to make a tensor by {}", args[0].kindName());
    reduce(op, args[0], args[2]);
  }

  void needArguments(const KnownPickleGlobal& known, const Items& args, size_t least, size_t most) const {
    if (args.size() >= least && args.size() <= most) return;
    refuse("'{}' with {} arguments, expected {} to {}", known.name, args.size(), least, most);
  }

  void pushDevice(const KnownPickleGlobal& known, const Items& args) {
    needArguments(known, args, 1, 2);
    PickledDevice device{shortText(args[0], "device type")};
    if (args.size() == 2) device.text += fmt::format(":{}", integer(args[1], "device index"));
    charge(device.text.size() / sizeof(PickleValue));
    push(std::make_shared<const PickledDevice>(std::move(device)));
  }

  // Arguments: storage, offset, sizes, strides, requires_grad, hooks, in v3 the dtype, then maybe metadata.
  void pushTensor(const KnownPickleGlobal& known, const Items& args) {
    const size_t leading = known.kind == PickleGlobalKind::TensorV3 ? 7 : 6;
    needArguments(known, args, leading, leading + 1);
    const PickledStorage* storage = args[0].storage();
    if (storage == nullptr) refuse("tensor storage: expected storage, found {}", args[0].kindName());

    PickledTensor tensor;
    tensor.storageKey = storage->key;
    tensor.storageBytes = storage->bytes;
    tensor.device = storage->device;
    tensor.dtype = storage->dtype;
    if (known.kind == PickleGlobalKind::TensorV3) {
      if (args[6].dtype() == nullptr) refuse("tensor dtype: expected dtype, found {}", args[6].kindName());
      tensor.dtype = *args[6].dtype();
    }
    tensor.offset = integer(args[1], "tensor offset");
    tensor.sizes = dimensions(args[2], "tensor sizes");
    tensor.strides = dimensions(args[3], "tensor strides");
    tensor.requiresGrad = boolean(args[4], "tensor requires_grad");
    if (args.size() > leading) refuseMetadata(args[leading]);
    pushTensor(std::move(tensor));
  }

  // Metadata says that a tensor is the conjugate or the negative of its bytes.
  void refuseMetadata(const PickleValue& metadata) const {
    if (metadata.isNone()) return;
    const PickleDict* dict = metadata.dict();
    if (dict == nullptr) refuse("tensor metadata: expected dict, found {}", metadata.kindName());
    for (const auto& [key, value] : dict->entries) {
      const bool* isOn = value.boolean();
      if (isOn == nullptr || *isOn)
        refuse("tensor metadata '{}' is not supported", printable(text(key, "metadata")));
    }
  }

  // Arguments: tensor, requires_grad, hooks, and with state a dict of Python attributes, which is dropped.
  void pushParameter(const KnownPickleGlobal& known, const Items& args) {
    const size_t expected = known.kind == PickleGlobalKind::ParameterWithState ? 4 : 3;
    needArguments(known, args, expected, expected);
    const PickledTensor* tensor = args[0].tensor();
    if (tensor == nullptr) refuse("parameter: expected tensor, found {}", args[0].kindName());
    PickledTensor parameter = *tensor;
    parameter.requiresGrad = boolean(args[1], "parameter requires_grad");
    parameter.isParameter = true;
    pushTensor(std::move(parameter));
  }

  void pushTensor(PickledTensor tensor) {
    charge(tensor.sizes.size() + (tensor.storageKey.size() + tensor.device.size()) / sizeof(PickleValue));
    push(std::make_shared<const PickledTensor>(std::move(tensor)));
  }

  const PickledObjects objects_;
  uint64_t valueCount_ = 0;
  Items stack_;
  std::vector<size_t> marks_;
  std::vector<std::optional<PickleValue>> memo_;
};

}  // namespace

PickleValue readPickle(std::span<const std::byte> bytes, std::string_view recordLabel,
                       PickledObjects objects) {
  return PickleReader(bytes, recordLabel, objects).run();
}

}  // namespace edgefx::detail
