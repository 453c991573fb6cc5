#include "tools/report/inspect/layout.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace onnxkit::tools {
namespace {

constexpr double layer_height = 74;
constexpr double gap = 22;
constexpr double bend_width = 6;
constexpr std::size_t most_bends = 50'000;
constexpr int order_sweeps = 6;
constexpr int position_sweeps = 12;

/// A box, or a location where an edge passes through a layer.
struct Vertex {
  std::size_t box;  ///< or none
  std::size_t layer = 0;
  double width = bend_width;
  double x = 0;
  std::vector<std::size_t> above, below;
};
constexpr std::size_t none = static_cast<std::size_t>(-1);

double text_width(const std::string& text) {
  return 26 + 7.2 * static_cast<double>(std::min<std::size_t>(text.size(), 40));
}

std::string first_type(const NodeSummary& node) {
  return node.output_types.empty() ? std::string() : node.output_types.front();
}

/// A box is as wide as its name, or as the type that is written below it.
double box_width(const std::string& name, const std::string& type) {
  return std::max(text_width(name), 6.5 * static_cast<double>(std::min<std::size_t>(type.size(), 34)));
}

class Layout {
 public:
  explicit Layout(const GraphSummary& graph) : graph_(graph) {}

  LaidOutGraph run() {
    add_boxes();
    add_edges();
    assign_layers();
    split_long_edges();
    order_layers();
    location();
    return std::move(result_);
  }

 private:
  void add_box(LaidOutGraph::Kind kind, std::size_t index, double width) {
    result_.boxes.push_back({kind, index, 0, 0, width});
  }

  void add_boxes() {
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      source_.emplace(graph_.inputs[i].name, result_.boxes.size());
      add_box(LaidOutGraph::Kind::input, i, box_width(graph_.inputs[i].name, graph_.inputs[i].type));
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const std::string& output : graph_.nodes[i].outputs) {
        if (!output.empty()) source_.emplace(output, result_.boxes.size());
      }
      add_box(LaidOutGraph::Kind::node, i, box_width(graph_.nodes[i].op, first_type(graph_.nodes[i])));
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      add_box(LaidOutGraph::Kind::output, i, text_width(graph_.outputs[i].name));
  }

  void add_edge(const std::string& value, std::size_t to) {
    const auto from = source_.find(value);
    if (from == source_.end() || from->second == to) return;
    result_.edges.push_back({from->second, to, value, {}});
  }

