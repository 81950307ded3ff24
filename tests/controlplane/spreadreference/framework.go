package main

import (
	"context"
	"fmt"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

const spreadName = podtopologyspread.Name

// scheduler is kube-scheduler's framework with nothing but spreading in it, and the plugin once
// more: the framework does not show scores as they are before they are normalised.
type scheduler struct {
	framework.Framework
	spread *podtopologyspread.PodTopologySpread
}

// newScheduler builds both as kube-scheduler does: defaulted arguments, default feature gates.
// Goroutines of the framework end with the context.
func newScheduler(ctx context.Context, asked *Case, snapshot fwk.SharedLister) (*scheduler, error) {
	informers, err := filledInformers(asked)
	if err != nil {
		return nil, err
	}
	nominator, err := newNominator(asked)
	if err != nil {
		return nil, err
	}
	scheme.Scheme.Default(&asked.Args)
	args := &config.PodTopologySpreadArgs{}
	if err := scheme.Scheme.Convert(&asked.Args, args, nil); err != nil {
		return nil, fmt.Errorf("args: %w", err)
	}
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	registry := frameworkruntime.Registry{
		spreadName: frameworkruntime.FactoryAdapter(gates, podtopologyspread.New),
		// A framework without these two is refused. Neither is asked anything.
		queuesort.Name:     queuesort.New,
		defaultbinder.Name: defaultbinder.New,
	}
	made, err := frameworkruntime.NewFramework(ctx, registry, profile(args),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithInformerFactory(informers),
		frameworkruntime.WithPodNominator(nominator),
		// Each case is small, the parallelism is in the cases.
		frameworkruntime.WithParallelism(1))
	if err != nil {
		return nil, err
	}
	spread, err := podtopologyspread.New(ctx, args, made, gates)
	if err != nil {
		return nil, err
	}
	return &scheduler{Framework: made, spread: spread.(*podtopologyspread.PodTopologySpread)}, nil
}

func profile(args *config.PodTopologySpreadArgs) *config.KubeSchedulerProfile {
	only := func(name string) config.PluginSet {
		return config.PluginSet{Enabled: []config.Plugin{{Name: name}}}
	}
	return &config.KubeSchedulerProfile{
		SchedulerName: "reference",
		Plugins: &config.Plugins{
			QueueSort: only(queuesort.Name),
			PreFilter: only(spreadName),
			Filter:    only(spreadName),
			Bind:      only(defaultbinder.Name),
		},
		PluginConfig: []config.PluginConfig{{Name: spreadName, Args: args}},
	}
}
