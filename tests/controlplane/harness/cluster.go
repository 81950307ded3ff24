package harness

import (
	v1 "k8s.io/api/core/v1"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
)

// Known says whether a running kube-scheduler would have heard of the pod: its informer does not
// ask for finished ones.
func Known(pod *v1.Pod) bool {
	return pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed
}

// NewSnapshot leaves out what never reaches the snapshot of a running kube-scheduler: pods on no
// node or on one that is not there, and those it has not heard of.
func NewSnapshot(pods []*v1.Pod, nodes []*v1.Node) *schedulercache.Snapshot {
	exists := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		exists[node.Name] = true
	}
	var placed []*v1.Pod
	for _, pod := range pods {
		if exists[pod.Spec.NodeName] && Known(pod) {
			placed = append(placed, pod)
		}
	}
	return schedulercache.NewSnapshot(placed, nodes)
}
