package main

import (
	v1 "k8s.io/api/core/v1"

	"berth.dev/controlplane/harness"
)

// Case is a cluster, a pod to place on one of some nodes, and quantities to be read.
type Case struct {
	ID    int64      `json:"id"`
	Nodes []*v1.Node `json:"nodes"`
	Pods  []*v1.Pod  `json:"pods"`
	Pod   *v1.Pod    `json:"pod"`
	// Candidates are the nodes to ask about, in this order.
	Candidates []string `json:"candidates"`
	Quantities []string `json:"quantities"`
}

// Answer is what the plugins said about a case.
type Answer struct {
	ID int64 `json:"id"`
	// Plugins holds one status per candidate, by the name of the plugin.
	Plugins map[string][]harness.Status `json:"plugins"`
	// Requests is what the pod requests while it is to be placed.
	Requests Amounts `json:"requests"`
	// Allocated is what every pod has on a node, by UID.
	Allocated map[string]Amounts `json:"allocated"`
	// Nodes are all nodes, by name.
	Nodes map[string]Node `json:"nodes"`
	// Quantities are in the order of the case; what cannot be read is null.
	Quantities []*Numbers `json:"quantities"`
}

// Amounts are by name, without zeros.
type Amounts map[string]int64

// Node is what a node has and what is taken of it.
type Node struct {
	Allocatable Amounts `json:"allocatable"`
	AllowedPods int     `json:"allowedPods"`
	Requested   Amounts `json:"requested"`
	Pods        int     `json:"pods"`
}

// Numbers are a quantity in units and in thousandths.
type Numbers struct {
	Value int64 `json:"value"`
	Milli int64 `json:"milli"`
}
