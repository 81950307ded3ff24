package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// withVictimsGone does what a preemption does to find out whether a node fits: on copies of node
// and state it takes the victims away one by one, tells the plugin of each, and filters anew.
// Which pods go is the case's choice; kube-scheduler's would leave no node that does not fit.
func (c *cycle) withVictimsGone(ctx context.Context, state fwk.CycleState, node fwk.NodeInfo, victims []string) *fwk.Status {
	node, state = node.Snapshot(), state.Clone()
	for _, uid := range victims {
		victim, err := c.victim(node, uid)
		if err == nil {
			err = node.RemovePod(klog.FromContext(ctx), victim.GetPod())
		}
		if err != nil {
			return fwk.AsStatus(err)
		}
		status := c.scheduler.RunPreFilterExtensionRemovePod(ctx, state, c.pod, victim, node)
		if !status.IsSuccess() {
			return fwk.AsStatus(status.AsError())
		}
	}
	return c.scheduler.RunFilterPluginsWithNominatedPods(ctx, state, c.pod, node)
}

// victim looks for a pod that may be evicted for the incoming one.
func (c *cycle) victim(node fwk.NodeInfo, uid string) (fwk.PodInfo, error) {
	for _, info := range node.GetPods() {
		if pod := info.GetPod(); string(pod.UID) == uid {
			return info, c.mayEvict(pod)
		}
	}
	return nil, fmt.Errorf("victim %q does not run on %q", uid, node.Node().Name)
}

func (c *cycle) mayEvict(pod *v1.Pod) error {
	if corev1.PodPriority(pod) >= corev1.PodPriority(c.pod) {
		return fmt.Errorf("victim %q is as important as the pod", pod.UID)
	}
	return nil
}
