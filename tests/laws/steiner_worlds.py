"""Small graphs of every shape, and what a Steiner tree in them costs at least: found by trying everything."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from semcast.trees.graph import Graph

Case = tuple[Graph, int, list[int]]


@st.composite
def cases(draw: st.DrawFn, most: int = 9) -> Case:
    """A connected graph, a root and terminals, which may repeat and may hold the root; unit, integer or real costs."""
    nodes = draw(st.integers(1, most))
    ends = {(draw(st.integers(0, node - 1)), node) for node in range(1, nodes)}
    pairs = list(combinations(range(nodes), 2))
    shape = draw(st.sampled_from(("tree", "some", "complete")))
    if shape == "some" and pairs:
        ends |= set(draw(st.lists(st.sampled_from(pairs), max_size=2 * nodes)))
    elif shape == "complete":
        ends = set(pairs)
    costs = {
        "unit": st.just(1.0),
        "integer": st.integers(1, 9).map(float),
        "real": st.floats(0.01, 100, allow_subnormal=False),
    }[draw(st.sampled_from(("unit", "integer", "real")))]
    names = draw(st.permutations(range(nodes)))
    links = [(names[a], names[b]) for a, b in sorted(ends)]
    graph = Graph.of(nodes, links, draw(st.lists(costs, min_size=len(links), max_size=len(links))))
    terminals = draw(st.lists(st.integers(0, nodes - 1), max_size=nodes + 2))
    return graph, draw(st.integers(0, nodes - 1)), terminals


def cheapest(graph: Graph, root: int, terminals: list[int]) -> float:
    """The least cost over all sets of further nodes, each spanned by Kruskal's algorithm."""
    among = {root, *terminals}
    others = [node for node in range(graph.num_nodes) if node not in among]
    return min(
        spanned(graph, among | set(more)) for size in range(len(others) + 1) for more in combinations(others, size)
    )


def spanned(graph: Graph, nodes: set[int]) -> float:
    boss = {node: node for node in nodes}

    def find(node: int) -> int:
        while boss[node] != node:
            node = boss[node]
        return node

    links = zip(link_costs(graph), graph.ends.tolist(), strict=True)
    cost, joined = 0.0, 1
    for price, (one, other) in sorted(links):
        if one in nodes and other in nodes and find(one) != find(other):
            boss[find(one)] = find(other)
            cost, joined = cost + price, joined + 1
    return cost if joined == len(nodes) else np.inf


def dreyfus_wagner(graph: Graph, root: int, terminals: list[int]) -> float:
    """The optimum by dynamic programming over sets of terminals; 3^k · n steps."""
    nodes = graph.num_nodes
    far = np.full((nodes, nodes), np.inf)
    np.fill_diagonal(far, 0.0)
    for (one, other), cost in zip(graph.ends.tolist(), link_costs(graph), strict=True):
        far[one, other] = far[other, one] = cost
    for middle in range(nodes):
        far = np.minimum(far, far[:, [middle]] + far[[middle], :])
    ends = sorted({*terminals} - {root})
    if not ends:
        return 0.0
    best = np.full((1 << len(ends), nodes), np.inf)
    for place, end in enumerate(ends):
        best[1 << place] = far[end]
    for group in range(1, 1 << len(ends)):
        if group & (group - 1) == 0:
            continue
        part = (group - 1) & group
        while part:
            best[group] = np.minimum(best[group], best[part] + best[group ^ part])
            part = (part - 1) & group
        best[group] = (best[group][:, None] + far).min(axis=0)
    return float(best[-1][root])


def link_costs(graph: Graph) -> list[float]:
    return [float(graph.costs[graph.arc(one, other)]) for one, other in graph.ends.tolist()]


def random_graph(nodes: int, links: int, seed: int, *, real: bool = False) -> Graph:
    """Connected: a random tree and more links."""
    rng = np.random.default_rng(seed)
    ends = {(int(rng.integers(node)), node) for node in range(1, nodes)}
    while len(ends) < links:
        one, other = sorted(rng.choice(nodes, 2, replace=False).tolist())
        ends.add((one, other))
    costs = rng.random(len(ends)) + 0.1 if real else np.ones(len(ends))
    return Graph.of(nodes, sorted(ends), costs)
