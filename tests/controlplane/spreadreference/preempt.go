package main

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// preempt asks about every candidate that has victims, in both ways.
func (c *cycle) preempt(ctx context.Context, asked *Case) (dryRun, afterwards map[string]Status, err error) {
	if len(asked.Victims) == 0 {
		return nil, nil, nil
	}
	state, err := c.prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	dryRun, afterwards = make(map[string]Status), make(map[string]Status)
	for _, node := range c.candidates {
		name := node.Node().Name
		victims, some := asked.Victims[name]
		if !some {
			continue
		}
		dryRun[name], err = c.dryRun(ctx, state.Clone(), node.Snapshot(), victims)
		if err == nil {
			afterwards[name], err = asked.afterwards(ctx, name, victims)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("victims on %q: %w", name, err)
		}
	}
	if len(dryRun) != len(asked.Victims) {
		return nil, nil, fmt.Errorf("victims on a node that is no candidate")
	}
	return dryRun, afterwards, nil
}

// dryRun does what a preemption does to find out whether a node fits: it takes the victims away
// one by one, tells the plugin of each, and filters anew. State and node are its own to change.
// Which pods go is the case's choice; kube-scheduler's would leave no node that does not fit.
func (c *cycle) dryRun(ctx context.Context, state fwk.CycleState, node fwk.NodeInfo, victims []string) (Status, error) {
	for _, uid := range victims {
		victim, err := c.victim(node, uid)
		if err == nil {
			err = node.RemovePod(klog.FromContext(ctx), victim.GetPod())
		}
		if err != nil {
			return Status{}, err
		}
		status := c.scheduler.RunPreFilterExtensionRemovePod(ctx, state, c.pod, victim, node)
		if !status.IsSuccess() {
			return Status{}, status.AsError()
		}
	}
	return c.verdict(ctx, state, node)
}

// victim looks for a pod that may be evicted for the incoming one.
func (c *cycle) victim(node fwk.NodeInfo, uid string) (fwk.PodInfo, error) {
	for _, info := range node.GetPods() {
		pod := info.GetPod()
		if string(pod.UID) != uid {
			continue
		}
		if corev1.PodPriority(pod) >= corev1.PodPriority(c.pod) {
			return nil, fmt.Errorf("%q is as important as the pod", uid)
		}
		return info, nil
	}
	return nil, fmt.Errorf("%q does not run there", uid)
}

// afterwards starts from a cluster in which the victims never were.
func (asked *Case) afterwards(ctx context.Context, node string, victims []string) (Status, error) {
	left := *asked
	left.Candidates, left.Victims = []string{node}, nil
	left.Pods = slices.DeleteFunc(slices.Clone(asked.Pods), func(pod *v1.Pod) bool {
		return slices.Contains(victims, string(pod.UID))
	})
	cycle, err := newCycle(ctx, &left)
	if err != nil {
		return Status{}, err
	}
	state, err := cycle.prepare(ctx)
	if err != nil {
		return Status{}, err
	}
	return cycle.verdict(ctx, state, cycle.candidates[0])
}
