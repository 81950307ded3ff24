package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	fwk "k8s.io/kube-scheduler/framework"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"

	"berth.dev/controlplane/harness"
)

func (asked *Case) answer() (any, error) {
	if asked.Pod == nil {
		return nil, fmt.Errorf("no pod to place")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	snapshot := harness.NewSnapshot(asked.Pods, asked.Nodes)
	answer := &Answer{ID: asked.ID, Plugins: make(map[string][]harness.Status)}
	plugins, err := plugins()
	if err != nil {
		return nil, err
	}
	for _, plugin := range plugins {
		state, statuses, err := asked.ask(ctx, plugin, snapshot)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", plugin.name, err)
		}
		answer.Plugins[plugin.name] = statuses
		if plugin.name == noderesources.Name {
			if answer.Requests, err = requestsOf(state); err != nil {
				return nil, err
			}
		}
	}
	if answer.Allocated, err = asked.allocated(); err != nil {
		return nil, err
	}
	if answer.Nodes, err = asked.nodes(snapshot); err != nil {
		return nil, err
	}
	answer.Quantities = numbersOf(asked.Quantities)
	return answer, nil
}

// ask goes one plugin's part of the way of a pod through the scheduler.
func (asked *Case) ask(
	ctx context.Context, of plugin, snapshot *schedulercache.Snapshot,
) (fwk.CycleState, []harness.Status, error) {
	made, err := newFramework(ctx, of, snapshot)
	if err != nil {
		return nil, nil, err
	}
	state := framework.NewCycleState()
	allowed, prepared, _ := made.RunPreFilterPlugins(ctx, state, asked.Pod)
	if prepared.Code() == fwk.Error {
		return nil, nil, prepared.AsError()
	}
	var statuses []harness.Status
	for _, name := range asked.Candidates {
		node, err := snapshot.NodeInfos().Get(name)
		if err != nil {
			return nil, nil, fmt.Errorf("candidate %q: %w", name, err)
		}
		status := prepared
		switch {
		case !prepared.IsSuccess():
		case !allowed.AllNodes() && !allowed.NodeNames.Has(name):
			// What kube-scheduler says of a node that such a plugin leaves out.
			status = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "left out beforehand")
		default:
			status = made.RunFilterPlugins(ctx, state, asked.Pod, node)
		}
		if status.Code() == fwk.Error {
			return nil, nil, status.AsError()
		}
		statuses = append(statuses, harness.StatusOf(status))
	}
	return state, statuses, nil
}

// allocated leaves out pods that kube-scheduler has not heard of.
func (asked *Case) allocated() (map[string]Amounts, error) {
	allocated := make(map[string]Amounts)
	for _, pod := range append([]*v1.Pod{asked.Pod}, asked.Pods...) {
		if !harness.Known(pod) {
			continue
		}
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return nil, err
		}
		allocated[string(pod.UID)] = amountsOf(info.CalculateResource().Resource)
	}
	return allocated, nil
}

func (asked *Case) nodes(snapshot *schedulercache.Snapshot) (map[string]Node, error) {
	nodes := make(map[string]Node)
	for _, node := range asked.Nodes {
		info, err := snapshot.NodeInfos().Get(node.Name)
		if err != nil {
			return nil, err
		}
		nodes[node.Name] = Node{
			Allocatable: amountsOf(info.GetAllocatable()),
			AllowedPods: info.GetAllocatable().GetAllowedPodNumber(),
			Requested:   amountsOf(info.GetRequested()),
			Pods:        len(info.GetPods()),
		}
	}
	return nodes, nil
}

func numbersOf(quantities []string) []*Numbers {
	numbers := make([]*Numbers, len(quantities))
	for i, text := range quantities {
		if quantity, err := resource.ParseQuantity(text); err == nil {
			numbers[i] = &Numbers{Value: quantity.Value(), Milli: quantity.MilliValue()}
		}
	}
	return numbers
}
