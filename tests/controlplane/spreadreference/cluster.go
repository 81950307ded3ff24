package main

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"berth.dev/controlplane/harness"
)

// filledInformers holds the case's objects in informers that never run, so no client is needed.
func filledInformers(asked *Case) (informers.SharedInformerFactory, error) {
	factory := informers.NewSharedInformerFactory(nil, 0)
	core, apps := factory.Core().V1(), factory.Apps().V1()
	err := fill(core.Services().Informer().GetIndexer(), asked.Services)
	if err == nil {
		err = fill(core.ReplicationControllers().Informer().GetIndexer(), asked.ReplicationControllers)
	}
	if err == nil {
		err = fill(apps.ReplicaSets().Informer().GetIndexer(), asked.ReplicaSets)
	}
	if err == nil {
		err = fill(apps.StatefulSets().Informer().GetIndexer(), asked.StatefulSets)
	}
	return factory, err
}

func fill[T any](indexer cache.Indexer, objects []T) error {
	for _, object := range objects {
		if err := indexer.Add(object); err != nil {
			return err
		}
	}
	return nil
}

// nominator knows the pods that wait for room on a node, by the name of the node. The framework
// only reads it; anything else is a nil dereference.
type nominator struct {
	fwk.PodNominator
	waiting map[string][]fwk.PodInfo
}

func (n *nominator) NominatedPodsForNode(node string) []fwk.PodInfo { return n.waiting[node] }

// newNominator follows kube-scheduler's queue, which holds the pods that are not placed: one that
// is has got its room.
func newNominator(asked *Case) (*nominator, error) {
	waiting := make(map[string][]fwk.PodInfo)
	for _, pod := range asked.Pods {
		node := pod.Status.NominatedNodeName
		if node == "" || pod.Spec.NodeName != "" || !harness.Known(pod) {
			continue
		}
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return nil, err
		}
		waiting[node] = append(waiting[node], info)
	}
	return &nominator{waiting: waiting}, nil
}
