#include "ir/bundled_schemas.h"

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

namespace edgefx::detail {
namespace {

#define EDGEFX_QUANT_RANGE "int quant_min, int quant_max, ScalarType dtype"

constexpr std::string_view kSchemas[] = {
    "aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
    "aten::_assert_scalar(Scalar self, str assert_msg) -> ()",
    "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? "
    "dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
    "aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    "aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
    "Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    "aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
    "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, "
    "Tensor running_mean_out, Tensor running_var_out)",
    "aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor",
    "aten::_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor",
    "aten::_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor",
    "aten::_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor dep_token) -> "
    "Tensor",
    "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, "
    "Tensor)",
    "aten::_int_mm(Tensor self, Tensor mat2) -> Tensor",
    "aten::_lazy_clone(Tensor self) -> Tensor",
    "aten::_local_scalar_dense(Tensor self) -> Scalar",
    "aten::_make_dep_token(*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
    "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
    "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, "
    "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor "
    "running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, "
    "Tensor, Tensor running_mean_out, Tensor running_var_out)",
    "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor "
    "running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
    "aten::_print(str s) -> ()",
    "aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor",
    "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? "
    "attn_mask=None, float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? "
    "scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
    "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float "
    "dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor "
    "output, Tensor logsumexp)",
    "aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> "
    "Tensor",
    "aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
    "aten::_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor",
    "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    "aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? "
    "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    "aten::item(Tensor self) -> Scalar",
    "aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
    "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> "
    "Tensor",
    "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    "aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    "aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)",
    "aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
    "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) "
    "-> Tensor",
    "aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
    "keepdim=False) -> (Tensor, Tensor)",
    "aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
    "aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
    "aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=contiguous_format) -> SymBool",
    "aten::sym_numel(Tensor self) -> SymInt",
    "aten::sym_size(Tensor self) -> SymInt[]",
    "aten::sym_size.int(Tensor self, int dim) -> SymInt",
    "aten::sym_storage_offset(Tensor self) -> SymInt",
    "aten::sym_stride(Tensor self) -> SymInt[]",
    "aten::sym_stride.int(Tensor self, int dim) -> SymInt",
    "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) "
    "-> Tensor",
    "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
    "keepdim=False) -> (Tensor, Tensor)",

    "prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor",
    "prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool "
    "requires_grad) -> Tensor",

    "quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> "
    "(Tensor, Tensor)",
    "quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, "
    "ScalarType dtype) -> (Tensor, Tensor)",
    "quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
    "quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> "
    "(Tensor, Tensor)",
    "quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, "
    "float eps, ScalarType dtype) -> (Tensor, Tensor)",
    "quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor",
    "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int "
    "axis, " EDGEFX_QUANT_RANGE ", *, ScalarType? out_dtype=None) -> Tensor",
    "quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, "
    "" EDGEFX_QUANT_RANGE ", int group_size, ScalarType output_dtype) -> Tensor",
    "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int "
    "zero_point, " EDGEFX_QUANT_RANGE
    ", *, "
    "ScalarType? out_dtype=None) -> Tensor",
    "quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, "
    "" EDGEFX_QUANT_RANGE ", *, ScalarType? out_dtype=None) -> Tensor",
    "quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, "
    "Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
    "quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor "
    "zero_points, " EDGEFX_QUANT_RANGE
    ", "
    "ScalarType output_dtype) -> Tensor",
    "quantized_decomposed::embedding_4bit(Tensor weight, Tensor weight_scales, Tensor? "
    "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
    "quantized_decomposed::embedding_4bit.dtype(Tensor weight, Tensor weight_scales, Tensor? "
    "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
    "dtype=None) -> Tensor",
    "quantized_decomposed::embedding_byte(Tensor weight, Tensor weight_scales, Tensor? "
    "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
    "quantized_decomposed::embedding_byte.dtype(Tensor weight, Tensor weight_scales, Tensor? "
    "weight_zero_points, int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? "
    "dtype=None) -> Tensor",
    "quantized_decomposed::fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int "
    "axis, int quant_min, int quant_max) -> Tensor",
    "quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int "
    "axis, " EDGEFX_QUANT_RANGE ") -> Tensor",
    "quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, "
    "" EDGEFX_QUANT_RANGE ", int group_size) -> Tensor",
    "quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, " EDGEFX_QUANT_RANGE
    ") -> Tensor",
    "quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor "
    "zero_point, " EDGEFX_QUANT_RANGE
    ") "
    "-> Tensor",
    "quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, "
    "Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor",
    "quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor "
    "zero_points, " EDGEFX_QUANT_RANGE
    ") -> "
    "Tensor",

    "cortex_m::dequantize_per_tensor(Tensor input, float scale, int zero_point, " EDGEFX_QUANT_RANGE
    ") -> Tensor",
    "cortex_m::quantize_per_tensor(Tensor input, float scale, int zero_point, " EDGEFX_QUANT_RANGE
    ") -> Tensor",

    "dim_order_ops::_clone_dim_order(Tensor self, *, bool non_blocking=False, int[]? dim_order=None) -> "
    "Tensor",
    "dim_order_ops::_empty_dim_order(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
    "device=None, bool? pin_memory=None, int[]? dim_order=None) -> Tensor",
    "dim_order_ops::_to_dim_order_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, "
    "Device? device=None, bool? pin_memory=None, bool non_blocking=False, int[]? dim_order=None) -> "
    "Tensor",
};

#undef EDGEFX_QUANT_RANGE

// Tagged nondeterministic_seeded in torch 2.14.
constexpr std::array<std::string_view, 3> kRandom = {
    "aten.scaled_dot_product_attention.default", "aten._scaled_dot_product_flash_attention_for_cpu.default",
    "aten._scaled_dot_product_attention_math.default"};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Splits at commas that no bracket encloses.
std::vector<std::string_view> splitList(std::string_view list) {
  std::vector<std::string_view> items;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0)) {
      if (const std::string_view item = trim(list.substr(begin, i - begin)); !item.empty())
        items.push_back(item);
      begin = i + 1;
    } else if (list[i] == '(' || list[i] == '[') {
      ++depth;
    } else if (list[i] == ')' || list[i] == ']') {
      --depth;
    }
  }
  return items;
}

