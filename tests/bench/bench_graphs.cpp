#include "bench/bench_graphs.h"

#include "serialization/mapped_file.h"
#include "serialization/zip_reader.h"
#include "support/program_builder.h"
#include "support/test_data.h"

#include <ATen/ops/from_blob.h>
#include <sys/mman.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>
#include <utility>

namespace edgefx::bench {
namespace {

namespace fs = std::filesystem;

constexpr size_t kOtherNodes = 8;  // inputs, results, and enough calls for the name to hold

// Deterministic on every platform, which the standard's distributions are not.
class Draw {
 public:
  size_t below(size_t bound) { return static_cast<size_t>(generator_() % bound); }

 private:
  std::mt19937_64 generator_{20240229};
};

constexpr size_t kNumEntries = 6, kTextsPerEntry = 16;

// Six entries as exported files have them. Consecutive nodes come from the same source line and the same
// module more often than not, so a text is kept for four nodes on average.
class MetaPool {
 public:
  MetaPool() {
    for (size_t i = 0; i < kTextsPerEntry; ++i) {
      const std::string number = std::to_string(i);
      std::string trace;
      for (int frame = 0; frame < 3; ++frame) {
        trace += "  File \"/opt/models/network/blocks_" + number + ".py\", line " +
                 std::to_string(17 * (frame + 1)) +
                 ", in forward\n    x = self.activation(self.norm(self.convolution(x)))\n";
      }
      add("stack_trace", trace);
      add("nn_module_stack",
          "L__self__,,network.Classifier;L__self___features,features,network.Features;"
          "L__self___features_" +
              number + ",features." + number + ",network.InvertedResidual");
      add("torch_fn", "conv2d_" + number + ";builtin_function_or_method.conv2d");
      add("source_fn_stack", "[('conv2d_" + number + "', <class 'torch.nn.modules.conv.Conv2d'>)]");
      add("from_node",
          "[{\"name\": \"conv2d_" + number + "\", \"pass_name\": \"Interpreter\", \"action\": 2}]");
      add("seq_nr", std::to_string(400 + i));
    }
  }

  MetaRef next(Draw& draw) {
    bool isNew = !last_;
    for (size_t i = 0; i < kNumEntries; ++i) {
      if (last_ && draw.below(4) != 0) continue;
      chosen_[i] = draw.below(kTextsPerEntry);
      isNew = true;
    }
    if (!isNew) return last_;
    NodeMeta meta;
    for (size_t i = 0; i < kNumEntries; ++i) meta.append(keys_[i], texts_[i][chosen_[i]]);
    last_ = MetaRef::make(std::move(meta));
    return last_;
  }

 private:
  void add(const std::string& key, std::string text) {
    auto at = std::find(keys_.begin(), keys_.end(), key);
    if (at == keys_.end()) at = keys_.insert(keys_.end(), key);
    texts_[static_cast<size_t>(at - keys_.begin())].push_back(
        std::make_shared<const std::string>(std::move(text)));
  }

