package main

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"berth.dev/controlplane/harness"
)

// Case is a cluster, the plugin's settings, and a pod to place on one of some nodes.
type Case struct {
	ID                     int64                          `json:"id"`
	Args                   configv1.PodTopologySpreadArgs `json:"args"`
	Nodes                  []*v1.Node                     `json:"nodes"`
	Pods                   []*v1.Pod                      `json:"pods"`
	Services               []*v1.Service                  `json:"services"`
	ReplicationControllers []*v1.ReplicationController    `json:"replicationControllers"`
	ReplicaSets            []*appsv1.ReplicaSet           `json:"replicaSets"`
	StatefulSets           []*appsv1.StatefulSet          `json:"statefulSets"`
	Pod                    *v1.Pod                        `json:"pod"`
	// Candidates are the nodes to filter and to score, in this order.
	Candidates []string `json:"candidates"`
	// Victims are the UIDs of pods on some of the candidates that a preemption would evict there.
	Victims map[string][]string `json:"victims"`
}

// Answer is what the plugin said about a case.
type Answer struct {
	ID     int64   `json:"id"`
	Filter *Filter `json:"filter,omitempty"`
	Score  *Score  `json:"score,omitempty"`
	// DryRun holds what a preemption finds out about a candidate that has victims, and Afterwards
	// what filter will say about it once they are gone.
	DryRun     map[string]Status `json:"dryRun,omitempty"`
	Afterwards map[string]Status `json:"afterwards,omitempty"`
}

// Filter holds one status per candidate, or none if the plugin skips the pod.
type Filter struct {
	PreFilter Status   `json:"preFilter"`
	Nodes     []Status `json:"nodes,omitempty"`
}

// Score holds one number per candidate, or none if the plugin skips the pod.
type Score struct {
	PreScore   Status  `json:"preScore"`
	Raw        []int64 `json:"raw,omitempty"`
	Normalized []int64 `json:"normalized,omitempty"`
}

type Status = harness.Status