// "aten::f.overload" -> "aten.f.overload", "aten::f" -> "aten.f.default".
std::string dottedName(std::string_view schema) {
  const std::string_view full = schema.substr(0, schema.find('('));
  const size_t colons = full.find("::");
  std::string name(full.substr(0, colons));
  name += '.';
  name += full.substr(colons + 2);
  if (full.find('.') == std::string_view::npos) name += ".default";
  return name;
}

}  // namespace

OperatorInfo readSchema(std::string_view schema) {
  constexpr std::string_view kArrow = ") -> ";
  const size_t open = schema.find('('), arrow = schema.rfind(kArrow);
  OperatorInfo info;
  bool keywordOnly = false;
  for (const std::string_view item : splitList(schema.substr(open + 1, arrow - open - 1))) {
    if (item == "*") {
      keywordOnly = true;
      continue;
    }
    const size_t equals = item.find('=');
    const std::string_view declaration = item.substr(0, equals);
    const size_t space = declaration.rfind(' ');
    const std::string_view type = declaration.substr(0, space);
    OperatorArgument argument;
    argument.name = declaration.substr(space + 1);
    argument.hasDefault = equals != std::string_view::npos;
    argument.keywordOnly = keywordOnly;
    argument.isWritten = type.find('!') != std::string_view::npos;
    argument.isAlias = type.find('(') != std::string_view::npos;
    argument.isTensor = type.starts_with("Tensor") && type.find('[') == std::string_view::npos;
    info.isMutable = info.isMutable || argument.isWritten;
    info.arguments.push_back(std::move(argument));
  }
  std::string_view returns = schema.substr(arrow + kArrow.size());
  if (returns.front() == '(') returns = returns.substr(1, returns.size() - 2);
  info.numReturns = splitList(returns).size();
  return info;
}

std::string_view bundledSchemaText(std::string_view name) {
  static const auto& table = *[] {
    auto* byName = new std::unordered_map<std::string, std::string_view>();
    for (const std::string_view schema : kSchemas) byName->emplace(dottedName(schema), schema);
    return byName;
  }();
  const auto found = table.find(std::string(name));
  return found == table.end() ? std::string_view() : found->second;
}

std::optional<OperatorInfo> findBundledSchema(std::string_view name) {
  const std::string_view text = bundledSchemaText(name);
  if (text.empty()) return std::nullopt;
  OperatorInfo info = readSchema(text);
  for (const std::string_view random : kRandom) info.isRandom = info.isRandom || random == name;
  return info;
}

}  // namespace edgefx::detail