  std::vector<std::string> keys_;
  std::array<std::vector<SharedText>, kNumEntries> texts_;
  std::array<size_t, kNumEntries> chosen_{};
  MetaRef last_;
};

// Calls of five leaves, of which `a` and `b` are the nodes; those at odd positions hold a list.
struct Call {
  const char* target;
  const char* nameStem;
  Args args;
  Kwargs kwargs;
};

Call callAt(size_t position, Node& a, Node& b) {
  switch (position % 12) {
    case 0:
      return {"aten.embedding.default", "tokens_embedding", {a, b, -1, false, false}, {}};
    case 2:
      return {"aten.pairwise_distance.default", "pairwise_distance", {a, b, 2.0, 1e-06, false}, {}};
    case 4:
      return {"aten.isclose.default", "mask_is_close_to", {a, b, 1e-05, 1e-08, true}, {}};
    case 6:
      return {"aten.nll_loss.default", "negative_log_loss", {a, b, Arg(), 1, -100}, {}};
    case 8:
      return {"aten.quantile.default", "upper_quantile_of", {a, b, 1, false}, {{"interpolation", "linear"}}};
    case 10:
      return {"aten.cross_entropy_loss.default", "cross_entropy_loss", {a, b, Arg(), 1, -100}, {}};
    case 1:
    case 7:
      return {"aten.conv2d.default", "features_conv_2d", {a, b, Arg(), {1, 1}}, {}};
    case 3:
    case 9:
      return {"aten.layer_norm.default", "encoder_layer_norm", {a, {16, 16}, b, Arg()}, {}};
    default:
      return {"aten.conv_transpose2d.input", "decoder_conv_up_2d", {a, b, Arg(), {2, 2}}, {}};
  }
}

std::vector<ValueRef> makeValues() {
  std::vector<ValueRef> values;
  for (int64_t i = 0; i < 8; ++i) values.push_back(test::tensorValue({1, 16 << (i % 4), 16 + i, 16 + i}));
  return values;
}

}  // namespace

ExportedProgram makeProgram(size_t nodes, size_t weights, size_t reach) {
  if (nodes < weights + kOtherNodes) throw std::invalid_argument("too few nodes for so many weights");
  test::ProgramBuilder builder;
  Draw draw;
  MetaPool metas;
  const std::vector<ValueRef> values = makeValues();
  const at::Tensor weight = test::sampleTensor({1, 16, 16, 16});
  for (size_t i = 0; i < weights; ++i) {
    builder.parameter("features." + std::to_string(i) + ".convolution.weight", weight);
  }
  Node& hub = builder.userInput("shared_position_table", values[0]);

  std::vector<Node*> made{&hub};
  const size_t calls = nodes - weights - 2;
  made.reserve(calls + 1);
  for (size_t i = 0; i < calls; ++i) {
    Node& before = *made.back();
    Node& other = i % 8 == 0 ? hub : *made[made.size() - 1 - draw.below(std::min(made.size(), reach))];
    Call call = callAt(i, before, other);
    const std::string name = call.nameStem + ("_" + std::to_string(i));
    Node& node = builder.graph().call(call.target, call.args, call.kwargs, name);
    node.setValue(values[draw.below(values.size())]);
    node.setMeta(metas.next(draw));
    made.push_back(&node);
  }
  builder.userOutput(*made.back());
  return builder.finish();
}

ExportedProgram makeHeavyProgram(size_t mib) {
  constexpr size_t kTensors = 16;
  const size_t bytes = (mib << 20) / kTensors;
  test::ProgramBuilder builder;
  std::vector<Node*> weights;
  for (size_t i = 0; i < kTensors; ++i) {
    void* zeros =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) throw std::bad_alloc();
    auto unmap = [bytes](void* memory) { munmap(memory, bytes); };
    at::Tensor tensor =
        at::from_blob(zeros, {static_cast<int64_t>(bytes / sizeof(float))}, unmap, at::kFloat);
    weights.push_back(&builder.parameter("block." + std::to_string(i) + ".weight", tensor));
  }
  const ValueRef value = weights.front()->valueRef();
  Node* sum = &builder.userInput("x", value);
  for (Node* weight : weights) sum = &builder.call("aten.add.Tensor", {*sum, *weight}, value);
  builder.userOutput(*sum);
  return builder.finish();
}

std::unique_ptr<Graph> makeRegions(size_t nodes, size_t partitions) {
  if (partitions == 0 || nodes % partitions != 0 || nodes / partitions < 2)
    throw std::invalid_argument("the regions must be of equal length, and longer than one call");
  auto graph = std::make_unique<Graph>();
  Draw draw;
  std::vector<Node*> made{&graph->placeholder("x")};
  made.reserve(nodes + 1);
  for (size_t i = 0; i < nodes; ++i) {
    Node& last = *made.back();
    Node& other = *made[made.size() - 1 - draw.below(std::min<size_t>(made.size(), 8))];
    if (i % (nodes / partitions) == 0) {
      made.push_back(&graph->call("aten.sin.default", {last}));
    } else {
      made.push_back(&graph->call(i % 2 == 0 ? "aten.add.Tensor" : "aten.mul.Tensor", {last, other}));
    }
  }
  graph->output(Arg::tuple({*made.back()}));
  return graph;
}

