#include "primitives.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <unordered_map>

namespace onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Tag = memory::format_tag;

constexpr memory::data_type kFloat = memory::data_type::f32;

const dnnl::engine& engine() {
  static const dnnl::engine made(dnnl::engine::kind::cpu, 0);
  return made;
}

dnnl::stream& stream() {
  thread_local dnnl::stream made(engine());
  return made;
}

// Floats that live as long as their thread.
void* scratch(size_t bytes) {
  thread_local std::vector<std::max_align_t> memory;
  memory.resize(std::max(memory.size(), bytes / sizeof(std::max_align_t) + 1));
  return memory.data();
}

const std::map<std::string, algorithm, std::less<>>& activations() {
  static const std::map<std::string, algorithm, std::less<>> known{
      {"relu", algorithm::eltwise_relu},
      {"gelu", algorithm::eltwise_gelu_erf},
      {"gelu_tanh", algorithm::eltwise_gelu_tanh},
      {"tanh", algorithm::eltwise_tanh}};
  return known;
}

dnnl::primitive_attr attributes(const Fused& fused) {
  dnnl::post_ops after;
  if (fused.addsToResult) after.append_sum();
  if (fused.activation != "none") {
    const auto found = activations().find(fused.activation);
    if (found == activations().end())
      throw std::invalid_argument("unknown activation '" + fused.activation + "'");
    after.append_eltwise(1.0f, found->second, 0.0f, 0.0f);
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  // Several threads may run one kernel.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// Convolutions with groups have weights of five dimensions.
memory::dims weightDims(const Sizes& weight, int64_t groups) {
  if (groups == 1) return weight;
  memory::dims dims{groups};
  dims.insert(dims.end(), weight.begin(), weight.end());
  dims[1] /= groups;
  return dims;
}

Tag plainTag(size_t rank) {
  static constexpr Tag kTags[] = {Tag::undef, Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde};
  return kTags[rank];
}

class Key {
 public:
  explicit Key(char kind) : text_(1, kind) {}
  Key& add(int64_t number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof number);
    return *this;
  }
  Key& add(const Sizes& sizes) {
    add(static_cast<int64_t>(sizes.size()));
    for (const int64_t size : sizes) add(size);
    return *this;
  }
  Key& add(bool hasBias, const Fused& fused) {
    add(static_cast<int64_t>(hasBias) + 2 * static_cast<int64_t>(fused.addsToResult));
    text_ += fused.activation;
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

template <typename Make>
KernelRef cached(std::string key, const Make& make) {
  static std::mutex mutex;
  static auto& kernels = *new std::unordered_map<std::string, KernelRef>();  // outlives every thread
  const std::lock_guard lock(mutex);
  KernelRef& kernel = kernels[std::move(key)];
  if (kernel == nullptr) kernel = std::make_shared<const Kernel>(make());
  return kernel;
}

template <typename Description>
Kernel kernelOf(const Description& chosen, dnnl::primitive primitive, bool hasBias) {
  return {std::move(primitive),  chosen.src_desc(),
          chosen.weights_desc(), hasBias ? chosen.bias_desc() : memory::desc(),
          chosen.dst_desc(),     chosen.scratchpad_desc()};
}

memory::dims lessOne(Sizes sizes) {
  for (int64_t& size : sizes) --size;  // oneDNN counts the gaps
  return sizes;
}

}  // namespace

bool isActivation(std::string_view name) {
  return name == "none" || activations().contains(name);
}

Sizes ConvolutionShape::output() const {
  Sizes sizes{input[0], weight[0]};
  for (size_t i = 0; i < 2; ++i) {
    const int64_t reach = dilation[i] * (weight[i + 2] - 1) + 1;
    sizes.push_back((input[i + 2] + 2 * padding[i] - reach) / stride[i] + 1);
  }
  return sizes;
}

KernelRef convolution(const ConvolutionShape& shape, bool hasBias, const Fused& fused) {
  Key key('c');
  key.add(shape.input).add(shape.weight).add(shape.stride).add(shape.padding).add(shape.dilation);
  key.add(shape.groups).add(hasBias, fused);
  return cached(key.take(), [&] {
    const memory::desc source(shape.input, kFloat, Tag::acdb), result(shape.output(), kFloat, Tag::acdb);
    const memory::desc weights(weightDims(shape.weight, shape.groups), kFloat, Tag::any);
    const memory::dims gaps = lessOne(shape.dilation);
    using Convolution = dnnl::convolution_forward;
    const auto direct = algorithm::convolution_direct;
    const auto inference = dnnl::prop_kind::forward_inference;
    const Convolution::desc wanted =
        hasBias ? Convolution::desc(inference, direct, source, weights,
                                    memory::desc({shape.weight[0]}, kFloat, Tag::a), result, shape.stride,
                                    gaps, shape.padding, shape.padding)
                : Convolution::desc(inference, direct, source, weights, result, shape.stride, gaps,
                                    shape.padding, shape.padding);
    const Convolution::primitive_desc chosen(wanted, attributes(fused), engine());
    return kernelOf(chosen, Convolution(chosen), hasBias);
  });
}

KernelRef innerProduct(int64_t rows, const Sizes& weight, bool hasBias, const Fused& fused) {
  return cached(Key('l').add(rows).add(weight).add(hasBias, fused).take(), [&] {
    const memory::desc source({rows, weight[1]}, kFloat, Tag::ab), result({rows, weight[0]}, kFloat, Tag::ab);
    const memory::desc weights(weight, kFloat, Tag::any);
    using InnerProduct = dnnl::inner_product_forward;
    const auto inference = dnnl::prop_kind::forward_inference;
    const InnerProduct::desc wanted =
        hasBias ? InnerProduct::desc(inference, source, weights, memory::desc({weight[0]}, kFloat, Tag::a),
                                     result)
                : InnerProduct::desc(inference, source, weights, result);
    const InnerProduct::primitive_desc chosen(wanted, attributes(fused), engine());
    return kernelOf(chosen, InnerProduct(chosen), hasBias);
  });
}

KernelRef product(int64_t batch, int64_t rows, int64_t inner, int64_t columns, bool hasBias,
                  const Fused& fused) {
  Key key('m');
  key.add({batch, rows, inner, columns}).add(hasBias, fused);
  return cached(key.take(), [&] {
    const memory::desc a({batch, rows, inner}, kFloat, Tag::abc),
        b({batch, inner, columns}, kFloat, Tag::abc);
    const memory::desc result({batch, rows, columns}, kFloat, Tag::abc);
    const memory::desc bias({1, 1, columns}, kFloat, Tag::abc);
    using Product = dnnl::matmul;
    const Product::desc wanted = hasBias ? Product::desc(a, b, bias, result) : Product::desc(a, b, result);
    const Product::primitive_desc chosen(wanted, attributes(fused), engine());
    return kernelOf(chosen, Product(chosen), hasBias);
  });
}

std::string layoutName(const memory::desc& weights) {
  for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
    dnnl_memory_desc_t named;
    const auto known = static_cast<dnnl_format_tag_t>(tag);
    if (dnnl_memory_desc_init_by_tag(&named, weights.data.ndims, weights.data.dims, dnnl_f32, known) !=
        dnnl_success)
      continue;
    if (dnnl_memory_desc_equal(&named, &weights.data) != 0) return dnnl_fmt_tag2str(known);
  }
  return {};
}

memory::desc layoutOf(const Sizes& weight, int64_t groups, const std::string& name) {
  static const auto& tags = *[] {
    auto* byName = new std::unordered_map<std::string, Tag>();
    for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag)
      byName->emplace(dnnl_fmt_tag2str(static_cast<dnnl_format_tag_t>(tag)), static_cast<Tag>(tag));
    return byName;
  }();
  const auto found = tags.find(name);
  if (found == tags.end()) throw std::invalid_argument("unknown layout '" + name + "'");
  return memory::desc(weightDims(weight, groups), kFloat, found->second);
}

