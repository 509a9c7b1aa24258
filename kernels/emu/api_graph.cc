// api_graph.cc: the driver's calls for graphs, of which there are chains of kernels only: each node names the one before
// as its only dependency.
#include <cstring>

#include "driver.h"

using namespace emu;

namespace {

// CUDA_KERNEL_NODE_PARAMS.
struct KernelNode {
  Function* function;
  unsigned grid[3], block[3], dynamic;
  void **params, **extra;
  void *kernel, *context;
};

template <class F>
Result with_graph(const char* name, void* handle, bool executable, F body) {
  return in_context(name, [&](Context& c) -> Result {
    auto it = c.graphs.find(handle);
    if (it == c.graphs.end() || it->second->executable != executable)
      return refuse(kInvalidHandle, "%p is no %sgraph of this context", handle, executable ? "executable " : "");
    return body(c, *it->second);
  });
}

Result make_graph(Context& c, void** out, Graph from) {
  std::unique_ptr<Graph> g(new Graph(std::move(from)));
  *out = g.get();
  c.graphs[*out] = std::move(g);
  return kSuccess;
}

// A node's handle is its graph's address and its position there, from 1.
void* node_handle(Graph& g, size_t position) { return (char*)&g + position; }

}  // namespace

EMU_API Result cuGraphCreate(void** out, unsigned flags) {
  return in_context("cuGraphCreate", [&](Context& c) -> Result {
    return flags ? refuse(kInvalidValue, "flags %u", flags) : make_graph(c, out, Graph{false, {}, {}});
  });
}
EMU_API Result cuGraphAddKernelNode_v2(void** out, void* graph, void* const* after, size_t count, const KernelNode* node) {
  return with_graph("cuGraphAddKernelNode", graph, false, [&](Context& c, Graph& g) -> Result {
    bool last = g.launches.empty() ? count == 0 : count == 1 && after[0] == node_handle(g, g.launches.size());
    if (!last) return refuse(kNotSupported, "%zu dependencies of node %zu: only chains are emulated", count, g.launches.size() + 1);
    if (node->kernel || (node->context && node->context != &c)) return refuse(kNotSupported, "a node with a CUkernel, or of another context");
    Launch launch;
    dim3 grid(node->grid[0], node->grid[1], node->grid[2]), block(node->block[0], node->block[1], node->block[2]);
    if (Result r = prepare_launch(c, node->function, grid, block, node->dynamic, node->params, node->extra, &launch)) return r;
    g.functions.push_back(node->function);
    g.launches.push_back(launch);
    return *out = node_handle(g, g.launches.size()), kSuccess;
  });
}
EMU_API Result cuGraphInstantiateWithFlags(void** out, void* graph, unsigned long long flags) {
  return with_graph("cuGraphInstantiate", graph, false, [&](Context& c, Graph& g) -> Result {
    return flags ? refuse(kNotSupported, "flags %llu", flags) : make_graph(c, out, Graph{true, g.functions, g.launches});
  });
}
EMU_API Result cuGraphLaunch(void* graph, void* stream) {
  return with_graph("cuGraphLaunch", graph, true, [&](Context& c, Graph& g) -> Result {
    std::shared_ptr<Stream> s = find_stream(c, stream);
    if (!s) return refuse(kInvalidHandle, "%p is no stream of this context", stream);
    for (const Function* f : g.functions)
      if (!driver().functions.count(f)) return refuse(kInvalidHandle, "a kernel of the graph has been unloaded");
    driver().counters.graphs++;
    for (const Launch& launch : g.launches) enqueue(s, [context = &c, launch] { run_kernel(*context, launch); });
    return kSuccess;
  });
}
EMU_API Result cuGraphDestroy(void* graph) {
  return with_graph("cuGraphDestroy", graph, false, [&](Context& c, Graph&) { return c.graphs.erase(graph), kSuccess; });
}
EMU_API Result cuGraphExecDestroy(void* graph) {
  return with_graph("cuGraphExecDestroy", graph, true, [&](Context& c, Graph&) { return c.graphs.erase(graph), kSuccess; });
}
