package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
)

// inline works in the caller's goroutine: each case is small, the parallelism is in the cases.
type inline struct{}

func (inline) Until(_ context.Context, pieces int, work workqueue.DoWorkPieceFunc, _ string) {
	for piece := range pieces {
		work(piece)
	}
}

// handle is as much of the framework as the plugin asks for; anything else is a nil dereference.
type handle struct {
	fwk.Handle
	snapshot  fwk.SharedLister
	informers informers.SharedInformerFactory
}

func (h *handle) SnapshotSharedLister() fwk.SharedLister                 { return h.snapshot }
func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }
func (h *handle) Parallelizer() fwk.Parallelizer                         { return inline{} }

// newPlugin builds the plugin as kube-scheduler does: defaulted arguments, default feature gates.
func newPlugin(ctx context.Context, asked *Case, snapshot fwk.SharedLister) (*podtopologyspread.PodTopologySpread, error) {
	factory, err := filledInformers(asked)
	if err != nil {
		return nil, err
	}
	scheme.Scheme.Default(&asked.Args)
	var args config.PodTopologySpreadArgs
	if err := scheme.Scheme.Convert(&asked.Args, &args, nil); err != nil {
		return nil, fmt.Errorf("args: %w", err)
	}
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	plugin, err := podtopologyspread.New(ctx, &args, &handle{snapshot: snapshot, informers: factory}, gates)
	if err != nil {
		return nil, fmt.Errorf("args: %w", err)
	}
	return plugin.(*podtopologyspread.PodTopologySpread), nil
}

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

// newSnapshot leaves out what never reaches the snapshot of a running kube-scheduler: pods on no
// node or on one that is unknown, and finished pods, which its informer does not ask for.
func newSnapshot(asked *Case) *schedulercache.Snapshot {
	known := make(map[string]bool, len(asked.Nodes))
	for _, node := range asked.Nodes {
		known[node.Name] = true
	}
	var placed []*v1.Pod
	for _, pod := range asked.Pods {
		finished := pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
		if known[pod.Spec.NodeName] && !finished {
			placed = append(placed, pod)
		}
	}
	return schedulercache.NewSnapshot(placed, asked.Nodes)
}
