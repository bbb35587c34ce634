#include <edgefx/ir/meta.h>
#include <edgefx/support/error.h>

#include <gtest/gtest.h>

#include <array>

namespace edgefx {
namespace {

SymInt symbol(const std::string& name, SymHint hint = {}) {
  return SymInt(Symbolic{SymExpr::parse("Symbol('" + name + "', integer=True)"), hint});
}

TEST(SymInt, ComparesNumbersAndExpressions) {
  EXPECT_EQ(SymInt(3), SymInt(3));
  EXPECT_FALSE(SymInt(3) == SymInt(4));
  EXPECT_EQ(symbol("s0", int64_t{3}), symbol("s0", int64_t{4}));
  EXPECT_FALSE(symbol("s0") == symbol("s1"));
  EXPECT_FALSE(symbol("s0") == SymInt(0));
  EXPECT_FALSE(SymInt(0) == symbol("s0"));
  EXPECT_EQ(SymInt(-3).text(), "-3");
  EXPECT_EQ(symbol("s0").text(), "s0");
  EXPECT_EQ(SymInt(3).symbolic(), nullptr);
}

TEST(DeviceSpec, TextAndBack) {
  for (const char* device : {"cpu", "cuda:1", "meta"}) EXPECT_EQ(text(parseDevice(device)), device);
  EXPECT_EQ(parseDevice("cuda:1").index, 1);
  for (const char* device : {"cuda:", "cuda:x", "cuda:1x", "cuda:99999999999999999999"}) {
    EXPECT_THROW(parseDevice(device), ParseError) << device;
  }
}

TEST(ContiguousTensor, Strides) {
  EXPECT_EQ(contiguousTensor(Dtype::Float32, {2, 3, 4}).strides, (std::vector<SymInt>{12, 4, 1}));
  // A size below two does not change the stride of the next dimension.
  EXPECT_EQ(contiguousTensor(Dtype::Float32, {2, 0, 4}).strides, (std::vector<SymInt>{4, 4, 1}));
  EXPECT_TRUE(contiguousTensor(Dtype::Int8, {}).strides.empty());
  const TensorMeta dynamic = contiguousTensor(Dtype::Float32, {2, symbol("s0", int64_t{5}), 4});
  EXPECT_EQ(dynamic.strides[0].text(), "4*s0");
  EXPECT_EQ(std::get<int64_t>(dynamic.strides[0].symbolic()->hint), 20);
  EXPECT_EQ(dynamic.strides[1], SymInt(4));
}

TEST(ContiguousTensor, Overflow) {
  const int64_t huge = int64_t{1} << 40;
  EXPECT_THROW(contiguousTensor(Dtype::Float32, {2, huge, huge}), UsageError);
  const TensorMeta dynamic = contiguousTensor(Dtype::Float32, {2, symbol("s0", huge), huge});
  EXPECT_TRUE(std::holds_alternative<std::monostate>(dynamic.strides[0].symbolic()->hint));
}

TEST(ValueMeta, Text) {
  EXPECT_EQ(ValueMeta(contiguousTensor(Dtype::Float32, {2, symbol("s0")})).text(), "float32[2, s0]");
  EXPECT_EQ(ValueMeta(ValueMeta::SymIntValue{symbol("u0")}).text(), "SymInt(u0)");
  EXPECT_EQ(ValueMeta(ValueMeta::SymBoolValue{true}).text(), "SymBool(True)");
  EXPECT_EQ(ValueMeta(ValueMeta::SymFloatValue{0.5}).text(), "SymFloat(0.5)");
  EXPECT_EQ(ValueMeta(ValueMeta::Constant{std::string("it's")}).text(), "\"it's\"");
  EXPECT_EQ(ValueMeta(ValueMeta::Constant{1.0}).text(), "1.0");
  EXPECT_EQ(ValueMeta(ValueMeta::None()).text(), "None");
  const ValueMeta::Sequence pair{{ValueMeta::of(contiguousTensor(Dtype::Bool, {})), nullptr}, false};
  EXPECT_EQ(ValueMeta(pair).text(), "(bool[], None)");
  EXPECT_EQ(ValueMeta(ValueMeta::Sequence{{}, true}).text(), "[]");
}

TEST(ValueMeta, Kinds) {
  EXPECT_NE(ValueMeta(contiguousTensor(Dtype::Bool, {})).tensor(), nullptr);
  EXPECT_EQ(ValueMeta(ValueMeta::None()).tensor(), nullptr);
  EXPECT_TRUE(ValueMeta(ValueMeta::SymIntValue{3}).isSymbolicNumber());
  EXPECT_FALSE(ValueMeta(ValueMeta::Constant{int64_t{3}}).isSymbolicNumber());
}

TEST(NodeMeta, EntriesKeepTheirOrder) {
  NodeMeta meta;
  meta.set("b", "1");
  meta.set("a", "2");
  meta.set("b", "3");
  ASSERT_EQ(meta.entries().size(), 2u);
  EXPECT_EQ(meta.entries()[0].key, "b");
  EXPECT_EQ(*meta.entries()[0].text, "3");
  EXPECT_TRUE(meta.erase("b"));
  EXPECT_FALSE(meta.erase("b"));
  EXPECT_EQ(meta.find("b"), nullptr);
  EXPECT_EQ(**meta.find("a"), "2");
}

TEST(NodeMeta, TagIsNoEntry) {
  NodeMeta meta;
  EXPECT_TRUE(meta.empty());
  meta.setDelegationTag(std::make_shared<const std::string>("t"));
  EXPECT_FALSE(meta.empty());
  EXPECT_EQ(meta.delegationTag(), "t");
  EXPECT_TRUE(meta.entries().empty());
  meta.clearDelegationTag();
  EXPECT_EQ(meta.delegationTag(), "");
}

TEST(NodeMeta, ACopyWithoutSomeEntries) {
  NodeMeta meta;
  for (const char* key : {"a", "b", "c"}) meta.set(key, std::string(key) + " text");
  meta.setDelegationTag(std::make_shared<const std::string>("t0"));
  const std::array<std::string_view, 2> keys = {"b", "z"};
  const Ref<NodeMeta> copy = meta.without(keys);
  ASSERT_TRUE(copy);
  ASSERT_EQ(copy->entries().size(), 2u);
  EXPECT_EQ(copy->entries()[0].key, "a");
  EXPECT_EQ(copy->entries()[1].key, "c");
  EXPECT_EQ(copy->entries()[1].text.get(), meta.find("c")->get());
  EXPECT_EQ(copy->delegationTag(), "t0");
  EXPECT_EQ(meta.entries().size(), 3u);
  EXPECT_FALSE(copy->without(keys));
}

TEST(NodeMeta, DebugHandle) {
  NodeMeta meta;
  EXPECT_EQ(meta.debugHandle(), std::nullopt);
  meta.setDebugHandle(-7);
  EXPECT_EQ(meta.debugHandle(), -7);
  for (const char* text : {"", "x", "1x", "99999999999999999999"}) {
    meta.set("debug_handle", text);
    EXPECT_EQ(meta.debugHandle(), std::nullopt) << text;
  }
}

TEST(NodeMeta, ModuleStack) {
  NodeMeta meta;
  EXPECT_TRUE(meta.moduleStack().empty());
  meta.set("nn_module_stack", "L__self__,,m.Model;L__self__seq_0,seq.0,torch.nn.Linear");
  const std::vector<ModuleStackEntry> stack = meta.moduleStack();
  ASSERT_EQ(stack.size(), 2u);
  EXPECT_EQ(stack[0].path, "");
  EXPECT_EQ(stack[1].key, "L__self__seq_0");
  EXPECT_EQ(stack[1].path, "seq.0");
  EXPECT_EQ(stack[1].type, "torch.nn.Linear");
  meta.set("nn_module_stack", "k,L['self'].get(a,b),t");
  EXPECT_EQ(meta.moduleStack().at(0).path, "L['self'].get(a,b)");
  for (const char* text : {"a", "a,b", "a,b,c,d", "a,b,c;"}) {
    meta.set("nn_module_stack", text);
    EXPECT_EQ(meta.moduleStack().size(), std::string_view(text) == "a,b,c;" ? 1u : 0u) << text;
  }
}

TEST(NodeMeta, SourceFrame) {
  NodeMeta meta;
  EXPECT_EQ(meta.sourceFrame(), "");
  meta.set("stack_trace",
           "  File \"a.py\", line 1, in outer\n    f()\n  File \"b.py\", line 22, in inner\n    g()\n");
  EXPECT_EQ(meta.sourceFrame(), "b.py:22 in inner");
  meta.set("stack_trace", "  File \"a.py\", line 1");
  EXPECT_EQ(meta.sourceFrame(), "a.py:1");
  for (const char* text : {"File \"", "File \"a.py", "File \"a.py\"", "File \"a.py\" line", "no frames"}) {
    meta.set("stack_trace", text);
    EXPECT_EQ(meta.sourceFrame(), "") << text;
  }
}

}  // namespace
}  // namespace edgefx