std::unique_ptr<Graph> makeChain(size_t nodes) {
  auto graph = std::make_unique<Graph>();
  Node* last = &graph->placeholder("x");
  for (size_t i = 0; i < nodes; ++i) last = &graph->call("aten.relu.default", {*last});
  graph->output(Arg::tuple({*last}));
  return graph;
}

OperatorSupport regionSupport() {
  return support::operators({"aten.add.Tensor", "aten.mul.Tensor", "aten.sub.Tensor", "aten.mm.default",
                             "aten.addmm.default", "aten.relu.default"}) &&
         support::notDelegated();
}

std::shared_ptr<torch::jit::Graph> makePeer(size_t nodes) {
  auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::Value* before = graph->addInput("x");
  torch::jit::Value* last = graph->addInput("y");
  for (size_t i = 0; i < nodes; ++i) {
    torch::jit::Node* add = graph->insertNode(graph->create(torch::jit::aten::add, {last, before}));
    before = std::exchange(last, add->output());
  }
  graph->registerOutput(last);
  return graph;
}

namespace {

// Empty if the file is in the flat layout, or has several models.
std::string_view modelRecord(const detail::ZipReader& zip) {
  std::string_view found;
  for (const detail::ZipRecord& record : zip.records()) {
    const std::string_view name = record.name;
    if (name.find("/models/") == std::string_view::npos || !name.ends_with(".json")) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

}  // namespace

std::string modelJson(const fs::path& file) {
  const auto mapped = detail::MappedFile::open(file);
  const detail::ZipReader zip(mapped->bytes(), file.string());
  return std::string(zip.read(zip.record(modelRecord(zip), "the benchmark")).text());
}

std::vector<fs::path> largestFixtures(size_t count) {
  std::vector<std::pair<uint64_t, fs::path>> found;
  for (const fs::directory_entry& folder : fs::directory_iterator(test::corpusRoots()[0])) {
    const fs::path file = folder.path() / "program.pt2";
    if (!fs::is_regular_file(file)) continue;
    const auto mapped = detail::MappedFile::open(file);
    const detail::ZipReader zip(mapped->bytes(), file.string());
    const detail::ZipRecord* record = zip.find(modelRecord(zip));
    if (record != nullptr) found.emplace_back(record->size, file);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<fs::path> files;
  for (size_t i = 0; i < std::min(count, found.size()); ++i) files.push_back(found[i].second);
  return files;
}

ExportedProgram RetargetBackend::lower(ExportedProgram program, std::string_view) const {
  static const Target replacement("mylib.any.default");
  size_t position = 0;
  for (Node& node : program.graph().nodes()) {
    if (node.isCall() && position++ % 4 == 0) node.setTarget(replacement);
  }
  return program;
}

ExportedProgram RewriteBackend::lower(ExportedProgram program, std::string_view) const {
  static const Target replacement("aten.add.Tensor");
  Graph& graph = program.graph();
  size_t position = 0;
  for (Node& node : graph.nodes()) {
    if (!node.isCall() || position++ % 4 != 0) continue;
    InsertionGuard guard(graph, before(node));
    Args inputs;
    for (Node& input : node.inputs()) inputs.emplace_back(input);
    if (inputs.size() == 1) inputs.push_back(inputs.front());
    Node& made = graph.call(replacement, inputs);
    made.setValue(node.valueRef());
    made.setMeta(node.metaRef());
    node.replaceAllUsesWith(made);
    const std::string name(node.name());
    program.signature.renameOutput(name, made.name());
    graph.erase(node);
  }
  return program;
}

PartitionResult RunPartitioner::partition(const ExportedProgram& program) const {
  PartitionResult result;
  size_t count = 0;
  std::string tag;
  for (const Node& node : program.graph().nodes()) {
    if (!node.isCall()) continue;
    if (count++ % calls_ == 0) {
      tag = "t" + std::to_string(count / calls_);
      result.addSpec(tag, {"trivial"});
    }
    result.tags.tag(node, tag);
  }
  return result;
}

}  // namespace edgefx::bench
