#include <edgefx/ir/graph.h>

#include "ir/graph_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>

namespace edgefx {
namespace {

// The same graph, kept in the plainest way: what a node uses and by whom it is used, by name.
struct Model {
  struct Entry {
    std::string name;
    std::vector<std::string> args;  // in order, with repetitions
    std::vector<std::string> users;
  };
  std::list<Entry> nodes;

  Entry& at(std::string_view name) {
    return *std::find_if(nodes.begin(), nodes.end(), [&](const Entry& entry) { return entry.name == name; });
  }
  auto place(std::string_view name) {
    return std::find_if(nodes.begin(), nodes.end(), [&](const Entry& entry) { return entry.name == name; });
  }
  void setArgs(const std::string& name, const std::vector<std::string>& args) {
    Entry& entry = at(name);
    for (const std::string& arg : entry.args) std::erase(at(arg).users, name);
    entry.args = args;
    for (const std::string& arg : args) {
      std::vector<std::string>& users = at(arg).users;
      if (std::find(users.begin(), users.end(), name) == users.end()) users.push_back(name);
    }
  }
  std::string text() const {
    std::string out;
    for (const Entry& entry : nodes) {
      out += entry.name + " <";
      for (const std::string& arg : entry.args) out += " " + arg;
      out += " > ";
      for (const std::string& user : entry.users) out += " " + user;
      out += '\n';
    }
    return out;
  }
};

void appendNodes(std::string& out, std::span<const Argument> arguments) {
  for (const Argument& argument : arguments) {
    if (const Node* node = argument.findNode()) {
      out += ' ';
      out += node->name();
    } else {
      appendNodes(out, argument.items());
    }
  }
}

std::string textOf(const Graph& graph) {
  std::string out;
  for (const Node& node : graph.nodes()) {
    out += std::string(node.name()) + " <";
    appendNodes(out, node.args());
    out += " > ";
    for (const Node& user : node.users()) out += " " + std::string(user.name());
    out += '\n';
  }
  return out;
}

class EditFuzz : public testing::TestWithParam<unsigned> {};

TEST_P(EditFuzz, AgreesWithAModel) {
  std::mt19937 random(GetParam());
  auto below = [&random](size_t bound) { return static_cast<size_t>(random() % bound); };
  auto graph = std::make_unique<Graph>();
  Model model;
  graph->placeholder("x");
  model.nodes.push_back({"x", {}, {}});

  auto any = [&]() -> Node& {
    return *graph->find(std::next(model.nodes.begin(), below(model.nodes.size()))->name);
  };
  // Some arguments, partly in a list, and their names.
  auto someArgs = [&](std::vector<std::string>& names) {
    Args args;
    for (size_t count = below(5); count-- > 0;) {
      Node& first = any();
      names.emplace_back(first.name());
      if (below(3) != 0) {
        args.emplace_back(first);
        continue;
      }
      Arg::List items{Arg(first)};
      for (size_t more = below(12); more-- > 0;) {
        Node& next = any();
        names.emplace_back(next.name());
        items.emplace_back(next);
      }
      args.push_back(Arg::list(std::move(items)));
    }
    return args;
  };

  for (int step = 0; step < 3000; ++step) {
    const size_t kind = below(model.nodes.size() > 60 ? 12 : 9);
    if (kind < 4) {  // a new node somewhere
      std::vector<std::string> names;
      const Args args = someArgs(names);
      Node& anchor = any();
      const bool isAfter = below(2) == 0;
      InsertionGuard guard(*graph, isAfter ? after(anchor) : before(anchor));
      Node& node = graph->call("my.op.default", args);
      auto place = model.place(anchor.name());
      if (isAfter) ++place;
      model.nodes.insert(place, {std::string(node.name()), {}, {}});
      model.setArgs(std::string(node.name()), names);
    } else if (kind == 4) {
      std::vector<std::string> names;
      const Args args = someArgs(names);
      Node& node = any();
      if (node.isPlaceholder()) continue;
      node.setArgs(args);
      model.setArgs(std::string(node.name()), names);
    } else if (kind == 5) {
      Node& from = any();
      Node& to = any();
      from.replaceAllUsesWith(to);
      for (const std::string& user : std::vector<std::string>(model.at(from.name()).users)) {
        std::vector<std::string> args = model.at(user).args;
        std::replace(args.begin(), args.end(), std::string(from.name()), std::string(to.name()));
        model.setArgs(user, args);
      }
    } else if (kind == 6) {
      Node& node = any();
      Node& other = any();
      if (&node == &other) continue;
      const bool isAfter = below(2) == 0;
      isAfter ? node.moveAfter(other) : node.moveBefore(other);
      auto from = model.place(node.name()), to = model.place(other.name());
      model.nodes.splice(isAfter ? std::next(to) : to, model.nodes, from);
    } else if (kind == 7) {
      Node& node = any();
      const std::string old(node.name());
      const std::string name(node.rename("n_" + std::to_string(below(50))));
      model.at(old).name = name;
      for (Model::Entry& entry : model.nodes) {
        std::replace(entry.args.begin(), entry.args.end(), old, name);
        std::replace(entry.users.begin(), entry.users.end(), old, name);
      }
    } else if (kind == 8) {
      if (below(4) == 0) graph = graph->clone();
    } else {
      Node& node = any();
      if (node.isPlaceholder() || node.numUsers() != 0) continue;
      model.setArgs(std::string(node.name()), {});
      model.nodes.erase(model.place(node.name()));
      graph->erase(node);
    }
    if (step % 20 != 0) continue;
    ASSERT_EQ(textOf(*graph), model.text()) << "step " << step;
    for (const Diagnostic& finding : lint(*graph)) {
      const bool expected = finding.message == "the graph has no output node" ||
                            finding.message.ends_with("is used before it is defined") ||
                            finding.message.starts_with("placeholders must come first");
      ASSERT_TRUE(expected) << finding.render() << " at step " << step;
    }
  }
  EXPECT_EQ(textOf(*graph->clone()), model.text());
}

INSTANTIATE_TEST_SUITE_P(Seeds, EditFuzz, testing::Range(1u, 9u));

}  // namespace
}  // namespace edgefx
