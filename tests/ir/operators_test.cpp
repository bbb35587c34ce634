#include <edgefx/ir/operators.h>

#include "ir/bundled_schemas.h"
#include "support/test_data.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <thread>

namespace edgefx {
namespace {

std::string argumentsOf(const OperatorInfo& info) {
  std::string out;
  for (const OperatorArgument& argument : info.arguments) {
    out += argument.name;
    if (argument.hasDefault) out += '=';
    if (argument.keywordOnly) out += '*';
    if (argument.isWritten) out += '!';
    if (argument.isAlias) out += '&';
    out += ' ';
  }
  return out;
}

std::string argumentsOf(Target target) {
  const OperatorInfo* info = findOperator(target);
  return info == nullptr ? "unknown" : argumentsOf(*info);
}

TEST(Operators, AgreeWithTheTableOfTorch26) {
  simdjson::dom::parser parser;
  const simdjson::dom::element table = parser.load(test::fixture("torch-2.6/operators.json").string());
  size_t checked = 0;
  for (const auto [target, entry] : table.get_object()) {
    std::string expected;
    for (const simdjson::dom::element argument : entry["args"].get_array()) {
      expected += std::string_view(argument["name"]);
      if (bool(argument["default"])) expected += '=';
      if (bool(argument["kwarg_only"])) expected += '*';
      expected += ' ';
    }
    std::string found = argumentsOf(Target(target));
    std::erase_if(found, [](char c) { return c == '!' || c == '&'; });
    EXPECT_EQ(found, expected) << target;
    ++checked;
  }
  EXPECT_EQ(checked, 50u);
}

TEST(Operators, FromTheDispatcher) {
  EXPECT_EQ(argumentsOf("aten.add.Tensor"), "self other alpha=* ");
  EXPECT_EQ(argumentsOf(Target::edge("aten.add.Tensor")), "self other alpha=* ");
  EXPECT_EQ(argumentsOf("aten.add_.Tensor"), "self!& other alpha=* ");
  EXPECT_EQ(argumentsOf("aten.select.int"), "self& dim index ");
  EXPECT_TRUE(findOperator("aten.add_.Tensor")->isMutable);
  EXPECT_FALSE(findOperator("aten.select.int")->isMutable);
  EXPECT_EQ(findOperator("aten.max.dim")->numReturns, 2u);
  EXPECT_TRUE(findOperator("aten.rand.default")->isRandom);
  EXPECT_FALSE(findOperator("aten.relu.default")->isRandom);
}

TEST(Operators, FromTheBundledTable) {
  EXPECT_EQ(argumentsOf("aten._native_batch_norm_legit.default"),
            "input weight bias running_mean!& running_var!& training momentum eps ");
  EXPECT_EQ(argumentsOf("aten.squeeze.dims"), "self& dim ");
  EXPECT_EQ(argumentsOf("aten.var.correction"), "self dim= correction=* keepdim=* ");
  EXPECT_EQ(argumentsOf("aten.std_mean.correction"), "self dim= correction=* keepdim=* ");
  EXPECT_EQ(argumentsOf("aten._assert_tensor_metadata.default"), "a size= stride= dtype= device=* layout=* ");
  EXPECT_EQ(argumentsOf("aten.scaled_dot_product_attention.default"),
            "query key value attn_mask= dropout_p= is_causal= scale=* enable_gqa=* ");
  EXPECT_EQ(argumentsOf("aten.sym_constrain_range.default"), "size min=* max=* ");
  EXPECT_EQ(argumentsOf("aten.sym_numel.default"), "self ");
  EXPECT_EQ(argumentsOf("quantized_decomposed.dequantize_per_tensor.tensor"),
            "input scale zero_point quant_min quant_max dtype out_dtype=* ");
  EXPECT_EQ(argumentsOf(Target::edge("cortex_m.quantize_per_tensor.default")),
            "input scale zero_point quant_min quant_max dtype ");
  EXPECT_EQ(argumentsOf("dim_order_ops._clone_dim_order.default"), "self non_blocking=* dim_order=* ");
  EXPECT_EQ(findOperator("aten._native_batch_norm_legit_functional.default")->numReturns, 5u);
  EXPECT_EQ(findOperator("aten._assert_scalar.default")->numReturns, 0u);
  EXPECT_EQ(findOperator("aten.sym_size.int")->numReturns, 1u);
}

TEST(Operators, ReadsSchemas) {
  const OperatorInfo info = detail::readSchema(
      "my::f.out(Tensor(a! -> *) self, int[2] k=[0, 1], *, str s=\"a\", Tensor(b!) out) -> "
      "(Tensor(b!), Tensor)");
  EXPECT_EQ(argumentsOf(info), "self!& k= s=* out*!& ");
}

TEST(Operators, UnknownOnes) {
  EXPECT_EQ(findOperator("my.unknown.default"), nullptr);
  EXPECT_EQ(findOperator("aten.add.NoSuchOverload"), nullptr);
  EXPECT_EQ(findOperator("operator.add"), nullptr);
  EXPECT_EQ(findOperator("higher_order.cond"), nullptr);
  EXPECT_EQ(findOperator("aten.add"), nullptr);  // a packet without default overload
  EXPECT_EQ(argumentsOf("aten.relu"), "self ");
}

TEST(Operators, FindsArguments) {
  const OperatorInfo& info = *findOperator("aten.add.Tensor");
  ASSERT_NE(info.findArgument("alpha"), nullptr);
  EXPECT_TRUE(info.findArgument("alpha")->keywordOnly);
  EXPECT_EQ(info.findArgument("beta"), nullptr);
}

TEST(Operators, SameAnswerFromSeveralThreads) {
  std::vector<const OperatorInfo*> answers(4);
  std::vector<std::thread> threads;
  for (const OperatorInfo*& answer : answers) {
    threads.emplace_back([&answer] {
      for (int i = 0; i < 1000; ++i)
        answer = findOperator(i % 2 == 0 ? "aten.mul.Tensor" : "aten.cos.default");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const OperatorInfo* answer : answers) EXPECT_EQ(answer, findOperator("aten.cos.default"));
}

}  // namespace
}  // namespace edgefx