memory::desc plainLayout(const Sizes& weight, int64_t groups) {
  const memory::dims dims = weightDims(weight, groups);
  return memory::desc(dims, kFloat, plainTag(dims.size()));
}

void reorder(const memory::desc& from, const void* source, const memory::desc& to, void* result) {
  memory in(from, engine(), const_cast<void*>(source)), out(to, engine(), result);
  dnnl::reorder(in, out).execute(stream(), in, out);
  stream().wait();
}

void run(const Kernel& kernel, const void* source, const void* weights, const void* bias, void* result) {
  const auto of = [](const memory::desc& layout, const void* data) {
    return memory(layout, engine(), const_cast<void*>(data));
  };
  std::unordered_map<int, memory> arguments{{DNNL_ARG_SRC, of(kernel.source, source)},
                                            {DNNL_ARG_WEIGHTS, of(kernel.weights, weights)},
                                            {DNNL_ARG_DST, of(kernel.result, result)}};
  if (bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, of(kernel.bias, bias));
  if (const size_t bytes = kernel.scratchpad.get_size(); bytes != 0)
    arguments.emplace(DNNL_ARG_SCRATCHPAD, of(kernel.scratchpad, scratch(bytes)));
  kernel.primitive.execute(stream(), arguments);
  stream().wait();
}

}  // namespace onednn
