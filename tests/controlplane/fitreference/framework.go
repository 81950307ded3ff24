package main

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// plugin is one that has a say in whether a pod fits.
type plugin struct {
	name string
	make frameworkruntime.PluginFactory
	// looksFirst is true of those that look at the pod before they look at nodes.
	looksFirst bool
	// args are the defaults of those that have any.
	args runtime.Object
}

// plugins have the default feature gates.
func plugins() ([]plugin, error) {
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	affinity, resources := &config.NodeAffinityArgs{}, &config.NodeResourcesFitArgs{}
	err := errors.Join(
		byDefault(&configv1.NodeAffinityArgs{}, affinity),
		byDefault(&configv1.NodeResourcesFitArgs{}, resources))
	return []plugin{
		{nodeunschedulable.Name, frameworkruntime.FactoryAdapter(gates, nodeunschedulable.New), false, nil},
		{tainttoleration.Name, frameworkruntime.FactoryAdapter(gates, tainttoleration.New), false, nil},
		{nodeaffinity.Name, frameworkruntime.FactoryAdapter(gates, nodeaffinity.New), true, affinity},
		{nodeports.Name, frameworkruntime.FactoryAdapter(gates, nodeports.New), true, nil},
		{noderesources.Name, frameworkruntime.FactoryAdapter(gates, noderesources.NewFit), true, resources},
	}, err
}

func byDefault(external, internal runtime.Object) error {
	scheme.Scheme.Default(external)
	return scheme.Scheme.Convert(external, internal, nil)
}

// newFramework is kube-scheduler's framework with nothing but this plugin in it: with several, the
// first that refuses a node would keep the others from being asked. Its goroutines end with the
// context.
func newFramework(ctx context.Context, of plugin, snapshot fwk.SharedLister) (framework.Framework, error) {
	only := func(name string) config.PluginSet {
		return config.PluginSet{Enabled: []config.Plugin{{Name: name}}}
	}
	profile := &config.KubeSchedulerProfile{
		SchedulerName: "reference",
		Plugins: &config.Plugins{
			QueueSort: only(queuesort.Name),
			Filter:    only(of.name),
			Bind:      only(defaultbinder.Name),
		},
	}
	if of.looksFirst {
		profile.Plugins.PreFilter = only(of.name)
	}
	if of.args != nil {
		profile.PluginConfig = []config.PluginConfig{{Name: of.name, Args: of.args}}
	}
	registry := frameworkruntime.Registry{
		of.name: of.make,
		// A framework without these two is refused. Neither is asked anything.
		queuesort.Name:     queuesort.New,
		defaultbinder.Name: defaultbinder.New,
	}
	return frameworkruntime.NewFramework(ctx, registry, profile,
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		// Each case is small, the parallelism is in the cases.
		frameworkruntime.WithParallelism(1))
}
