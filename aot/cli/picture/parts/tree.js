"use strict";

// A method as a tree of clusters, and the lines in each of them. A line from a node to another one that lies in other
// clusters is a link in each cluster on its way: it leaves a cluster and enters it by a port.

class Cluster {
  constructor(name, parent) {
    this.name = name;
    this.parent = parent;
    this.key = parent === null ? "" : `${parent.key}/${name}`;
    this.children = [];
    this.leaves = []; // all nodes in it
    this.ports = new Map();
    this.links = new Map();
    this.isOpen = parent === null;
    this.isStale = true;
    if (parent !== null) parent.children.push(this);
  }

  // Where the result of `net`, a node, comes in or goes out.
  port(way, net) {
    const key = `${way}:${net.key}`;
    if (!this.ports.has(key)) this.ports.set(key, { key, way, net });
    return this.ports.get(key);
  }

  link(from, to, net) {
    const key = `${from.key}|${to.key}|${net.key}`;
    if (!this.links.has(key)) this.links.set(key, { from, to, net });
    return this.links.get(key);
  }

  get depth() {
    return this.parent === null ? 0 : this.parent.depth + 1;
  }
}

const clustersAround = (item) => (item.parent === null ? [] : [item.parent, ...clustersAround(item.parent)]);

function buildTree(method) {
  const root = new Cluster("", null);
  const clusters = new Map([["", root]]);
  const nodes = new Map();
  for (const data of method.nodes) {
    let parent = root;
    for (const name of data.path) {
      const key = `${parent.key}/${name}`;
      if (!clusters.has(key)) clusters.set(key, new Cluster(name, parent));
      parent = clusters.get(key);
    }
    const node = { ...data, parent, key: `#${data.id}`, readers: [], routes: new Map() };
    parent.children.push(node);
    nodes.set(data.id, node);
    for (const cluster of clustersAround(node)) cluster.leaves.push(node);
  }
  for (const node of nodes.values()) {
    for (const id of node.inputs) {
      const source = nodes.get(id);
      if (source === undefined || source === node) continue;
      node.routes.set(id, connect(source, node));
      source.readers.push(node);
    }
  }
  return { root, nodes, clusters: [...clusters.values()] };
}

// The links from one node to another, in the clusters on the way.
function connect(from, to) {
  const route = [];
  const around = new Set(clustersAround(to));
  let source = from;
  let cluster = from.parent;
  for (; !around.has(cluster); source = cluster, cluster = cluster.parent) {
    route.push(cluster.link(source, cluster.port("out", from), from));
  }
  let target = to;
  for (let inner = to.parent; inner !== cluster; target = inner, inner = inner.parent) {
    route.push(inner.link(inner.port("in", from), target, from));
  }
  route.push(cluster.link(source, target, from));
  return route;
}

// Opens the clusters of as many levels as leave no more than `few` boxes to look at, or of one more if that is next to
// nothing.
function openLevels(tree, few) {
  const deepest = Math.max(...tree.clusters.map((cluster) => cluster.depth));
  for (let depth = 1; depth <= deepest; ++depth) {
    const before = visibleItems(tree.root).length;
    const level = tree.clusters.filter((cluster) => cluster.depth === depth);
    for (const cluster of level) setOpen(cluster, true);
    const after = visibleItems(tree.root).length;
    if (after > few && (before > few / 8 || after > few * 8)) {
      for (const cluster of level) setOpen(cluster, false);
      return;
    }
  }
}

function setOpen(cluster, isOpen) {
  if (cluster.isOpen === isOpen) return;
  cluster.isOpen = isOpen;
  for (const changed of [cluster, ...clustersAround(cluster)]) changed.isStale = true;
}

function visibleItems(cluster) {
  return cluster.children.flatMap((item) => (item.isOpen ? visibleItems(item) : [item]));
}