  void add_edges() {
    const std::size_t first_node = graph_.inputs.size();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const std::string& input : graph_.nodes[i].inputs) add_edge(input, first_node + i);
      for (const std::string& captured : graph_.nodes[i].captures) add_edge(captured, first_node + i);
    }
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      add_edge(graph_.outputs[i].name, first_node + graph_.nodes.size() + i);
  }

  /// Longest path from the top, in rounds that a cycle cannot make endless.
  void assign_layers() {
    const std::size_t count = result_.boxes.size();
    std::vector<std::vector<std::size_t>> leaving(count);
    std::vector<std::size_t> waiting(count, 0);
    for (const auto& edge : result_.edges) {
      leaving[edge.from].push_back(edge.to);
      ++waiting[edge.to];
    }
    layer_.assign(count, 0);
    std::vector<std::size_t> ready;
    for (std::size_t box = 0; box < count; ++box) {
      if (waiting[box] == 0) ready.push_back(box);
    }
    while (!ready.empty()) {
      const std::size_t box = ready.back();
      ready.pop_back();
      for (const std::size_t next : leaving[box]) {
        layer_[next] = std::max(layer_[next], layer_[box] + 1);
        if (--waiting[next] == 0) ready.push_back(next);
      }
    }
    // Constants and late inputs stand right above their first reader.
    std::vector<std::size_t> nearest(count, none);
    for (const auto& edge : result_.edges) nearest[edge.from] = std::min(nearest[edge.from], layer_[edge.to]);
    std::vector<bool> entered(count, false);
    for (const auto& edge : result_.edges) entered[edge.to] = true;
    for (std::size_t box = 0; box < count; ++box) {
      if (!entered[box] && nearest[box] != none && nearest[box] > 0) layer_[box] = nearest[box] - 1;
    }
  }

  void split_long_edges() {
    for (std::size_t box = 0; box < result_.boxes.size(); ++box) {
      vertices_.push_back({box, layer_[box], result_.boxes[box].width, 0, {}, {}});
    }
    chains_.resize(result_.edges.size());
    for (std::size_t e = 0; e < result_.edges.size(); ++e) {
      const auto& edge = result_.edges[e];
      if (layer_[edge.to] <= layer_[edge.from]) continue;
      std::size_t previous = edge.from;
      // Bends are bounded as a whole: splitting all edges of a deep graph could square the work. The rest is drawn straight.
      const std::size_t span = layer_[edge.to] - layer_[edge.from];
      const bool straight = vertices_.size() + span > result_.boxes.size() + most_bends;
      for (std::size_t layer = layer_[edge.from] + 1; !straight && layer < layer_[edge.to]; ++layer) {
        const std::size_t bend = vertices_.size();
        vertices_.push_back({none, layer, bend_width, 0, {}, {}});
        link(previous, bend);
        chains_[e].push_back(bend);
        previous = bend;
      }
      link(previous, edge.to);
    }
    std::size_t layers = 0;
    for (const Vertex& vertex : vertices_) layers = std::max(layers, vertex.layer + 1);
    layers_.resize(layers);
    for (std::size_t v = 0; v < vertices_.size(); ++v) layers_[vertices_[v].layer].push_back(v);
  }

  void link(std::size_t upper, std::size_t lower) {
    vertices_[upper].below.push_back(lower);
    vertices_[lower].above.push_back(upper);
  }

  void order_layers() {
    std::vector<double> position(vertices_.size(), 0);
    const auto number = [&](const std::vector<std::size_t>& layer) {
      for (std::size_t i = 0; i < layer.size(); ++i) position[layer[i]] = static_cast<double>(i);
    };
    for (const auto& layer : layers_) number(layer);
    const auto sort_layer = [&](std::vector<std::size_t>& layer, bool by_above) {
      std::vector<double> key(layer.size());
      for (std::size_t i = 0; i < layer.size(); ++i) {
        const auto& neighbours = by_above ? vertices_[layer[i]].above : vertices_[layer[i]].below;
        double sum = 0;
        for (const std::size_t n : neighbours) sum += position[n];
        key[i] = neighbours.empty() ? position[layer[i]] : sum / static_cast<double>(neighbours.size());
      }
      std::vector<std::size_t> order(layer.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
      std::vector<std::size_t> sorted;
      for (const std::size_t i : order) sorted.push_back(layer[i]);
      layer = std::move(sorted);
      number(layer);
    };
    for (int sweep = 0; sweep < order_sweeps; ++sweep) {
      for (std::size_t l = 1; l < layers_.size(); ++l) sort_layer(layers_[l], true);
      for (std::size_t l = layers_.size(); l-- > 1;) sort_layer(layers_[l - 1], false);
    }
  }

  /// Distance that two neighbours in a layer keep.
  double distance(std::size_t left, std::size_t right) const {
    return (vertices_[left].width + vertices_[right].width) / 2 + gap;
  }

  /// Moves the vertices of a layer apart by the least squares of their shifts, their order kept: with the distances subtracted, that is
  /// isotonic regression, by pooling neighbours that violate the order.
  void pack(const std::vector<std::size_t>& layer) {
    struct Pool {
      double sum;
      std::size_t size;
      double mean() const { return sum / static_cast<double>(size); }
    };
    std::vector<Pool> pools;
    std::vector<double> offset(layer.size(), 0);
    for (std::size_t i = 0; i < layer.size(); ++i) {
      if (i > 0) offset[i] = offset[i - 1] + distance(layer[i - 1], layer[i]);
      pools.push_back({vertices_[layer[i]].x - offset[i], 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
        const Pool last = pools.back();
        pools.pop_back();
        pools.back().sum += last.sum;
        pools.back().size += last.size;
      }
    }
    std::size_t i = 0;
    for (const Pool& pool : pools) {
      for (std::size_t end = i + pool.size; i < end; ++i) vertices_[layer[i]].x = pool.mean() + offset[i];
    }
  }

  void location() {
    for (const auto& layer : layers_) {
      double x = 0;
      for (std::size_t i = 0; i < layer.size(); ++i) {
        if (i > 0) x += distance(layer[i - 1], layer[i]);
        vertices_[layer[i]].x = x;
      }
      for (const std::size_t v : layer) vertices_[v].x -= x / 2;
    }
    const auto pull = [&](std::vector<std::size_t>& layer, bool by_above) {
      for (const std::size_t v : layer) {
        const auto& neighbours = by_above ? vertices_[v].above : vertices_[v].below;
        if (neighbours.empty()) continue;
        double sum = 0;
        for (const std::size_t n : neighbours) sum += vertices_[n].x;
        vertices_[v].x = sum / static_cast<double>(neighbours.size());
      }
      pack(layer);
    };
    for (int sweep = 0; sweep < position_sweeps; ++sweep) {
      for (auto& layer : layers_) pull(layer, true);
      for (std::size_t l = layers_.size(); l-- > 0;) pull(layers_[l], false);
    }
    finish();
  }

  void finish() {
    double left = 0, right = 0;
    for (const Vertex& vertex : vertices_) {
      left = std::min(left, vertex.x - vertex.width / 2);
      right = std::max(right, vertex.x + vertex.width / 2);
    }
    const auto y_of = [](std::size_t layer) { return (static_cast<double>(layer) + 0.5) * layer_height; };
    for (std::size_t box = 0; box < result_.boxes.size(); ++box) {
      result_.boxes[box].x = vertices_[box].x - left;
      result_.boxes[box].y = y_of(vertices_[box].layer);
    }
    for (std::size_t e = 0; e < result_.edges.size(); ++e) {
      for (const std::size_t bend : chains_[e])
        result_.edges[e].bends.emplace_back(vertices_[bend].x - left, y_of(vertices_[bend].layer));
    }
    result_.width = right - left;
    result_.height = static_cast<double>(layers_.size()) * layer_height;
  }

  const GraphSummary& graph_;
  LaidOutGraph result_;
  std::unordered_map<std::string, std::size_t> source_;
  std::vector<std::size_t> layer_;
  std::vector<Vertex> vertices_;
  std::vector<std::vector<std::size_t>> chains_;  ///< bends of each edge
  std::vector<std::vector<std::size_t>> layers_;
};

}  // namespace

LaidOutGraph lay_out(const GraphSummary& graph) { return Layout(graph).run(); }

}  // namespace onnxkit::tools
